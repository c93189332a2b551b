"""The common form of every Kubernetes object of gpuyard, and shared parts of pods."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard_core.manifests.pods import Taint
from gpuyard_core.names import (
    KUBE_SYSTEM,
    MANAGED_BY_LABEL,
    PLATFORM_LABEL,
    POOL_LABEL,
    SYSTEM_POOL,
)

Object = dict[str, Any]
"""One Kubernetes object as a plain mapping; may contain `Late` values."""


def managed_object(
    owner: str,
    api_version: str,
    kind: str,
    name: str,
    *,
    namespace: str | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **body: Any,
) -> Object:
    """An object with a label for its platform; the namespace is always explicit."""
    ours = {MANAGED_BY_LABEL: "gpuyard", PLATFORM_LABEL: owner}
    metadata: Object = {"name": name}
    if namespace is not None:
        metadata["namespace"] = namespace
    metadata["labels"] = dict(sorted({**(labels or {}), **ours}.items()))
    if annotations:
        metadata["annotations"] = dict(sorted(annotations.items()))
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}


def namespaces_with(owner: str, label: str) -> Object:
    """A selector of the platform's own namespaces that have a label, with any value."""
    return {
        "matchLabels": {PLATFORM_LABEL: owner},
        "matchExpressions": [{"key": label, "operator": "Exists"}],
    }


def namespace_object(owner: str, name: str, labels: Mapping[str, str]) -> Object:
    """A namespace."""
    return managed_object(owner, "v1", "Namespace", name, labels=labels)


def service_account(owner: str, name: str, namespace: str) -> Object:
    """An account whose token is not mounted in pods by default."""
    return managed_object(
        owner,
        "v1",
        "ServiceAccount",
        name,
        namespace=namespace,
        automountServiceAccountToken=False,
    )


POD_FAILURE_POLICY: Object = {
    "rules": [
        {
            "action": "Ignore",
            "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
        }
    ]
}
"""For a Job: a pod deleted with its node has not failed, and is replaced elsewhere."""


def node_affinity(*matches: list[Object]) -> Object:
    """A pod's affinity for nodes that meet all terms of any of these."""
    terms = [{"matchExpressions": each} for each in matches]
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
        }
    }


def pool_affinity(pools: Iterable[PoolPlan]) -> Object:
    """A pod's affinity for the nodes of these pools."""
    return node_affinity(
        *(
            [
                {"key": key, "operator": "In", "values": [value]}
                for key, value in sorted(pool.node_selector.items())
            ]
            for pool in pools
        )
    )


SKIP_AWAIT = {"pulumi.com/skipAwait": "true"}
"""Annotation of objects that become ready later, or never: a deployment does not wait for them."""


def node_agent(
    owner: str,
    name: str,
    label: str,
    pod: Object,
    namespace: str = KUBE_SYSTEM,
    *,
    labels: Mapping[str, str] | None = None,
    at_once: bool = False,
) -> Object:
    """A pod on each node that it fits, updated one by one or at once; its pods have the name under `label`.

    Nodes come and go: a deployment does not wait for one that boots.
    """
    named = {label: name}
    every = {"rollingUpdate": {"maxUnavailable": "100%"}} if at_once else {}
    spec = {
        "selector": {"matchLabels": named},
        "updateStrategy": {"type": "RollingUpdate", **every},
        "template": {"metadata": {"labels": {**named, **(labels or {})}}, "spec": pod},
    }
    kind = "DaemonSet"
    return managed_object(
        owner, "apps/v1", kind, name, namespace=namespace, annotations=SKIP_AWAIT, spec=spec
    )


def taint_object(taint: Taint) -> Object:
    """A taint in the form of nodes and flavors."""
    return {"key": taint.key, "value": taint.value, "effect": taint.effect}


def toleration_object(taint: Taint) -> Object:
    """The toleration of exactly this taint; never a wildcard."""
    return {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}


def system_tolerations() -> list[Object]:
    """Tolerations of the usual taints of node groups for controllers."""
    return [{"key": "CriticalAddonsOnly", "operator": "Exists"}]


def system_node_selector(plan: PlatformPlan) -> Object:
    """The field that places a controller on gpuyard's system nodes if there are any."""
    return {"nodeSelector": {POOL_LABEL: SYSTEM_POOL}} if plan.system else {}


def system_placement(plan: PlatformPlan) -> Object:
    """Where a controller runs."""
    return {"tolerations": system_tolerations(), **system_node_selector(plan)}
