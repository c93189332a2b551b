"""A pool's ladder as node pools: one for each rung and machine, its name, and how many nodes it may have."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gpuyard.catalogue.machines import MACHINES, Machine
from gpuyard.plan.capacity.ladder import gke_bounds, gke_machines
from gpuyard.plan.records import LadderRung, PoolPlan
from gpuyard.plan.records.nodes import GkePurchase
from gpuyard.render.cloud.spelling import digest, fit
from gpuyard.render.gcp.names import GKE_LENGTH
from gpuyard.spec.pools import Scaling


@dataclass(frozen=True, slots=True, kw_only=True)
class RungPool:
    """One node pool of GKE: a rung of a pool's ladder with one of its machines."""

    name: str
    rung: LadderRung
    bought: GkePurchase
    machine: Machine
    least: int
    """Nodes that are there from the beginning."""
    most: int
    scales: bool
    """False where it has its nodes and keeps them."""


def groups(pool: PoolPlan) -> Iterator[RungPool]:
    """The node pools of a pool, best first.

    A pool of one size gets its nodes from the first rungs that have them; what stands behind those scales,
    and comes where they fail. A reservation holds one machine type, the pool's first.
    """
    caps = gke_bounds(pool)
    floors = _filled(pool, caps)
    for rung, name, cap, floor in zip(pool.ladder, _names(pool), caps, floors, strict=True):
        if rung.gcp is None or (not cap and pool.nodes.high):
            continue
        machines = machines_of(pool)[: gke_machines(pool, rung)]
        for index, machine in enumerate(machines):
            least = floor if index == 0 else 0
            yield RungPool(
                name=fit(name if index == 0 else _with(name, machine), GKE_LENGTH),
                rung=rung,
                bought=rung.gcp,
                machine=machine,
                least=least,
                most=cap,
                scales=pool.scaling is not Scaling.FIXED or least < cap,
            )


def machines_of(pool: PoolPlan) -> tuple[Machine, ...]:
    """The machines of a pool, preferred first."""
    return (pool.machine, *(MACHINES[name] for name in pool.machines[1:]))


def _with(name: str, machine: Machine) -> str:
    return f"{name}-{machine.name.replace('+', '-')}"


def _names(pool: PoolPlan) -> Iterator[str]:
    """Of pool, way of buying and reservation: the same whatever other rungs there are."""
    seen: Counter[str] = Counter()
    for rung in pool.ladder:
        held = f"-{digest(rung.reservation)}" if rung.reservation else ""
        name = f"{pool.stable_name}-{rung.mode}{held}"
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name}-{seen[name]}"


def _filled(pool: PoolPlan, caps: Sequence[int]) -> Iterator[int]:
    """The nodes that always run, from the first rung on that keeps nodes without a job."""
    left = pool.start_nodes
    for rung, cap in zip(pool.ladder, caps, strict=True):
        taken = 0 if rung.gcp and rung.gcp.flex_start else min(left, cap)
        left -= taken
        yield taken


def size(least: int, most: int, zones: int, *, scales: bool, policy: str) -> dict[str, Any]:
    """How many nodes a node pool has; GKE counts in each zone, unless it is asked for the total.

    Whatever scales is never smaller than a node in each zone, where it starts with any: GKE brings a pool
    to its minimum when it makes it, and not later.
    """
    if zones == 1 and not scales:
        return {"nodeCount": most}
    return {
        "initialNodeCount": max(1, least // zones) if least else 0,
        "autoscaling": {
            "totalMinNodeCount": least,
            "totalMaxNodeCount": most,
            "locationPolicy": policy,
        },
    }


def owned_by_autoscaler(inputs: dict[str, Any]) -> tuple[str, ...]:
    """Fields that are the autoscaler's after the first day."""
    return ("nodeCount", "initialNodeCount") if "autoscaling" in inputs else ()
