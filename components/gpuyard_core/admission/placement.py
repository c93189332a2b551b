"""Scheduling constraints of pods: no tolerations of reserved nodes, no bypass of the scheduler."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from gpuyard_core.admission.bypass import requests_gpus
from gpuyard_core.admission.parameters import TeamParameters
from gpuyard_core.admission.requirement import Workload, new_violation
from gpuyard_core.manifests.fields import items, known_value, mapping, text
from gpuyard_core.manifests.gpu_requests import multiple_share_requests
from gpuyard_core.manifests.pods import Pod, Taint, container_name
from gpuyard_core.manifests.quantities import Violation
from gpuyard_core.names import GATE_TAINT, GPU, POOL_LABEL, STOP_TAINT

GPU_NODES = (GPU, POOL_LABEL)
"""Keys of the taints that keep pods without GPUs off GPU nodes."""
NOT_OF_TEAMS = (
    *("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"),
    *("CriticalAddonsOnly", "node.kubernetes.io/unschedulable", GATE_TAINT),
    *("karpenter.sh/disrupted", "ToBeDeletedByClusterAutoscaler"),
    *("karpenter.sh/unregistered", "node.cloudprovider.kubernetes.io/uninitialized"),
    *("node.cilium.io/agent-not-ready", "node.kubernetes.io/network-unavailable"),
)
"""Keys of the taints of system nodes, draining nodes, and nodes not validated yet."""
ANTI = ("affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution")


def check_placement(workload: Workload, parameters: TeamParameters) -> Iterator[Violation]:
    """Placements that are not allowed for pods of the team."""
    for pod in workload.pods:
        for index, each in enumerate(items(pod.spec.get("tolerations"))):
            value, path = mapping(each), pod.field_path("tolerations", index)
            key = text(value.get("key"))
            if not key and text(value.get("operator")) == "Exists":
                yield new_violation("placement.EVERY_TAINT", path)
            if key in NOT_OF_TEAMS:
                yield new_violation("placement.KEPT", path, key=key)
            if key == STOP_TAINT:
                yield new_violation("placement.BYPASSES_STOP", path, key=key)
            if key in GPU_NODES and not requests_gpus(pod):
                yield new_violation("placement.NO_GPU", path, key=key)
            for taint in parameters.taints:
                if _tolerates(value, taint):
                    yield new_violation("placement.OTHERS", path, key=key, taint=str(taint))
        yield from _anti_affinity_violations(pod, text(workload.metadata.get("namespace")))
        if node := text(pod.spec.get("nodeName")):
            yield new_violation("placement.BY_NAME", pod.field_path("nodeName"), node=node)


def _anti_affinity_violations(pod: Pod, namespace: str) -> Iterator[Violation]:
    """Anti-affinity that keeps other pods off a node: affinity and preferences affect only the pod itself."""
    for index, each in enumerate(items(mapping(pod.spec, *ANTI[:-1]).get(ANTI[-1]))):
        term = mapping(each)
        names_other_namespaces = any(
            text(one) != namespace for one in items(term.get("namespaces"))
        )
        if names_other_namespaces or known_value(term.get("namespaceSelector")) is not None:
            yield new_violation(
                "placement.APART", pod.field_path(*ANTI, index), key=text(term.get("topologyKey"))
            )


def _tolerates(toleration: Mapping[str, Any], taint: Taint) -> bool:
    return (
        text(toleration.get("key")) == taint.key
        and (
            text(toleration.get("operator")) == "Exists"
            or text(toleration.get("value")) == taint.value
        )
        and text(toleration.get("effect")) in {"", taint.effect}
    )


def check_shares(workload: Workload, parameters: TeamParameters) -> Iterator[Violation]:
    """Containers that request several shares."""
    for pod in filter(requests_gpus, workload.pods):
        yield from check_pod_shares(pod, parameters.shares)


def check_pod_shares(pod: Pod, shared: Collection[str] = ()) -> Iterator[Violation]:
    """The same for one pod; `shared` are resource names of shares without the suffix `.shared`."""
    for path, container in pod.containers():
        if "ephemeralContainers" in path:  # ephemeral containers cannot request resources
            continue
        limits = mapping(container.get("resources"), "limits")
        for resource in multiple_share_requests(limits, shared):
            where = (*path, "resources", "limits", resource)
            yield new_violation(
                "placement.SEVERAL",
                where,
                container=container_name(path, container),
                resource=resource,
            )
