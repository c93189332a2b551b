"""Capacity of Google Cloud: how Compute Engine sells nodes, and what GKE's autoscaler knows of them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpuyard.plan.capacity.capacity_checks import check_reservation_id
from gpuyard.plan.capacity.capacity_options import (
    format_batch,
    gke_machine_count,
    gke_node_pool_limits,
    is_placed_together,
    max_nodes,
    node_count,
    upgrade_settings,
)
from gpuyard.plan.capacity.scaling import check_blind, miscounted, scaling_of
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import AdvertisedResources, AutoscalerHints, CapacityOption, PoolPlan
from gpuyard.plan.records.pools import UpgradePlan
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import CapacityOptionSpec, HostShape, Pool, Scaling, System
from gpuyard.spec.sections import Provisioning
from gpuyard_core.catalogue.fabric import ASAPD_LITE, GPUDIRECT
from gpuyard_core.catalogue.gke.classes import STAYS
from gpuyard_core.catalogue.gke.maintenance import DRAIN_MINUTES, MOST_AT_ONCE
from gpuyard_core.catalogue.gke.nodes import (
    ARM_UNTAINTED_SINCE,
    REGIONAL_ZONES,
    is_arm_host,
    is_metal,
)
from gpuyard_core.catalogue.machines import Capacity, Machine
from gpuyard_core.catalogue.node_pools import (
    added_taints,
    gke_capacity_settings,
    max_nodes_per_pool,
    may_be_compact,
    workload_policy,
)
from gpuyard_core.catalogue.purchasing import CALENDAR, FLEX_START, GCE_RESERVATION
from gpuyard_core.catalogue.software.pins import is_before
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, info, warning
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


def plan_upgrade(pool: Pool) -> UpgradePlan:
    """One node at a time by default, which is deleted when its pods have had their time."""
    upgrade = pool.upgrade
    unavailable = upgrade.max_unavailable or (0 if upgrade.max_surge else 1)
    at_once = format_batch(pool, node_count(unavailable), node_count(upgrade.max_surge))
    if upgrade.blue_green:
        at_once = "all new nodes alongside all old ones"
    return upgrade_settings(pool, unavailable, DRAIN_MINUTES, at_once)


def unsupported_upgrade_fields(pool: Pool, machine: Machine) -> Iterator[tuple[str, str, str]]:
    """The field, why it has no effect, and what is allowed."""
    upgrade = pool.upgrade
    if upgrade.force:
        yield "force", "GKE always continues after the drain time", "drain_minutes"
    if upgrade.blue_green:
        for word in ("max_unavailable", "max_surge"):
            if getattr(upgrade, word):
                yield word, "blue_green creates all new nodes at once", "blue_green only"
        if any(placement(pool, machine, option) != "none" for option in pool.capacity):
            why = "nodes with compact placement cannot be created twice"
            yield "blue_green", why, "max_unavailable, or a pool without compact placement"
    elif (upgrade.max_unavailable or 0) + upgrade.max_surge > MOST_AT_ONCE:
        word = "max_surge" if upgrade.max_surge else "max_unavailable"
        yield word, f"GKE replaces at most {MOST_AT_ONCE} at once", f"{MOST_AT_ONCE} together"
    if all(option.mode is Capacity.FLEX_START for option in pool.capacity):
        for word in ("max_unavailable", "max_surge", "blue_green"):
            if getattr(upgrade, word):
                why = "GKE upgrades flex-start nodes only when they end and are replaced"
                yield word, why, "drain_minutes"


# A pool of GPUs that would start with more nodes than its maximum is rejected; for system nodes it is
# reported.


def check_zone_counts(spec: PlatformSpec, pool: Pool, path: Path) -> list[Diagnostic]:
    """A pool that starts with nodes has one in each zone, which may exceed its maximum."""
    named = pool.zones or _zones(spec)
    zones, most = len(named) or REGIONAL_ZONES, pool.nodes.high
    if not pool.nodes.low or most >= zones:
        return []
    fewer = list(named[:most])
    return [
        error(
            "capacity.each_zone",
            (*path, "zones") if pool.zones else (*path, "nodes"),
            f"GKE creates one node in each zone first, {zones} here, but the pool may have {most}",
            given=", ".join(pool.zones) or f"{pool.nodes} in any of {zones} zones",
            allowed=f"at most {most} {'zones' if most > 1 else 'zone'}, or nodes: 0..{most}",
            fix=Fix(message=f"write zones: [{', '.join(fewer)}]", at=(*path, "zones"), value=fewer)
            if fewer
            else Fix(
                message="add zones: with zones that sell the machine, at most as many as the pool has nodes"
            ),
        )
    ]


def check_system_zones(spec: PlatformSpec, nodes: Range) -> list[Diagnostic]:
    """System nodes are spread over all zones of the cluster, and start with one in each."""
    zones = len(_zones(spec)) or REGIONAL_ZONES
    if not nodes.low or nodes.high >= zones:
        return []
    return [
        info(
            "system.each_zone",
            ("system", "nodes"),
            f"GKE creates one node in each zone first: {zones} run and are billed, but the bill counts"
            f" {nodes}",
            given=str(nodes),
            allowed=f"{zones} or more, or fewer zones for the cluster",
            fix=Fix(message=f"write {zones}", at=("system", "nodes"), value=zones),
        )
    ]


def _zones(spec: PlatformSpec) -> tuple[str, ...]:
    """The zones that the stack file names for the cluster."""
    return spec.cluster.zones if spec.cluster else ()


SYSTEM_MACHINE = "e2-standard-4"


def node_taints(pool: Pool, machine: Machine) -> tuple[Taint, ...]:
    """The taints of Arm nodes and of queued provisioning."""
    queued = pool.provisioning is Provisioning.QUEUED
    return tuple(Taint(*each) for each in added_taints(machine, queued=queued))


# ── system nodes ──────────────────────────────────────────────────────────────────────────────────
def check_system(spec: PlatformSpec, system: System) -> list[Diagnostic]:
    """Check the zones in which system nodes start, and that Arm nodes have no taint."""
    return [*check_system_zones(spec, system.nodes), *_arm_too_early(spec, system.machine)]


def _arm_too_early(spec: PlatformSpec, machine: str | HostShape) -> list[Diagnostic]:
    """Before this version, GKE taints all Arm nodes, and no controller tolerates the taint."""
    taints_arm = is_before(spec.kubernetes, ARM_UNTAINTED_SINCE)
    if not taints_arm or not isinstance(machine, str) or not is_arm_host(machine):
        return []
    path: Path = ("system", "machine")
    return [
        error(
            "system.arm_taint",
            path,
            f"GKE {spec.kubernetes} taints every Arm node, and controllers do not tolerate the taint:"
            " they could not be scheduled",
            given=machine,
            allowed=f"an x86 machine, or kubernetes {ARM_UNTAINTED_SINCE} or newer",
            fix=Fix(message=f"write {SYSTEM_MACHINE}", at=path, value=SYSTEM_MACHINE),
        )
    ]


# ── fabrics ───────────────────────────────────────────────────────────────────────────────────────
def check_fabrics(draft: Draft) -> list[Diagnostic]:
    """Check that nodes of a pool have interfaces in its network, and RDMA."""
    findings: list[Diagnostic] = []
    for index, one in enumerate(draft.spec.pools):
        pool = draft.pools.get(one.name)
        if pool and pool.nodes.high > 1:
            findings += _check_one_zone(pool, ("pools", index, "zones"))
            findings += _check_asapd_lite(pool, ("pools", index, "machine"))
    return findings


def _check_one_zone(pool: PoolPlan, path: Path) -> list[Diagnostic]:
    """An RDMA network is in one zone: nodes that may start in several zones can have no interface in it."""
    results = ((name, GPUDIRECT.get(name)) for name in pool.machines)
    fabrics = [(name, direct.name) for name, direct in results if direct and direct.profile]
    if not fabrics or len(pool.zones) == 1:
        return []
    (machine, fabric), first = fabrics[0], next(iter(pool.zones), None)
    return [
        warning(
            "fabric.one_zone",
            path,
            f"the network of {fabric} covers one zone: {machine} nodes that may start in several zones have no"
            " interface in it, and their GPUs communicate through TCP only",
            given=", ".join(pool.zones) or "any zone of the region",
            allowed="one zone; nodes in other zones need their own pool",
            fix=Fix(message=f"write zones: [{first}]", at=path, value=[first])
            if first
            else Fix(message="add zones: [ZONE] with a zone that offers the machine"),
        )
    ]


def _check_asapd_lite(pool: PoolPlan, path: Path) -> list[Diagnostic]:
    """Warn that RDMA on GKE bare metal needs a DaemonSet that gpuyard does not render."""
    machine = pool.machine.name
    if not is_metal(machine):
        return []
    return [
        warning(
            "fabric.asapd_lite",
            path,
            f"the MRDMA NICs of {machine} have no RDMA until the DaemonSet asapd-lite configures them, and"
            " gpuyard does not install it",
            given=machine,
            allowed="a pool of one node, or asapd-lite on every node of the pool",
            fix=Fix(
                message=f"apply {ASAPD_LITE} of GoogleCloudPlatform/container-engine-accelerators in kube-system"
            ),
        )
    ]
