"""What a plan takes from an account, on its first day and at most."""

from collections.abc import Iterator
from dataclasses import dataclass

from gpuyard.catalogue.cluster.quotas import GCE_METRICS, PREEMPTIBLE, ec2_quota
from gpuyard.catalogue.machines import MACHINES, Capacity
from gpuyard.findings import Path
from gpuyard.plan.cluster.ranges import cluster_of
from gpuyard.plan.records import PlatformPlan
from gpuyard.preflight.places import of_pool
from gpuyard.render.aws.pools import group_sizes
from gpuyard.render.cloud.graph import CloudGraph, CloudResource
from gpuyard.render.gcp.rungs import groups

_HELD = frozenset({Capacity.RESERVED.value, Capacity.BLOCK.value})
"""Bought already: it counts in nobody's quota again."""
_NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"


@dataclass(frozen=True, slots=True)
class Ahead:
    """What is to be deployed, and where: a plan, its graph, and the account or project."""

    plan: PlatformPlan
    graph: CloudGraph
    account: str


@dataclass(frozen=True, slots=True)
class Want:
    """So much of one quota."""

    quotas: tuple[str, ...]
    """Its names, of which the account has one; empty where nobody knows it."""
    what: str
    floor: int
    most: int
    path: Path
    always: str = "the nodes that always run"
    """What the floor is of."""
    instead: str = "lower `nodes`"
    """What else there is to do than to ask for more; empty where there is nothing."""


def zones_without_pools(plan: PlatformPlan) -> dict[str, Path]:
    """Zones of the cluster that no pool is in: of a pool's the offers tell."""
    pools = {zone for pool in plan.pools for zone in pool.zones}
    said = enumerate(cluster_of(plan.spec).zones)
    return {zone: ("cluster", "zones", n) for n, zone in said if zone not in pools}


def together(wants: Iterator[Want]) -> list[Want]:
    """One want for each quota: pools share it. It stands where its largest pool does."""
    found: dict[tuple[str, ...], list[Want]] = {}
    for each in wants:
        found.setdefault(each.quotas or (each.what,), []).append(each)
    sums: list[Want] = []
    for group in found.values():
        largest = max(group, key=lambda w: w.most)
        what = ", ".join(dict.fromkeys(w.what for w in group))
        floor, most = sum(w.floor for w in group), sum(w.most for w in group)
        sums.append(Want(largest.quotas, what, floor, most, largest.path))
    return sums


# ── EC2: vCPUs ────────────────────────────────────────────────────────────────────────────────────
def ec2_wants(plan: PlatformPlan, graph: CloudGraph) -> list[Want]:
    """VCPUs by quota, of pools and of the system."""
    return together(_ec2(plan, graph))


def _ec2(plan: PlatformPlan, graph: CloudGraph) -> Iterator[Want]:
    for pool in plan.pools:
        vcpus = max(MACHINES[name].vcpus for name in pool.machines)
        for size in group_sizes(pool):
            if size.rung.mode not in _HELD:
                spot = size.rung.mode == Capacity.SPOT.value
                at = of_pool(plan, pool)
                yield _vcpus(
                    pool.machine.type_name, size.start * vcpus, size.high * vcpus, at, spot=spot
                )
    for each in graph.of(_NODE_GROUP):
        if each.part == "system":
            yield from _system(each)


def _system(each: CloudResource) -> Iterator[Want]:
    name, size = each.inputs["instanceTypes"][0], each.inputs["scalingConfig"]
    if name in MACHINES:
        vcpus = MACHINES[name].vcpus
        yield _vcpus(
            name, size["minSize"] * vcpus, size["maxSize"] * vcpus, ("system",), spot=False
        )


def _vcpus(machine: str, floor: int, most: int, path: Path, *, spot: bool) -> Want:
    known = ec2_quota(machine)
    codes = () if known is None else known.spot if spot else (known.on_demand,)
    return Want(codes, f"vCPUs of {machine}{' on spot' if spot else ''}", floor, most, path)


# ── Google: GPUs ──────────────────────────────────────────────────────────────────────────────────
def gce_wants(plan: PlatformPlan) -> list[Want]:
    """GPUs by metric; spot and flex-start have another than what is bought on demand."""
    return together(_gce(plan))


def _gce(plan: PlatformPlan) -> Iterator[Want]:
    for pool in plan.pools:
        for group in groups(pool):
            if group.rung.mode not in _HELD:
                metric = GCE_METRICS.get(group.machine.accelerator or "")
                taken = group.bought.spot or group.bought.flex_start
                names = (f"{PREEMPTIBLE if taken else ''}{metric}",) if metric else ()
                gpus = group.machine.gpus
                what = f"GPUs of {group.machine.name}{f' on {group.rung.mode}' if taken else ''}"
                yield Want(names, what, group.least * gpus, group.most * gpus, of_pool(plan, pool))
