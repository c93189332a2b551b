"""Capacity of Google Cloud: how Compute Engine sells nodes, and what GKE's autoscaler knows of them."""

from collections.abc import Mapping
from dataclasses import replace

from gpuyard.plan.capacity.capacity_checks import check_reservation_id
from gpuyard.plan.capacity.capacity_options import (
    gke_machine_count,
    gke_node_pool_limits,
    is_placed_together,
    max_nodes,
)
from gpuyard.plan.capacity.scaling import check_blind, miscounted, scaling_of
from gpuyard.plan.records import AdvertisedResources, AutoscalerHints, CapacityOption, PoolPlan
from gpuyard.providers.gcp.capacity_zones import check_zone_counts
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import CapacityOptionSpec, Pool, Scaling
from gpuyard.spec.sections import Provisioning
from gpuyard_core.catalogue.gke.classes import STAYS
from gpuyard_core.catalogue.machines import Capacity, Machine
from gpuyard_core.catalogue.node_pools import (
    gke_capacity_settings,
    max_nodes_per_pool,
    may_be_compact,
    workload_policy,
)
from gpuyard_core.catalogue.purchasing import CALENDAR, FLEX_START, GCE_RESERVATION
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, info
from gpuyard_core.manifests.pods import Taint
from gpuyard_core.models.values import Range
from gpuyard_core.names import GPU

_LIFETIMES = {Capacity.FLEX_START: FLEX_START.description, Capacity.BLOCK: CALENDAR.description}


# ── capacity options ──────────────────────────────────────────────────────────────────────────────
def complete_option(
    option: CapacityOption, written: CapacityOptionSpec, pool: Pool, machine: Machine
) -> CapacityOption:
    """Add the placement policy, the lifetime and the settings of a node pool."""
    words, policy = gke_capacity_settings(written.mode), workload_policy(machine)
    return replace(
        option,
        placement=placement(pool, machine, written),
        lifetime=_LIFETIMES.get(written.mode, ""),
        gcp=replace(
            words,
            queued=words.flex_start and pool.provisioning is Provisioning.QUEUED,
            workload_policy=f"{policy.type} {policy.accelerator_topology}" if policy else "",
        ),
    )


def placement(pool: Pool, machine: Machine, option: CapacityOptionSpec) -> str:
    """Close together where nodes communicate over a fabric and GKE supports the request.

    Only a rack's reservation is used with a policy.
    """
    if workload_policy(machine):
        return "nvlink"
    flex = option.mode is Capacity.FLEX_START
    queued = flex and pool.provisioning is Provisioning.QUEUED
    compact = may_be_compact(machine, flex_start=flex, queued=queued)
    return "compact" if compact and is_placed_together(pool, machine, option) else "none"


def max_autoscaled_nodes(pool: PoolPlan) -> int:
    """The sum over its node pools."""
    bounds = zip(pool.capacity_options, gke_node_pool_limits(pool), strict=True)
    return sum(most * gke_machine_count(pool, option) for option, most in bounds)


# ── checks of capacity options ────────────────────────────────────────────────────────────────────
def check_reservation(
    option: CapacityOptionSpec, _machine: Machine, path: Path
) -> list[Diagnostic]:
    """Check the ID of a reservation."""
    return check_reservation_id(Cloud.GCP, option, path, GCE_RESERVATION)


def check_capacity(
    spec: PlatformSpec, pool: Pool, machine: Machine, path: Path
) -> list[Diagnostic]:
    """Check nodes that always run, nodes in each zone, and the size of a rack."""
    return [
        *_check_floor(pool, path),
        *check_zone_counts(spec, pool, path),
        *_check_rack(pool, machine, path),
    ]


def _check_floor(pool: Pool, path: Path) -> list[Diagnostic]:
    """Check that other options provide the minimum: flex-start nodes exist for one job only."""
    if all(r.mode is not Capacity.FLEX_START for r in pool.capacity):
        return []
    steady = sum(max_nodes(r, pool) for r in pool.capacity if r.mode is not Capacity.FLEX_START)
    if steady >= pool.nodes.low:
        return []
    nodes = Range(steady, pool.nodes.high)
    return [
        error(
            "capacity.flex_floor",
            (*path, "nodes"),
            f"flex-start nodes start when a job requests them and run {FLEX_START.description}:"
            f" other capacity options provide {steady} of the {pool.nodes.low} nodes that always run",
            given=str(pool.nodes),
            allowed=f"{nodes}, or another capacity option for the nodes that always run",
            fix=Fix(message=f"write {nodes}", at=(*path, "nodes"), value=str(nodes)),
        )
    ]


def _check_rack(pool: Pool, machine: Machine, path: Path) -> list[Diagnostic]:
    """Check the size of a rack: GKE places a node pool of these machines in one NVLink domain."""
    limit = max_nodes_per_pool(machine)
    large = [
        i for i, option in enumerate(pool.capacity) if limit and max_nodes(option, pool) > limit
    ]
    return [
        error(
            "capacity.rack_size",
            (*path, "capacity", index),
            f"GKE accepts at most {limit} nodes of {machine.name} in one node pool: one NVLink domain",
            given=str(max_nodes(pool.capacity[index], pool)),
            allowed=f"at most {limit} nodes in each capacity option, each with its own reservation",
            fix=Fix(message=f"write nodes: {limit} here, and add a capacity option for the others"),
        )
        for index in large
    ]


# ── scaling ───────────────────────────────────────────────────────────────────────────────────────
def compute_class(spec: PlatformSpec, pool: Pool) -> str:
    """The name of the pool's class; empty where GKE's autoscaler has no choice.

    A pool with one option has a class too, so that adding an option changes no labels and taints.
    Nodes with queued provisioning are created for a request, whatever a class contains.
    """
    scales = scaling_of(Cloud.GCP, pool) is Scaling.AUTOSCALER
    queued = pool.provisioning is Provisioning.QUEUED
    return f"pool-{pool.stable_name}" if scales and not (queued or spec.queueing.clusters) else ""


def complete_hints(
    hints: AutoscalerHints,
    _scaling: Scaling,
    _labels: Mapping[str, str],
    _taints: tuple[Taint, ...],
    advertised: AdvertisedResources,
) -> AutoscalerHints:
    """Add what GKE knows: the GPUs of its node pools, not what a device plugin makes of them."""
    resources = tuple(a.resource for a in advertised)
    hidden = resources if any(each != GPU for each in resources) else ()
    return replace(hints, source="cloud", undiscovered_resources=hidden)


def check_scaling(
    pool: Pool, _machine: Machine, advertised: AdvertisedResources, path: Path
) -> list[Diagnostic]:
    """Reject Karpenter, and report resources that GKE's autoscaler does not count."""
    scaling = scaling_of(Cloud.GCP, pool)
    if scaling is Scaling.KARPENTER:
        why = "GKE scales its own node pools; Karpenter is for aws only"
        return [miscounted(why, "karpenter", path)]
    if scaling is Scaling.AUTOSCALER:
        return [*check_blind(pool, advertised, path), *_unobserved(advertised, path)]
    return []


def _unobserved(advertised: AdvertisedResources, path: Path) -> list[Diagnostic]:
    """GKE's autoscaler drains a node whose GPUs are unused, and counts whole GPUs only."""
    hidden = [a.resource for a in advertised if a.resource != GPU]
    if not hidden:
        return []
    stays = f'{STAYS}: "false"'
    return [
        info(
            "scaling.unseen",
            (*path, "sharing"),
            f"GKE's autoscaler measures a node's use by {GPU} only: a node whose pods use {format_list(hidden)}"
            " counts as unused, and is drained if its pods fit elsewhere",
            given=", ".join(hidden),
            allowed="a fixed number of nodes, of which none is removed",
            fix=Fix(message=f"add the annotation {stays} to pods that must not move"),
        )
    ]
