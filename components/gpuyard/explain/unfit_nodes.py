"""Nodes that are not as they were planned, so that certain pods find less room on them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpuyard.explain.messages import unfit
from gpuyard.manifests.quantities import format_amount
from gpuyard.names import node_name
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.scheduler.model import SchedulerModel
from gpuyard.scheduler.nodes import current_node, node_of, with_own_pod
from gpuyard.scheduler.requests import PodSet
from gpuyard.scheduler.selectors import untolerated
from gpuyard.spec.pools import Scaling


@dataclass(frozen=True, slots=True)
class UnfitNodes:
    """Nodes with the same fault."""

    nodes: tuple[str, ...]
    """None where they are not there at all."""
    message: str
    condition: str
    """What must happen, after `when`."""


_Fault = tuple[unfit.NodeWords, unfit.NodeWords]
"""What is wrong with a node, and what it would be otherwise."""


def unfit_nodes(
    desk: SchedulerModel, pool: PoolPlan, members: Sequence[PodSet], *, tight: bool = True
) -> tuple[UnfitNodes, ...]:
    """All of a pool that have less for these pods than planned, alike ones together.

    Real nodes give out a little less CPU than planned: by default that counts where fewer of these pods fit
    on a node because of it, and only without `tight` in any case.
    """
    faults = _faults(desk, pool, members, tight=tight)
    return (
        *(
            UnfitNodes(tuple(names), unfit.named(names, is_so), unfit.named(names, fixed))
            for (is_so, fixed), names in faults.items()
        ),
        *_missing(desk, pool),
    )


def _faults(
    desk: SchedulerModel, pool: PoolPlan, members: Sequence[PodSet], *, tight: bool
) -> dict[_Fault, list[str]]:
    faults: dict[_Fault, list[str]] = {}
    for name, where in desk.state.nodes.items():
        if where == pool.name and (fault := _fault(desk, pool, name, members, tight=tight)):
            faults.setdefault(fault, []).append(name)
    return faults


def _fault(
    desk: SchedulerModel, pool: PoolPlan, name: str, members: Sequence[PodSet], *, tight: bool
) -> _Fault | None:
    """What is wrong with a node, and what it would be otherwise; for these pods."""
    state = desk.state.states.get(name)
    if state is None:
        return None
    for pods in members:
        if taint := untolerated(state.taints, pods.tolerations):
            return unfit.keeps_off(taint)
    planned = node_of(desk.plan, pool)
    here = current_node(planned, state)
    for pods in members:
        wants = {r: n for r, n in with_own_pod(pods.requests).items() if n and r in planned}
        fit = min(planned[r] // n for r, n in wants.items())
        for resource, each in wants.items():
            has = here.get(resource, 0)
            if has // each < fit or (has < planned[resource] and not tight):
                shown = format_amount(resource, has) if has else f"no {resource}"
                return unfit.gives_less(shown, resource, planned[resource])
    return None


def _missing(desk: SchedulerModel, pool: PoolPlan) -> Iterator[UnfitNodes]:
    """Nodes that always run, and do not; nobody starts them for a job."""
    existing = [name for name, where in desk.state.nodes.items() if where == pool.name]
    lacking = pool.start_nodes - len(existing)
    if desk.state.listed and pool.scaling is Scaling.FIXED and lacking > 0:
        names = _names_of(desk.plan, pool, existing)
        message, back = unfit.missing(pool, len(existing), names if len(names) == lacking else [])
        yield UnfitNodes((), message, back)


def _names_of(plan: PlatformPlan, pool: PoolPlan, existing: Sequence[str]) -> list[str]:
    """Names of nodes that are missing, where the plan gives them names."""
    if not plan.simulated:
        return []
    planned = (node_name(pool.stable_name, i) for i in range(pool.start_nodes))
    return [name for name in planned if name not in existing]
