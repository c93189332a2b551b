"""GPU-CAP-02: the number of GPUs has an end that somebody has chosen."""

from collections.abc import Iterator

from gpuyard.catalogue.cluster.machine_gpus import gpus_of_machine
from gpuyard.findings import Path, Severity
from gpuyard.rules.rule import Parameters, Resource, Rule, Violation, at, mapping, number
from gpuyard.rules.subjects.pools import GPU, KARPENTER, NODE_GROUP, NODE_POOL, POOL_KINDS, gpu_pool

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
            "nothing bounds the GPUs of this pool but the cloud's quota and your card",
            f"set {'.'.join(str(step) for step in bounds[0])}",
        )
    if not results:
        return
    path, bound = results[0]
    per_node = 1 if path[-1] == GPU else max((_gpus(name) for name in pool.machines), default=1)
    if (gpus := int(bound) * per_node) > parameters["max_gpus_per_node"]:
        yield Violation(
            path,
            f"the pool may grow to {gpus:,} GPUs, more than the {parameters['max_gpus_per_node']:,} allowed",
            f"lower it to {parameters['max_gpus_per_node'] // per_node}",
        )


def _by_something_else(resource: Resource) -> bool:
    """Karpenter's limits in CPUs or memory end a pool of GPU machines as well."""
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
    why="Without one, a loop that makes jobs spends until the cloud's quota ends it.",
    fix="Set maxSize, maxNodeCount, or Karpenter's limits in nvidia.com/gpu.",
    sources=("Karpenter documentation, NodePools: unset limits mean none",),
    kinds=POOL_KINDS,
    parameters={"max_gpus_per_node": 10_000},
    check=_check,
)
