"""Scheduling constraints of pods: no tolerations of reserved nodes, no bypass of the scheduler."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from gpuyard_core.admission.bypass import requests_gpus
from gpuyard_core.admission.parameters import TeamParameters
from gpuyard_core.admission.requirement import ViolationTemplate, Workload
from gpuyard_core.manifests.fields import items, known_value, mapping, text
from gpuyard_core.manifests.gpu_requests import multiple_share_requests
from gpuyard_core.manifests.pods import Pod, Taint, container_name
from gpuyard_core.manifests.quantities import Violation
from gpuyard_core.names import GATE_TAINT, GPU, POOL_LABEL, STOP_TAINT

EVERY_TAINT = ViolationTemplate(
    "a toleration of every taint allows the pod on nodes reserved for other teams and on failed "
    "nodes",
    "tolerate the taints of the pod's pool by key",
)
OTHERS = ViolationTemplate(
    "the toleration of {key} allows the pod on {taint}, a pool in which the team has no quota",
    "remove the toleration; Kueue adds those of pools that the team may use",
)
GPU_NODES = (GPU, POOL_LABEL)
"""Keys of the taints that keep pods without GPUs off GPU nodes."""
NO_GPU = ViolationTemplate(
    "this pod requests no GPU, but the toleration of {key} allows it on GPU nodes",
    "remove the toleration; pods without GPUs run on other nodes",
)
NOT_OF_TEAMS = (
    *("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"),
    *("CriticalAddonsOnly", "node.kubernetes.io/unschedulable", GATE_TAINT),
    *("karpenter.sh/disrupted", "ToBeDeletedByClusterAutoscaler"),
    *("karpenter.sh/unregistered", "node.cloudprovider.kubernetes.io/uninitialized"),
    *("node.cilium.io/agent-not-ready", "node.kubernetes.io/network-unavailable"),
)
"""Keys of the taints of system nodes, draining nodes, and nodes not validated yet."""
KEPT = ViolationTemplate(
    "the toleration of {key} allows the pod on a node closed to teams: a system node, a draining "
    "node, or a node not validated yet",
    "remove the toleration",
)
BYPASSES_STOP = ViolationTemplate(
    "the toleration of {key} bypasses the stop policy of a stopped pool",
    "remove the toleration; Kueue starts the pod when the pool resumes",
)
ANTI = ("affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
APART = ViolationTemplate(
    "podAntiAffinity on {key} that selects other namespaces keeps their pods off every node with "
    "the same {key}",
    "remove namespaces and namespaceSelector; the term then applies to the pod's own namespace",
)
BY_NAME = ViolationTemplate(
    "nodeName {node} bypasses the scheduler and the taints of other teams' pools",
    "remove nodeName; select nodes with nodeSelector",
)


def check_placement(workload: Workload, parameters: TeamParameters) -> Iterator[Violation]:
    """Placements that are not allowed for pods of the team."""
    for pod in workload.pods:
        for index, each in enumerate(items(pod.spec.get("tolerations"))):
            value, path = mapping(each), pod.field_path("tolerations", index)
            key = text(value.get("key"))
            if not key and text(value.get("operator")) == "Exists":
                yield EVERY_TAINT.fill_in(path)
            if key in NOT_OF_TEAMS:
                yield KEPT.fill_in(path, key=key)
            if key == STOP_TAINT:
                yield BYPASSES_STOP.fill_in(path, key=key)
            if key in GPU_NODES and not requests_gpus(pod):
                yield NO_GPU.fill_in(path, key=key)
            for taint in parameters.taints:
                if _tolerates(value, taint):
                    yield OTHERS.fill_in(path, key=key, taint=str(taint))
        yield from _anti_affinity_violations(pod, text(workload.metadata.get("namespace")))
        if node := text(pod.spec.get("nodeName")):
            yield BY_NAME.fill_in(pod.field_path("nodeName"), node=node)


def _anti_affinity_violations(pod: Pod, namespace: str) -> Iterator[Violation]:
    """Anti-affinity that keeps other pods off a node: affinity and preferences affect only the pod itself."""
    for index, each in enumerate(items(mapping(pod.spec, *ANTI[:-1]).get(ANTI[-1]))):
        term = mapping(each)
        names_other_namespaces = any(
            text(one) != namespace for one in items(term.get("namespaces"))
        )
        if names_other_namespaces or known_value(term.get("namespaceSelector")) is not None:
            yield APART.fill_in(pod.field_path(*ANTI, index), key=text(term.get("topologyKey")))


def _tolerates(toleration: Mapping[str, Any], taint: Taint) -> bool:
    return (
        text(toleration.get("key")) == taint.key
        and (
            text(toleration.get("operator")) == "Exists"
            or text(toleration.get("value")) == taint.value
        )
        and text(toleration.get("effect")) in {"", taint.effect}
    )


SEVERAL = ViolationTemplate(
    "container {container} requests more than one {resource}; the device plugin rejects it, "
    "because several shares of a GPU give no more of it",
    "request one, or a MIG slice or a whole GPU",
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
            yield SEVERAL.fill_in(
                where, container=container_name(path, container), resource=resource
            )
