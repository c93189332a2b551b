"""Pods go where the scheduler may send them: by name past no taint, and past the scheduler never."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.admission.bypass import requests_gpus
from gpuyard.admission.parameters import TeamParameters
from gpuyard.admission.requirement import Violation, ViolationTemplate, Workload
from gpuyard.manifests.fields import items, known_value, mapping, text
from gpuyard.manifests.pods import Pod
from gpuyard.names import GATE_TAINT, GPU, POOL_LABEL, STOP_TAINT
from gpuyard.plan.records import Taint

EVERY_TAINT = ViolationTemplate(
    "a toleration of every taint lets the pod onto nodes kept for others, and onto broken ones",
    "tolerate the taints of its pool by key",
)
OTHERS = ViolationTemplate(
    "the toleration of {key} lets the pod onto {taint}, a pool of which the team has nothing",
    "remove the toleration; the queue adds those of pools that the team may use",
)
GPU_NODES = (GPU, POOL_LABEL)
"""Keys of the taints that keep pods without GPUs off GPU nodes."""
NO_GPU = ViolationTemplate(
    "this pod asks for no GPU, and the toleration of {key} lets it fill nodes whose GPUs others wait for",
    "remove the toleration; what needs no GPU runs on other nodes",
)
NOT_OF_TEAMS = (
    *("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"),
    *("CriticalAddonsOnly", "node.kubernetes.io/unschedulable", GATE_TAINT),
    *("karpenter.sh/disrupted", "ToBeDeletedByClusterAutoscaler"),
    *("karpenter.sh/unregistered", "node.cloudprovider.kubernetes.io/uninitialized"),
    *("node.cilium.io/agent-not-ready", "node.kubernetes.io/network-unavailable"),
)
"""Keys of the taints of nodes that the cluster's own programs have, nobody any more, or nobody yet."""
KEPT = ViolationTemplate(
    "the toleration of {key} lets the pod onto a node that takes no pods of teams: the cluster's own"
    " programs run there, it is being emptied, or it is not checked yet",
    "remove the toleration",
)
PAST_BRAKE = ViolationTemplate(
    "the toleration of {key} takes the pod past the brake of a pool that is stopped",
    "remove the toleration; the queue starts it when the pool goes on",
)
ANTI = ("affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
APART = ViolationTemplate(
    "podAntiAffinity by {key} with pods of other namespaces keeps these off every node of the same {key}:"
    " the scheduler holds new pods to what those that run demand",
    "leave namespaces and namespaceSelector out: the pod then stands apart from those of its own namespace",
)
BY_NAME = ViolationTemplate(
    "nodeName {node} goes past the scheduler, and with it past the taints of other teams' pools",
    "remove nodeName; choose nodes by nodeSelector",
)


def check_placement(workload: Workload, parameters: TeamParameters) -> Iterator[Violation]:
    """Where pods of the team have no business."""
    for pod in workload.pods:
        for index, each in enumerate(items(pod.spec.get("tolerations"))):
            value, path = mapping(each), pod.at("tolerations", index)
            key = text(value.get("key"))
            if not key and text(value.get("operator")) == "Exists":
                yield EVERY_TAINT.violation(path)
            if key in NOT_OF_TEAMS:
                yield KEPT.violation(path, key=key)
            if key == STOP_TAINT:
                yield PAST_BRAKE.violation(path, key=key)
            if key in GPU_NODES and not requests_gpus(pod):
                yield NO_GPU.violation(path, key=key)
            for taint in parameters.taints:
                if _tolerates(value, taint):
                    yield OTHERS.violation(path, key=key, taint=str(taint))
        yield from _anti_affinity_violations(pod, text(workload.metadata.get("namespace")))
        if node := text(pod.spec.get("nodeName")):
            yield BY_NAME.violation(pod.at("nodeName"), node=node)


def _anti_affinity_violations(pod: Pod, namespace: str) -> Iterator[Violation]:
    """What keeps pods of others off: affinity binds the pod itself alone, and so does a mere preference."""
    for index, each in enumerate(items(mapping(pod.spec, *ANTI[:-1]).get(ANTI[-1]))):
        term = mapping(each)
        names_other_namespaces = any(
            text(one) != namespace for one in items(term.get("namespaces"))
        )
        if names_other_namespaces or known_value(term.get("namespaceSelector")) is not None:
            yield APART.violation(pod.at(*ANTI, index), key=text(term.get("topologyKey")))


def _tolerates(toleration: Mapping[str, Any], taint: Taint) -> bool:
    return (
        text(toleration.get("key")) == taint.key
        and (
            text(toleration.get("operator")) == "Exists"
            or text(toleration.get("value")) == taint.value
        )
        and text(toleration.get("effect")) in {"", taint.effect}
    )
