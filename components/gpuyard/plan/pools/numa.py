"""NUMA: how strictly the kubelet keeps a pod's CPUs, memory and GPUs in one part of the machine."""

from collections.abc import Sequence

from gpuyard.catalogue.machines import Machine
from gpuyard.findings import Finding, Fix, Path, error, warning
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import PoolPlan, ShapePlan
from gpuyard.spec.pools import Pool
from gpuyard.spec.sections import Numa


def plan_numa(pool: Pool, machine: Machine) -> Numa:
    """What was asked for, else `restricted` where the NUMA nodes are known, else none."""
    if pool.numa is not None:
        return pool.numa
    return Numa.RESTRICTED if machine.numa_nodes else Numa.NONE


def check_numa(draft: Draft) -> list[Finding]:
    """`single-numa-node` refuses each pod that needs two NUMA nodes: no shape may be such a pod."""
    findings: list[Finding] = []
    for index, one in enumerate(draft.spec.pools):
        pool = draft.pools.get(one.name)
        if pool is None or one.numa is not Numa.SINGLE:
            continue
        path: Path = ("pools", index, "numa")
        result = _too_wide(pool, draft.shapes, path) or _risk(pool, path)
        findings += [result] if result else []
    return findings


def _in_one(pool: PoolPlan) -> int | None:
    """The most GPUs of one NUMA node; None when nobody has seen how many there are."""
    nodes = pool.machine.numa_nodes
    return pool.machine.gpus_in_numa or (pool.gpus_per_node // nodes if nodes else None)


def _parts(pool: PoolPlan, most: int) -> str:
    uneven = "at most " if pool.machine.gpus_in_numa else ""
    return f"{pool.machine.name} has {pool.machine.numa_nodes} NUMA nodes with {uneven}{most} GPUs each"


def _too_wide(pool: PoolPlan, shapes: Sequence[ShapePlan], path: Path) -> Finding | None:
    most = _in_one(pool)
    whole_gpus = pool.unit("")
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
        f"{_parts(pool, most)}; a pod of shape {wide.name} takes {wide.per_node}, and the kubelet would"
        " refuse it",
        value="single-numa-node",
        allowed=f"restricted, or pods with at most {most} GPUs",
        fix=Fix(message="write restricted", at=path, value="restricted"),
    )


def _risk(pool: PoolPlan, path: Path) -> Finding | None:
    most = _in_one(pool)
    if pool.gpus_per_node in {1, most}:
        return None
    why = (
        f"how many NUMA nodes {pool.machine.name} has is not known"
        if most is None
        else _parts(pool, most)
    )
    bound = "more GPUs than one of them has" if most is None else f"more than {most} GPUs"
    return warning(
        "numa.single_node",
        path,
        f"{why}: the kubelet refuses every pod with {bound}, and the job fails",
        value="single-numa-node",
        allowed="restricted: it aligns what can be aligned, and refuses no whole node",
        fix=Fix(message="write restricted", at=path, value="restricted"),
    )
