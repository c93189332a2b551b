"""GPU-CAP-01: GPU nodes are reserved for GPU pods."""

from collections.abc import Iterator

from gpuyard_core.findings import Path, Severity
from gpuyard_lint.rules.rule import (
    ContextEffect,
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    enum_value,
    number,
)
from gpuyard_lint.rules.subjects.device_counts import max_gpus_per_node
from gpuyard_lint.rules.subjects.pools import GPU, KARPENTER, NODE_GROUP, gpu_pool

_OF_EKS = " (EKS calls the effect NO_SCHEDULE), and add a small group without GPUs for system pods"
_KEEPS = frozenset({"NO_SCHEDULE", "NO_EXECUTE", "NoSchedule", "NoExecute"})


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    pool = gpu_pool(resource)
    if pool is None:
        return
    if not any(enum_value(taint.get("effect")) in _KEEPS for taint in pool.taints):
        of_eks = _OF_EKS if resource.group_kind == NODE_GROUP else ""
        yield Violation(
            pool.taints_at,
            "no taint keeps other pods off these GPU nodes: a web server can occupy a GPU machine",
            f"taint it {GPU}=present:NoSchedule{of_eks}",
        )


def _context_effect(stack: Stack, resource: Resource, _: Path) -> ContextEffect:
    """With one machine with one GPU and no other pool, all pods have to run there."""
    most = number(at(resource.properties, "scalingConfig", "maxSize"))
    only = stack.resources_of_kinds(NODE_GROUP) == (resource,) and not stack.resources_of_kinds(
        KARPENTER
    )
    alone = only and most == 1 and max_gpus_per_node(stack) == 1
    return ContextEffect.CHOICE if alone else ContextEffect.FULL


RULE = Rule(
    id="GPU-CAP-01",
    title="A pool of GPU nodes is tainted",
    severity=Severity.ERROR,
    why="Untainted GPU nodes fill with pods that need no GPU and never scale down.",
    fix="Add a NoSchedule taint to the pool, by convention nvidia.com/gpu; GKE adds it automatically.",
    sources=("awsdocs/amazon-eks-user-guide, node taints on managed node groups",),
    kinds=(NODE_GROUP, KARPENTER),
    check=_check,
    adjust=_context_effect,
)
