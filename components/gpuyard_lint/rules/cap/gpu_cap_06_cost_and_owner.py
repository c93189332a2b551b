"""GPU-CAP-06: the maximum cost of the pools is agreed, and tags name who pays."""

from collections.abc import Iterator, Mapping, Sequence

from gpuyard_core.catalogue.machines import find_machine
from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import (
    Parameters,
    Rule,
    Stack,
    Violation,
    at,
    complete_mapping,
    mapping,
    number,
)
from gpuyard_lint.rules.subjects.pools import (
    KARPENTER,
    NODE_GROUP,
    NODE_POOL,
    POOL_KINDS,
    GpuPool,
    gpu_pools,
)

_TAGS: Mapping[str, tuple[str, ...]] = {
    NODE_GROUP: ("tags",),
    NODE_POOL: ("nodeConfig", "resourceLabels"),
}
_OF_WHO_PAYS = ("owner", "cost-center")
_NODES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    NODE_GROUP: (("scalingConfig", "maxSize"),),
    NODE_POOL: (("autoscaling", "maxNodeCount"), ("nodeCount",)),
    KARPENTER: (("spec", "limits", "nodes"), ("spec", "replicas")),
}


def _check(stack: Stack, parameters: Parameters) -> Iterator[Violation]:
    pools = list(gpu_pools(stack.resources_of_kinds(*POOL_KINDS)))
    ceiling = parameters["usd_per_hour"]
    costs = [] if ceiling is None else [(pool, _worst(pool)) for pool in pools]
    total = sum(cost for _, cost in costs)
    if ceiling is not None and total > ceiling:
        dearest = max(costs, key=lambda each: each[1])[0]
        yield Violation(
            (),
            f"with all nodes running, these pools cost {total:,.0f} $/hour at list price;"
            f" the maximum (`usd_per_hour`) is {ceiling:,.0f}",
            "lower the maximum size of the most expensive pool, or raise `usd_per_hour`",
            dearest.resource,
        )
    expected = tuple(parameters["tags"]) or _used(pools)
    for pool in pools:
        yield from _untagged(pool, expected)


def _used(pools: Sequence[GpuPool]) -> tuple[str, ...]:
    """Without configured tags: those that another pool has, because its owner wants them on all pools."""
    present = {tag for pool in pools for tag in _tags(pool)}
    return tuple(tag for tag in _OF_WHO_PAYS if tag in present)


def _tags(pool: GpuPool) -> set[str]:
    path = _TAGS.get(pool.resource.group_kind)
    value = mapping(at(pool.resource.properties, *path)) if path else {}
    return {str(key).lower().replace("_", "-") for key in value}


def _worst(pool: GpuPool) -> float:
    prices = [
        machine.on_demand.high
        for name in pool.machines
        if (machine := find_machine(name)) is not None and machine.on_demand is not None
    ]
    counts = (
        number(at(pool.resource.properties, *path)) for path in _NODES[pool.resource.group_kind]
    )
    nodes = next((count for count in counts if count is not None), 0)
    return nodes * max(prices, default=0.0)


def _untagged(pool: GpuPool, expected: tuple[str, ...]) -> Iterator[Violation]:
    path = _TAGS.get(pool.resource.group_kind)
    if path is None:
        return
    complete_mapping(at(pool.resource.properties, *path))
    tags = _tags(pool)
    if missing := [tag for tag in expected if tag not in tags]:
        yield Violation(
            path,
            f"the pool lacks tags for cost allocation: no {' and no '.join(missing)}",
            f"tag the pool with {', '.join(missing)}",
            pool.resource,
        )


RULE = Rule(
    id="GPU-CAP-06",
    title="GPU pools stay under the agreed cost and name an owner",
    severity=Severity.WARNING,
    why="Cost without an owner is not controlled.",
    fix="Set a maximum (`usd_per_hour`) and require `tags`, such as owner and cost-center, on every pool.",
    sources=("list prices of gpuyard_core.catalogue.machines",),
    kinds=POOL_KINDS,
    parameters={"usd_per_hour": None, "tags": ()},
    check_stack=_check,
)
