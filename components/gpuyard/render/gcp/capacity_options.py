"""Capacity options of a pool as node pools: one for each option and machine, with its size."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gpuyard.plan.capacity.capacity_options import gke_machine_count, gke_node_pool_limits
from gpuyard.plan.records import CapacityOption, PoolPlan
from gpuyard.render.cloud.spelling import digest, fit_name
from gpuyard.render.gcp.place import GKE_LENGTH
from gpuyard.render.scaling.priority_expander import option_text
from gpuyard.spec.pools import Scaling
from gpuyard_core.catalogue.gke.nodes import POOL_OF_NODE
from gpuyard_core.catalogue.machines import MACHINES, Machine
from gpuyard_core.catalogue.node_pools import GkeCapacitySettings


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionPool:
    """One GKE node pool: a capacity option of a pool with one of its machines."""

    name: str
    option: CapacityOption
    purchase: GkeCapacitySettings
    machine: Machine
    min_nodes: int
    """Initial nodes."""
    max_nodes: int
    scales: bool
    """False: the number of nodes is fixed."""


def option_node_pools(pool: PoolPlan) -> Iterator[OptionPool]:
    """The node pools of a pool, best first.

    A pool of fixed size gets its nodes from the first options that have them; later options scale
    up when those fail. A reservation holds one machine type, the pool's first.
    """
    caps = gke_node_pool_limits(pool)
    minimums = _filled(pool, caps)
    for option, name, cap, minimum in zip(
        pool.capacity_options, _names(pool), caps, minimums, strict=True
    ):
        if option.gcp is None or (not cap and pool.nodes.high):
            continue
        machines = machines_of(pool)[: gke_machine_count(pool, option)]
        for index, machine in enumerate(machines):
            least = minimum if index == 0 else 0
            yield OptionPool(
                name=fit_name(name if index == 0 else _with(name, machine), GKE_LENGTH),
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
    """Names from pool, capacity option and reservation: independent of the other options."""
    seen: Counter[str] = Counter()
    for option in pool.capacity_options:
        suffix = f"-{digest(option.reservation)}" if option.reservation else ""
        name = f"{pool.stable_name}-{option.mode}{suffix}"
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name}-{seen[name]}"


def _filled(pool: PoolPlan, caps: Sequence[int]) -> Iterator[int]:
    """The nodes that always run, from the first option that keeps nodes without a job."""
    remaining = pool.start_nodes
    for option, cap in zip(pool.capacity_options, caps, strict=True):
        filled = 0 if option.gcp and option.gcp.flex_start else min(remaining, cap)
        remaining -= filled
        yield filled


def size(least: int, most: int, zones: int, *, scales: bool, policy: str) -> dict[str, Any]:
    """The size of a node pool; GKE counts in each zone, unless the total is set.

    A node pool that scales starts with at least one node in each zone, if it starts with any: GKE
    creates a pool at its minimum and does not enforce the minimum later.
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
    """Fields that the autoscaler changes after creation."""
    return ("nodeCount", "initialNodeCount") if "autoscaling" in inputs else ()


def nodes_by_option(pool: PoolPlan) -> tuple[str, list[dict[str, Any]]]:
    """The label that names a node's pool, and the node pools of each capacity option."""
    results: dict[str, dict[str, Any]] = {}
    for each in option_node_pools(pool):
        text = option_text(each.option)
        entry = results.setdefault(text, {"description": text, "names": [], "max_nodes": 0})
        entry["names"].append(each.name)
        entry["max_nodes"] = max(entry["max_nodes"], each.max_nodes)
    return POOL_OF_NODE, list(results.values())
