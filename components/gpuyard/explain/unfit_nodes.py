"""Nodes that are not as they were planned, so that certain pods find less room on them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpuyard.explain.sentences import unfit
from gpuyard.manifests.quantities import show_amount
from gpuyard.names import node_name
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.scheduler.desk import Desk
from gpuyard.scheduler.nodes import node_as_it_is, node_of, with_itself
from gpuyard.scheduler.requests import PodSet
from gpuyard.scheduler.selectors import untolerated
from gpuyard.spec.pools import Scaling


@dataclass(frozen=True, slots=True)
class UnfitNodes:
    """Nodes with the same fault."""

    nodes: tuple[str, ...]
    """None where they are not there at all."""
    says: str
    mended: str
    """What must happen, after `when`."""


def unfit_nodes(desk: Desk, pool: PoolPlan, members: Sequence[PodSet]) -> tuple[UnfitNodes, ...]:
    """All of a pool that have less for these pods than planned, alike ones together."""
    faults: dict[tuple[unfit.NodeWords, unfit.NodeWords], list[str]] = {}
    for name, where in desk.state.nodes.items():
        if where == pool.name and (fault := _fault(desk, pool, name, members)):
            faults.setdefault(fault, []).append(name)
    missing = _missing(desk, pool)
    return (
        *(
            UnfitNodes(tuple(names), unfit.named(names, is_so), unfit.named(names, mended))
            for (is_so, mended), names in faults.items()
        ),
        *missing,
    )


def _fault(
    desk: Desk, pool: PoolPlan, name: str, members: Sequence[PodSet]
) -> tuple[unfit.NodeWords, unfit.NodeWords] | None:
    """What is wrong with a node, and what it would be otherwise; for these pods."""
    state = desk.state.states.get(name)
    if state is None:
        return None
    for pods in members:
        if taint := untolerated(state.taints, pods.tolerations):
            return unfit.keeps_off(taint)
    planned = node_of(desk.plan, pool)
    here = node_as_it_is(planned, state)
    for pods in members:
        for resource, each in with_itself(pods.requests).items():
            if each and here.get(resource, 0) // each < planned.get(resource, 0) // each:
                has = here.get(resource, 0)
                shown = show_amount(resource, has) if has else f"no {resource}"
                return unfit.gives_less(shown, resource, planned[resource])
    return None


def _missing(desk: Desk, pool: PoolPlan) -> Iterator[UnfitNodes]:
    """Nodes that always run, and do not; nobody starts them for a job."""
    there = [name for name, where in desk.state.nodes.items() if where == pool.name]
    lacking = pool.start_nodes - len(there)
    if desk.state.listed and pool.scaling is Scaling.FIXED and lacking > 0:
        names = _names_of(desk.plan, pool, there)
        says, back = unfit.missing(pool, len(there), names if len(names) == lacking else [])
        yield UnfitNodes((), says, back)


def _names_of(plan: PlatformPlan, pool: PoolPlan, there: Sequence[str]) -> list[str]:
    """Names of nodes that are missing, where the plan gives them names."""
    if not plan.simulated:
        return []
    made = (node_name(pool.stable_name, i) for i in range(pool.start_nodes))
    return [name for name in made if name not in there]
