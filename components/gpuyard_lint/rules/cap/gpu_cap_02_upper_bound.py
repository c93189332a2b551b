"""GPU-CAP-02: each GPU pool has a maximum size."""

from collections.abc import Iterator

from gpuyard_core.catalogue.cluster.machine_gpus import gpus_of_machine
from gpuyard_core.findings import Path, Severity
from gpuyard_lint.rules.rule import Parameters, Resource, Rule, Violation, at, mapping, number
from gpuyard_lint.rules.subjects.pools import (
    GPU,
    KARPENTER,
    NODE_GROUP,
    NODE_POOL,
    POOL_KINDS,
    gpu_pool,
)

_BOUNDS: dict[str, tuple[Path, ...]] = {
    NODE_GROUP: (("scalingConfig", "maxSize"),),
    NODE_POOL: (
        ("autoscaling", "totalMaxNodeCount"),
        ("autoscaling", "maxNodeCount"),
        ("nodeCount",),
        ("initialNodeCount",),
    ),
    KARPENTER: (("spec", "limits", GPU), ("spec", "limits", "nodes"), ("spec", "replicas")),
}


def _check(resource: Resource, parameters: Parameters) -> Iterator[Violation]:
    pool = gpu_pool(resource)
    if pool is None:
        return
    bounds = _BOUNDS[resource.group_kind]
    bound_values = ((path, number(at(resource.properties, *path))) for path in bounds)
    results = [(path, bound) for path, bound in bound_values if bound is not None]
    if not results and not _by_something_else(resource):
        yield Violation(
            bounds[0][:-1],
            "this pool has no maximum size: only the cloud's quota limits its GPUs and cost",
            f"set {'.'.join(str(step) for step in bounds[0])}",
        )
    if not results:
        return
    path, bound = results[0]
    per_node = 1 if path[-1] == GPU else max((_gpus(name) for name in pool.machines), default=1)
    if (gpus := int(bound) * per_node) > parameters["max_gpus_per_node"]:
        yield Violation(
            path,
            f"the pool can grow to {gpus:,} GPUs; the maximum is {parameters['max_gpus_per_node']:,}",
            f"lower it to {parameters['max_gpus_per_node'] // per_node}",
        )


def _by_something_else(resource: Resource) -> bool:
    """Karpenter limits in CPU or memory also bound a pool of GPU machines."""
    limits = (
        mapping(at(resource.properties, "spec", "limits"))
        if resource.group_kind == KARPENTER
        else {}
    )
    return any(limits.get(each) is not None for each in ("cpu", "memory"))


def _gpus(name: str) -> int:
    count = gpus_of_machine(name)
    return 1 if count is None else count


RULE = Rule(
    id="GPU-CAP-02",
    title="A pool of GPU nodes has an upper bound",
    severity=Severity.ERROR,
    why="Without one, a loop that creates jobs adds nodes until it reaches the cloud's quota.",
    fix="Set maxSize, maxNodeCount, or nvidia.com/gpu in spec.limits of a Karpenter NodePool.",
    sources=("Karpenter documentation, NodePools: unset limits mean none",),
    kinds=POOL_KINDS,
    parameters={"max_gpus_per_node": 10_000},
    check=_check,
)
