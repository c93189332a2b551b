"""Reading of objects: what Read requests from the API server, and the inputs it derives."""

from __future__ import annotations

from testbed.plugins.kubernetes import normalize
from testbed.plugins.kubernetes.values import Object, clone, drop


def wanted(inputs: Object, live: Object, token: str, namespace: str, name: str) -> Object:
    """The fields of the object that are needed to request it."""
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
    """Inputs for an object that no program has described yet: all fields except those that the server fills in."""
    inputs = normalize.inputs({key: value for key, value in live.items() if key != "status"})
    for annotation in (
        "deployment.kubernetes.io/revision",
        "kubectl.kubernetes.io/last-applied-configuration",
    ):
        drop(inputs, "metadata", "annotations", annotation)
    return inputs
