"""A pool's ladder as node pools: one for each rung and machine, its name, and how many nodes it may have."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gpuyard.catalogue.machines import MACHINES, Machine
from gpuyard.plan.capacity.capacity_options import gke_bounds, gke_machines
from gpuyard.plan.records import CapacityOption, PoolPlan
from gpuyard.plan.records.nodes import GkePurchase
from gpuyard.render.cloud.spelling import digest, fit
from gpuyard.render.gcp.names import GKE_LENGTH
from gpuyard.spec.pools import Scaling


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionPool:
    """One node pool of GKE: a rung of a pool's ladder with one of its machines."""

    name: str
    option: CapacityOption
    purchase: GkePurchase
    machine: Machine
    min_nodes: int
    """Nodes that are there from the beginning."""
    max_nodes: int
    scales: bool
    """False where it has its nodes and keeps them."""


def groups(pool: PoolPlan) -> Iterator[OptionPool]:
    """The node pools of a pool, best first.

    A pool of one size gets its nodes from the first rungs that have them; what stands behind those scales,
    and comes where they fail. A reservation holds one machine type, the pool's first.
    """
    caps = gke_bounds(pool)
    floors = _filled(pool, caps)
    for option, name, cap, floor in zip(
        pool.capacity_options, _names(pool), caps, floors, strict=True
    ):
        if option.gcp is None or (not cap and pool.nodes.high):
            continue
        machines = machines_of(pool)[: gke_machines(pool, option)]
        for index, machine in enumerate(machines):
            least = floor if index == 0 else 0
            yield OptionPool(
                name=fit(name if index == 0 else _with(name, machine), GKE_LENGTH),
                option=option,
                purchase=option.gcp,
                machine=machine,
                min_nodes=least,
                max_nodes=cap,
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
    for option in pool.capacity_options:
        suffix = f"-{digest(option.reservation)}" if option.reservation else ""
        name = f"{pool.stable_name}-{option.mode}{suffix}"
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name}-{seen[name]}"


def _filled(pool: PoolPlan, caps: Sequence[int]) -> Iterator[int]:
    """The nodes that always run, from the first rung on that keeps nodes without a job."""
    remaining = pool.start_nodes
    for option, cap in zip(pool.capacity_options, caps, strict=True):
        filled = 0 if option.gcp and option.gcp.flex_start else min(remaining, cap)
        remaining -= filled
        yield filled


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


def autoscaled_fields(inputs: dict[str, Any]) -> tuple[str, ...]:
    """Fields that are the autoscaler's after the first day."""
    return ("nodeCount", "initialNodeCount") if "autoscaling" in inputs else ()
