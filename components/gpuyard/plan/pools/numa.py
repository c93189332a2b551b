"""NUMA: how strictly the kubelet aligns a pod's CPUs, memory and GPUs to one NUMA node."""

from collections.abc import Sequence

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import PoolPlan, ShapePlan
from gpuyard.spec.pools import Pool
from gpuyard.spec.sections import Numa
from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.findings import Diagnostic, Fix, Path, error, warning


def plan_numa(pool: Pool, machine: Machine) -> Numa:
    """The policy of the stack file, else `restricted` if the NUMA nodes are known, else none."""
    if pool.numa is not None:
        return pool.numa
    return Numa.RESTRICTED if machine.numa_nodes else Numa.NONE


def check_numa(draft: Draft) -> list[Diagnostic]:
    """With `single-numa-node` the kubelet rejects pods that need two NUMA nodes: no shape may be one."""
    findings: list[Diagnostic] = []
    for index, one in enumerate(draft.spec.pools):
        pool = draft.pools.get(one.name)
        if pool is None or one.numa is not Numa.SINGLE:
            continue
        path: Path = ("pools", index, "numa")
        result = _too_wide(pool, draft.shapes, path) or _risk(pool, path)
        findings += [result] if result else []
    return findings


def _in_one(pool: PoolPlan) -> int | None:
    """The maximum number of GPUs in one NUMA node; None if unknown."""
    nodes = pool.machine.numa_nodes
    return pool.machine.gpus_in_numa or (pool.gpus_per_node // nodes if nodes else None)


def _parts(pool: PoolPlan, most: int) -> str:
    uneven = "at most " if pool.machine.gpus_in_numa else ""
    return f"{pool.machine.name} has {pool.machine.numa_nodes} NUMA nodes with {uneven}{most} GPUs each"


def _too_wide(pool: PoolPlan, shapes: Sequence[ShapePlan], path: Path) -> Diagnostic | None:
    most = _in_one(pool)
    whole_gpus = pool.find_advertised_resource("")
    mine = [
        s
        for s in shapes
        if s.pool == pool.name and whole_gpus and s.resource == whole_gpus.resource
    ]
    wide = max(mine, key=lambda s: s.per_node, default=None)
    if most is None or wide is None or wide.per_node <= most:
        return None
    return error(
        "numa.single_node",
        path,
        f"{_parts(pool, most)}; a pod of shape {wide.name} needs {wide.per_node}, and the kubelet would"
        " reject it",
        given="single-numa-node",
        allowed=f"restricted, or pods with at most {most} GPUs",
        fix=Fix(message="write restricted", at=path, value="restricted"),
    )


def _risk(pool: PoolPlan, path: Path) -> Diagnostic | None:
    most = _in_one(pool)
    if pool.gpus_per_node in {1, most}:
        return None
    why = (
        f"the number of NUMA nodes of {pool.machine.name} is unknown"
        if most is None
        else _parts(pool, most)
    )
    bound = "more GPUs than one of them has" if most is None else f"more than {most} GPUs"
    return warning(
        "numa.single_node",
        path,
        f"{why}: the kubelet rejects every pod with {bound}, and the job fails",
        given="single-numa-node",
        allowed="restricted, which aligns where possible and rejects no pod that needs a whole node",
        fix=Fix(message="write restricted", at=path, value="restricted"),
    )
