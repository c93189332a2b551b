"""Reading of objects: what Read asks the API server for, and what it makes inputs of."""

from __future__ import annotations

from testbed.plugins.kubernetes import normalize
from testbed.plugins.kubernetes.values import Object, clone, drop


def wanted(inputs: Object, live: Object, token: str, namespace: str, name: str) -> Object:
    """Enough of the object to ask for it."""
    requested: Object = clone(inputs)
    if not requested.get("kind"):
        api_version, kind = live.get("apiVersion"), live.get("kind")
        if not kind:
            _, module, kind = token.split(":")
            api_version = module.removeprefix("core/")
        requested.update(apiVersion=api_version, kind=kind)
    metadata = requested.setdefault("metadata", {})
    metadata.setdefault("name", name)
    if namespace:
        metadata.setdefault("namespace", namespace)
    return requested


def imported(live: Object) -> Object:
    """Inputs for an object that no program has described yet: all but what the server fills in."""
    inputs = normalize.inputs({key: value for key, value in live.items() if key != "status"})
    for annotation in (
        "deployment.kubernetes.io/revision",
        "kubectl.kubernetes.io/last-applied-configuration",
    ):
        drop(inputs, "metadata", "annotations", annotation)
    return inputs
