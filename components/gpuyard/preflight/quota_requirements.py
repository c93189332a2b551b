"""Quota that a plan needs: minimum and maximum."""

from collections.abc import Iterator
from dataclasses import dataclass

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.preflight.zones import pool_path
from gpuyard.render.aws.pools import group_sizes
from gpuyard.render.cloud.graph import CloudGraph, CloudResource
from gpuyard.render.gcp.capacity_options import option_node_pools
from gpuyard_core.catalogue.cluster.quotas import GCE_METRICS, PREEMPTIBLE, ec2_quota
from gpuyard_core.catalogue.machines import MACHINES, Capacity
from gpuyard_core.findings import Path

_HELD = frozenset({Capacity.RESERVED.value, Capacity.BLOCK.value})
"""Already paid for: it does not use quota."""
_NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"


@dataclass(frozen=True, slots=True)
class PlannedAccount:
    """A planned deployment: the plan, its graph, and the account or project."""

    plan: PlatformPlan
    graph: CloudGraph
    account: str


@dataclass(frozen=True, slots=True)
class QuotaRequirement:
    """The required amount of one quota."""

    quotas: tuple[str, ...]
    """Its possible names, of which the account has one; empty when unknown."""
    subject: str
    minimum: int
    maximum: int
    path: Path
    nodes: str = "the minimum of nodes"
    """What the minimum counts."""
    alternative: str = "lower `nodes`"
    """Alternative to a quota increase; empty if there is none."""


def zones_without_pools(plan: PlatformPlan) -> dict[str, Path]:
    """Zones of the cluster without a pool; those of pools are checked by offers."""
    pools = {zone for pool in plan.pools for zone in pool.zones}
    numbered_zones = enumerate(cluster_spec(plan.spec).zones)
    return {zone: ("cluster", "zones", n) for n, zone in numbered_zones if zone not in pools}


def merge_requirements(wants: Iterator[QuotaRequirement]) -> list[QuotaRequirement]:
    """One requirement for each quota, which pools share, at the path of the largest pool."""
    results: dict[tuple[str, ...], list[QuotaRequirement]] = {}
    for each in wants:
        results.setdefault(each.quotas or (each.subject,), []).append(each)
    sums: list[QuotaRequirement] = []
    for group in results.values():
        largest = max(group, key=lambda w: w.maximum)
        what = ", ".join(dict.fromkeys(w.subject for w in group))
        floor, most = sum(w.minimum for w in group), sum(w.maximum for w in group)
        sums.append(QuotaRequirement(largest.quotas, what, floor, most, largest.path))
    return sums


# ── EC2: vCPUs ────────────────────────────────────────────────────────────────────────────────────
def ec2_requirements(plan: PlatformPlan, graph: CloudGraph) -> list[QuotaRequirement]:
    """VCPUs by quota, of pools and system nodes."""
    return merge_requirements(_ec2(plan, graph))


def _ec2(plan: PlatformPlan, graph: CloudGraph) -> Iterator[QuotaRequirement]:
    for pool in plan.pools:
        vcpus = max(MACHINES[name].vcpus for name in pool.machines)
        for size in group_sizes(pool):
            if size.option.mode not in _HELD:
                spot = size.option.mode == Capacity.SPOT.value
                at = pool_path(plan, pool)
                yield _vcpus(
                    pool.machine.type_name,
                    size.initial_nodes * vcpus,
                    size.high * vcpus,
                    at,
                    spot=spot,
                )
    for each in graph.resources_of_kind(_NODE_GROUP):
        if each.part == "system":
            yield from _system(each)


def _system(each: CloudResource) -> Iterator[QuotaRequirement]:
    name, size = each.inputs["instanceTypes"][0], each.inputs["scalingConfig"]
    if name in MACHINES:
        vcpus = MACHINES[name].vcpus
        yield _vcpus(
            name, size["minSize"] * vcpus, size["maxSize"] * vcpus, ("system",), spot=False
        )


def _vcpus(machine: str, floor: int, most: int, path: Path, *, spot: bool) -> QuotaRequirement:
    known = ec2_quota(machine)
    codes = () if known is None else known.spot if spot else (known.on_demand,)
    return QuotaRequirement(
        codes, f"vCPUs of {machine}{' on spot' if spot else ''}", floor, most, path
    )


# ── Google Cloud: GPUs ──────────────────────────────────────────────────────────────────────────────────
def gce_requirements(plan: PlatformPlan) -> list[QuotaRequirement]:
    """GPUs by metric; spot and flex-start use another metric than on-demand."""
    return merge_requirements(_gce(plan))


def _gce(plan: PlatformPlan) -> Iterator[QuotaRequirement]:
    for pool in plan.pools:
        for group in option_node_pools(pool):
            if group.option.mode not in _HELD:
                metric = GCE_METRICS.get(group.machine.accelerator or "")
                is_preemptible = group.purchase.spot or group.purchase.flex_start
                names = (f"{PREEMPTIBLE if is_preemptible else ''}{metric}",) if metric else ()
                gpus = group.machine.gpus
                what = f"GPUs of {group.machine.name}{f' on {group.option.mode}' if is_preemptible else ''}"
                yield QuotaRequirement(
                    names,
                    what,
                    group.min_nodes * gpus,
                    group.max_nodes * gpus,
                    pool_path(plan, pool),
                )
