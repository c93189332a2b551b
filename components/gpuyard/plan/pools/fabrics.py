"""Fabrics between nodes: the zone of GKE's networks, and the NCCL settings of each fabric."""

from gpuyard.catalogue.cluster.nccl import ADAPTERS, RECORDS
from gpuyard.catalogue.fabric import ASAPD_LITE, GPUDIRECT, direct_fabric
from gpuyard.catalogue.gke.nodes import is_metal
from gpuyard.catalogue.machines import Machine
from gpuyard.findings import Finding, Fix, Path, warning
from gpuyard.names import RDMA
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import NcclPlan, PoolPlan
from gpuyard.spec.platform import Cloud
from gpuyard.spec.pools import Pool
from gpuyard.spec.sections import FabricKind, FabricSpec, RdmaPlugin

SHARED_BY = 100
"""How many pods of a node may share its adapters: more than a node can have GPUs."""


def check_fabric_zones(draft: Draft) -> list[Finding]:
    """An RDMA network is in one zone: nodes that may start in several zones can have no interface in it."""
    if draft.spec.cloud is not Cloud.GCP:
        return []
    pools = [(index, draft.pools.get(one.name)) for index, one in enumerate(draft.spec.pools)]
    return [
        _no_fabric(pool, machine, fabric, ("pools", index, "zones"))
        for index, pool in pools
        if pool and pool.nodes.high > 1 and len(pool.zones) != 1
        for machine, fabric in _single_zone_fabrics(pool)[:1]
    ]


def check_asapd_lite(draft: Draft) -> list[Finding]:
    """Warn that RDMA on GKE bare metal needs a DaemonSet that gpuyard does not render."""
    if draft.spec.cloud is not Cloud.GCP:
        return []
    pools = [(index, draft.pools.get(one.name)) for index, one in enumerate(draft.spec.pools)]
    return [
        warning(
            "fabric.asapd_lite",
            ("pools", index, "machine"),
            f"the MRDMA NICs of {pool.machine.name} have no RDMA until the DaemonSet asapd-lite"
            " configures them, and gpuyard does not install it",
            value=pool.machine.name,
            allowed="a pool of one node, or asapd-lite on every node of the pool",
            fix=Fix(
                message=f"apply {ASAPD_LITE} of GoogleCloudPlatform/container-engine-accelerators in kube-system"
            ),
        )
        for index, pool in pools
        if pool and pool.nodes.high > 1 and is_metal(pool.machine.name)
    ]


def _single_zone_fabrics(pool: PoolPlan) -> list[tuple[str, str]]:
    """Machines of a pool whose fabric is a network of one zone, with the name of the fabric."""
    results = ((name, GPUDIRECT.get(name)) for name in pool.machines)
    return [(name, direct.name) for name, direct in results if direct and direct.profile]


def _no_fabric(pool: PoolPlan, machine: str, fabric: str, path: Path) -> Finding:
    first = pool.zones[0] if pool.zones else None
    return warning(
        "fabric.one_zone",
        path,
        f"the network of {fabric} covers one zone: {machine} nodes that may start in several zones have no"
        " interface in it, and their GPUs communicate through TCP only",
        value=", ".join(pool.zones) or "any zone of the region",
        allowed="one zone; nodes in other zones need their own pool",
        fix=Fix(message=f"write zones: [{first}]", at=path, value=[first])
        if first
        else Fix(message="add zones: [ZONE] with a zone that offers the machine"),
    )


def plan_nccl(pool: Pool, machine: Machine) -> NcclPlan | None:
    """The NCCL settings of the pool's fabric, with the adapters that the stack file names."""
    direct = direct_fabric(machine)
    name = pool.fabric.kind.value if pool.fabric else direct.name if direct else ""
    record = RECORDS.get(name)
    if record is None or pool.nodes.high == 1:
        return None
    variables = dict(record.variables)
    if pool.fabric and pool.fabric.hcas:
        variables[ADAPTERS] = f"={','.join(pool.fabric.hcas)}"
    needs = record.needs
    if uses_rdma_device_plugin(pool.fabric):
        needs = f"{needs}; {RDMA}: 1 among the limits of the container"
    return NcclPlan(fabric=record.fabric, variables=variables, script=record.script, needs=needs)


def uses_rdma_device_plugin(fabric: FabricSpec | None) -> bool:
    """Whether gpuyard's device plugin gives a pool's adapters to pods that request them, on one node too."""
    if fabric is None or fabric.kind is FabricKind.ETHERNET:
        return False
    return fabric.plugin is RdmaPlugin.DEVICE_PLUGIN
