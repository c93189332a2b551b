"""Workloads that must be able to start: which pool can, and from how many nodes."""

from gpuyard.catalogue.machines import Machine
from gpuyard.findings import Finding, Fix, Path
from gpuyard.plan.names import SHARED_UNIT
from gpuyard.plan.pools import Pools
from gpuyard.plan.records import Advertised, PoolPlan, ShapePlan
from gpuyard.plan.refusals import refuse
from gpuyard.plan.renames import rename_fix
from gpuyard.spec.nearest import nearest
from gpuyard.spec.platform import PerPod, PlatformSpec, Shape


def plan_shapes(spec: PlatformSpec, pools: Pools) -> tuple[list[ShapePlan], list[Finding]]:
    """Where each shape starts, or for every pool that was considered why it cannot."""
    found: list[ShapePlan] = []
    findings: list[Finding] = []
    names: set[str] = set()
    for index, shape in enumerate(spec.shapes):
        path: Path = ("shapes", index)
        if shape.name in names:
            taken = [s.name for s in spec.shapes]
            findings.append(
                refuse(
                    "shape.duplicate",
                    (*path, "name"),
                    "another shape has the name",
                    given=shape.name,
                    allowed="a name of its own for each shape",
                    fix=rename_fix(shape.name, (), taken, path),
                )
            )
        names.add(shape.name)
        plan, problem = _plan_shape(shape, pools, path)
        if problem:
            findings.append(problem)
        elif plan:
            found.append(plan)
    return found, findings


def _plan_shape(shape: Shape, pools: Pools, path: Path) -> tuple[ShapePlan | None, Finding | None]:
    if shape.pool is not None and shape.pool not in pools:
        near = nearest(shape.pool, list(pools))
        fix = Fix(says=f"write {near}", at=(*path, "pool"), value=near) if near else None
        return None, refuse(
            "shape.unknown_pool",
            (*path, "pool"),
            "no pool of that name",
            given=shape.pool,
            allowed=", ".join(pools),
            fix=fix,
        )
    considered = [p for name, p in pools.items() if shape.pool in {None, name}]
    candidates = [p for p in considered if p is not None]
    if len(candidates) < len(considered):
        return None, None  # a candidate is refused itself; this shape cannot be judged yet
    reasons: list[str] = []
    for pool in candidates:
        offer, why = _offer(shape, pool)
        if offer:
            per_node = shape.gpus_per_node or 1
            from_zero = pool.start_nodes < shape.nodes
            return ShapePlan(
                shape.name, pool.name, offer.resource, per_node, shape.nodes, from_zero
            ), None
        reasons.append(f"{pool.name}: {why}")
    return None, refuse(
        "shape.cannot_start",
        path,
        "no pool can start it: " + "; ".join(reasons),
        given=_wanted(shape),
        allowed="what the nodes of a pool hold",
        fix=_nearest_shape(shape, candidates, path),
    )


def _wanted(shape: Shape) -> str:
    times = f"{shape.nodes} nodes × " if shape.nodes > 1 else ""
    if shape.gpus_per_node:
        return f"{times}{shape.gpus_per_node} GPUs"
    pod = shape.per_pod
    what = "" if pod is None else pod.slice or f"{pod.shares} shares"
    return f"{times}{what}"


def _offer(shape: Shape, pool: PoolPlan) -> tuple[Advertised | None, str]:
    """The resource the shape takes in this pool, or why it cannot."""
    if shape.nodes > pool.nodes.high:
        return None, f"at most {pool.nodes.high} nodes, {shape.nodes} wanted"
    if shape.per_pod is None:
        whole = pool.unit("")
        wanted = shape.gpus_per_node or 0
        if whole is None:
            return None, f"no whole GPUs ({pool.sharing})"
        return (
            (whole, "")
            if wanted <= whole.per_node
            else (None, f"{whole.per_node} GPUs a node, {wanted} wanted")
        )
    return _fraction(shape.per_pod, pool)


def _fraction(pod: PerPod, pool: PoolPlan) -> tuple[Advertised | None, str]:
    unit = pod.slice or SHARED_UNIT
    offer = pool.unit(unit)
    if pod.slice == SHARED_UNIT:
        return None, f"`{SHARED_UNIT}` is no slice, write shares: 1"
    if offer is None:
        has = ", ".join(a.unit or "whole GPUs" for a in pool.advertised)
        return None, f"no {unit} (it has {has})"
    if pod.shares and pod.shares > 1:
        return (
            None,
            f"{pod.shares} shares wanted, but a pod gets one: more would be turns on the same GPU",
        )
    machine = pool.machine
    if pod.cpu > machine.vcpus or pod.memory_gib > machine.memory_gib:
        return None, f"{_size(machine)} a node, {pod.cpu} CPUs and {pod.memory_gib} GiB wanted"
    return offer, ""


def _size(machine: Machine) -> str:
    return f"{machine.vcpus} CPUs and {machine.memory_gib} GiB"


def _nearest_shape(shape: Shape, pools: list[PoolPlan], path: Path) -> Fix | None:
    """The smallest change after which a pool can start it: one word of it, else two."""
    changes = [c for pool in pools for c in _changes(shape, pool)]
    for change in sorted(changes, key=len):
        if any(_offer(_changed(shape, change), pool)[0] for pool in pools):
            return _as_fix(shape, change, path)
    return None


_Change = dict[tuple[str, ...], int | str]
"""New values by where they stand in the shape."""


def _changes(shape: Shape, pool: PoolPlan) -> list[_Change]:
    """What would have to change to start in this pool, and only that."""
    change: _Change = {}
    if shape.nodes > pool.nodes.high > 0:
        change["nodes",] = pool.nodes.high
    whole, pod = pool.unit(""), shape.per_pod
    if shape.gpus_per_node and whole and shape.gpus_per_node > whole.per_node:
        change["gpus_per_node",] = whole.per_node
    if pod and pod.shares and pod.shares > 1:
        change["per_pod", "shares"] = 1
    if pod and pod.slice and pool.unit(pod.slice) is None:
        near = nearest(pod.slice, [a.unit for a in pool.advertised])
        if near is not None:
            change["per_pod", "slice"] = near
    if pod and pod.cpu > pool.machine.vcpus:
        change["per_pod", "cpu"] = pool.machine.vcpus
    if pod and pod.memory_gib > pool.machine.memory_gib:
        change["per_pod", "memory_gib"] = pool.machine.memory_gib
    return [change] if change else []


def _changed(shape: Shape, change: _Change) -> Shape:
    pod = {where[1]: value for where, value in change.items() if len(where) > 1}
    top: dict[str, object] = {where[0]: value for where, value in change.items() if len(where) == 1}
    if shape.per_pod and pod:
        top["per_pod"] = shape.per_pod.model_copy(update=pod)
    return shape.model_copy(update=top)


def _as_fix(shape: Shape, change: _Change, path: Path) -> Fix:
    says = ", ".join(f"{where[-1]}: {value}" for where, value in change.items())
    if len(change) == 1:
        where, value = next(iter(change.items()))
        return Fix(says=f"write {says}", at=(*path, *where), value=value)
    whole = _changed(shape, change).model_dump(mode="json", exclude_none=True)
    return Fix(says=f"write {says}", at=path, value=whole)
