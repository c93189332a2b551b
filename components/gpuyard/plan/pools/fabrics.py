"""Fabrics between nodes: the NCCL settings of each fabric."""

from gpuyard.plan.records import NcclPlan
from gpuyard.spec.pools import Pool
from gpuyard.spec.sections import FabricKind, FabricSpec, RdmaPlugin
from gpuyard_core.catalogue.cluster.nccl import ADAPTERS, RECORDS
from gpuyard_core.catalogue.fabric import direct_fabric
from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.names import RDMA

SHARED_BY = 100
"""How many pods of a node may share its adapters: more than a node can have GPUs."""


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
