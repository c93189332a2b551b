"""Nodes of Google Cloud: what GKE adds to nodes, system nodes, and the fabrics of Compute Engine."""

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import PoolPlan
from gpuyard.providers.gcp.capacity_zones import check_system_zones
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.pools import HostShape, Pool, System
from gpuyard.spec.sections import Provisioning
from gpuyard_core.catalogue.fabric import ASAPD_LITE, GPUDIRECT
from gpuyard_core.catalogue.gke.nodes import ARM_UNTAINTED_SINCE, is_arm_host, is_metal
from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.catalogue.node_pools import added_taints
from gpuyard_core.catalogue.software.pins import is_before
from gpuyard_core.findings import Diagnostic, Fix, Path, error, warning
from gpuyard_core.manifests.pods import Taint

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
