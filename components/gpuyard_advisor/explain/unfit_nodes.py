"""Nodes that differ from the plan, so that they have less capacity for certain pods."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.spec.pools import Scaling
from gpuyard_advisor.explain.messages import unfit
from gpuyard_advisor.scheduler.model import SchedulerModel
from gpuyard_advisor.scheduler.nodes import (
    current_node_resources,
    planned_node_resources,
    with_pods_resource,
)
from gpuyard_advisor.scheduler.requests import PodSet
from gpuyard_advisor.scheduler.selectors import untolerated
from gpuyard_core.manifests.quantities import format_amount
from gpuyard_core.names import simulated_node_name


@dataclass(frozen=True, slots=True)
class UnfitNodes:
    """Nodes with the same fault."""

    nodes: tuple[str, ...]
    """None when the nodes are missing."""
    message: str
    condition: str
    """The condition that fixes the fault, after `when`."""


_Fault = tuple[unfit.NodeWords, unfit.NodeWords]
"""The fault of a node, and the condition without it."""


def unfit_nodes(
    desk: SchedulerModel, pool: PoolPlan, members: Sequence[PodSet], *, tight: bool = True
) -> tuple[UnfitNodes, ...]:
    """Nodes of a pool with less for these pods than planned, grouped by fault.

    Real nodes have a little less CPU than planned: with `tight` it counts only when fewer of these pods fit on
    a node because of it.
    """
    faults = _faults(desk, pool, members, tight=tight)
    return (
        *(
            UnfitNodes(
                tuple(names),
                unfit.format_node_states(names, is_so),
                unfit.format_node_states(names, fixed),
            )
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
    """The fault of a node for these pods, and the condition without it."""
    state = desk.state.states.get(name)
    if state is None:
        return None
    for pods in members:
        if taint := untolerated(state.taints, pods.tolerations):
            return unfit.describe_untolerated_taint(taint)
    planned = planned_node_resources(desk.plan, pool)
    here = current_node_resources(planned, state)
    for pods in members:
        wants = {r: n for r, n in with_pods_resource(pods.requests).items() if n and r in planned}
        fit = min(planned[r] // n for r, n in wants.items())
        for resource, each in wants.items():
            has = here.get(resource, 0)
            if has // each < fit or (has < planned[resource] and not tight):
                shown = format_amount(resource, has) if has else f"no {resource}"
                return unfit.describe_reduced_resource(shown, resource, planned[resource])
    return None


def _missing(desk: SchedulerModel, pool: PoolPlan) -> Iterator[UnfitNodes]:
    """Missing nodes of the pool's minimum, which are not started for a job."""
    existing = [name for name, where in desk.state.nodes.items() if where == pool.name]
    lacking = pool.start_nodes - len(existing)
    if desk.state.has_all_nodes and pool.scaling is Scaling.FIXED and lacking > 0:
        names = _names_of(desk.plan, pool, existing)
        message, back = unfit.missing(pool, len(existing), names if len(names) == lacking else [])
        yield UnfitNodes((), message, back)


def _names_of(plan: PlatformPlan, pool: PoolPlan, existing: Sequence[str]) -> list[str]:
    """Names of missing nodes, if the plan has their names."""
    if not plan.simulated:
        return []
    planned = (simulated_node_name(pool.stable_name, i) for i in range(pool.start_nodes))
    return [name for name in planned if name not in existing]
