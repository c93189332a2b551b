"""One node of a node pool: machine, GPUs, disks, boot options and kubelet settings."""

from typing import Any

from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.plan.sharing.gke_sharing import partition_of, strategy_of
from gpuyard.render.cloud.spelling import EFFECTS
from gpuyard.render.gcp.capacity_options import OptionPool
from gpuyard.render.gcp.fabric import claims_cards
from gpuyard.render.gcp.place import GcpNodePoolInputs, resource_labels
from gpuyard.spec.sections import Numa
from gpuyard_core.catalogue.gke.nodes import (
    DRANET_LABELS,
    DRIVER_BY,
    METAL_HUGE_PAGES,
    METAL_LABELS,
    NO_DRIVER,
    NODE_SCOPE,
    QUEUED_LABELS,
    UNSIGNED_DRIVER,
    boot_disk,
    is_arm_host,
    is_metal,
    local_ssds,
)
from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.catalogue.node_pools import added_taints
from gpuyard_core.catalogue.purchasing import FLEX_START
from gpuyard_core.catalogue.software.images import SoftwarePart
from gpuyard_core.manifests.pods import Taint
from gpuyard_core.names import POOL_LABEL, SYSTEM_POOL

DISK_GIB = 200
"""Images of GPU frameworks are large."""
_COS = "COS_CONTAINERD"


def gpu_node(
    plan: PlatformPlan, pool: PoolPlan, group: OptionPool, foundation: GcpNodePoolInputs
) -> dict[str, Any]:
    """`nodeConfig` of a capacity option of a pool."""
    machine = group.machine
    metal = is_metal(machine.name)
    image = pool.node_software.variant if pool.node_software else _COS
    disk = next((p.disk_gib for p in plan.spec.pools if p.name == pool.name), None)
    return {
        **_base(plan, pool.stable_name, foundation, image, disk or DISK_GIB, machine.type_name),
        "guestAccelerators": [_accelerator(pool, machine)],
        "labels": {**pool.labels, **_labels(pool, group)},
        "taints": _taints(plan, pool, group),
        **_bought(group),
        **_local_disks(machine),
        **({} if metal or image != _COS else {"gvnic": {"enabled": True}}),
        **({"linuxNodeConfig": _huge_pages(METAL_HUGE_PAGES)} if metal else {}),
        "shieldedInstanceConfig": {
            "enableSecureBoot": not metal and _owner(pool) not in UNSIGNED_DRIVER,
            "enableIntegrityMonitoring": not metal,
        },
        "kubeletConfig": _kubelet(pool.numa),
    }


def system_node(plan: PlatformPlan, machine: str, foundation: GcpNodePoolInputs) -> dict[str, Any]:
    """`nodeConfig` of nodes without GPUs. Controllers tolerate no taint, so that Arm nodes get none.

    The field is set only for Arm nodes: GKE taints them by default, and an older GKE does not know
    the field.
    """
    return {
        **_base(plan, SYSTEM_POOL, foundation, _COS, 100, machine),
        "labels": {POOL_LABEL: SYSTEM_POOL},
        **({"taintConfig": {"architectureTaintBehavior": "NONE"}} if is_arm_host(machine) else {}),
        "reservationAffinity": {"consumeReservationType": "NO_RESERVATION"},
        "gvnic": {"enabled": True},
        "shieldedInstanceConfig": {"enableSecureBoot": True, "enableIntegrityMonitoring": True},
        "kubeletConfig": _kubelet(Numa.NONE),
    }


def _base(
    plan: PlatformPlan,
    part: str,
    foundation: GcpNodePoolInputs,
    image: str,
    disk: int,
    machine: str,
) -> dict[str, Any]:
    return {
        "machineType": machine,
        "imageType": image,
        "diskType": boot_disk(machine),
        "diskSizeGb": int(disk),
        "bootDiskKmsKey": foundation.key,
        "serviceAccount": foundation.account,
        "oauthScopes": [NODE_SCOPE],
        "workloadMetadataConfig": {"mode": "GKE_METADATA"},
        "metadata": {"disable-legacy-endpoints": "true"},
        "resourceLabels": resource_labels(plan, part),
    }


# ── GPUs ──────────────────────────────────────────────────────────────────────────────────────────
def _owner(pool: PoolPlan) -> str:
    """The component that installs the driver."""
    software = pool.node_software
    return software.owners[SoftwarePart.DRIVER.value] if software else ""


def _accelerator(pool: PoolPlan, machine: Machine) -> dict[str, Any]:
    """Whole GPUs, unless GKE's own device plugin partitions or shares them."""
    version = DRIVER_BY.get(_owner(pool), NO_DRIVER)
    return {
        "type": machine.accelerator,
        "count": machine.gpus,
        "gpuDriverInstallationConfig": {"gpuDriverVersion": version},
        **_cut_and_shared(pool),
    }


def _cut_and_shared(pool: PoolPlan) -> dict[str, Any]:
    size, strategy = partition_of(pool), strategy_of(pool)
    shared = {"gpuSharingStrategy": strategy, "maxSharedClientsPerGpu": pool.replicas}
    return {
        **({"gpuPartitionSize": size} if size else {}),
        **({"gpuSharingConfig": shared} if strategy else {}),
    }


def _labels(pool: PoolPlan, group: OptionPool) -> dict[str, str]:
    return {
        **(DRANET_LABELS if claims_cards(pool, group.machine) else {}),
        **(METAL_LABELS if is_metal(group.machine.name) else {}),
        **(QUEUED_LABELS if group.purchase.queued else {}),
    }


def _taints(plan: PlatformPlan, pool: PoolPlan, group: OptionPool) -> list[dict[str, str]]:
    """Taints in the API's format, without those that GKE adds itself: it would add them twice."""
    added = {Taint(*each) for each in added_taints(group.machine, queued=group.purchase.queued)}
    return [
        {"key": taint.key, "value": taint.value, "effect": EFFECTS[taint.effect]}
        for taint in plan.initial_taints(pool)
        if taint not in added
    ]


# ── purchase ──────────────────────────────────────────────────────────────────────────────────────
def _bought(group: OptionPool) -> dict[str, Any]:
    bought, reservation = group.purchase, group.option.reservation
    affinity: dict[str, Any] = {"consumeReservationType": bought.reservation_type}
    if reservation:
        affinity |= {"key": "compute.googleapis.com/reservation-name", "values": [reservation]}
    flex = {"flexStart": True, "maxRunDuration": f"{FLEX_START.hours * 3600}s"}
    return {
        "reservationAffinity": affinity,
        **({"spot": True} if bought.spot else {}),
        **(flex if bought.flex_start else {}),
    }


def _local_disks(machine: Machine) -> dict[str, Any]:
    """All local disks together are the ephemeral storage of pods, instead of the boot disk."""
    count = local_ssds(machine)
    return {"ephemeralStorageLocalSsdConfig": {"localSsdCount": count}} if count else {}


# ── kubelet and kernel ────────────────────────────────────────────────────────────────────────────
def _kubelet(numa: Numa) -> dict[str, Any]:
    """CPUs can be aligned with GPUs only if a pod has them exclusively."""
    policy = {
        "cpuManagerPolicy": "static",
        "topologyManager": {"policy": numa.value, "scope": "container"},
    }
    return {
        "insecureKubeletReadonlyPortEnabled": "FALSE",
        **({} if numa is Numa.NONE else policy),
    }


def _huge_pages(count: int) -> dict[str, Any]:
    return {"hugepagesConfig": {"hugepageSize2m": count}}
