"""Workloads that must be able to start: which pool can, and from how many nodes."""

from gpuyard.catalogue.machines import Machine
from gpuyard.findings import Finding, Fix, Path
from gpuyard.plan.pools import Pools
from gpuyard.plan.records import Advertised, PoolPlan, ShapePlan
from gpuyard.plan.refusals import refuse
from gpuyard.spec.platform import PerPod, PlatformSpec, Shape
from gpuyard.spec.problems import nearest


def plan_shapes(spec: PlatformSpec, pools: Pools) -> tuple[list[ShapePlan], list[Finding]]:
    """Where each shape starts, or for every pool that was considered why it cannot."""
    found: list[ShapePlan] = []
    findings: list[Finding] = []
    names: set[str] = set()
    for index, shape in enumerate(spec.shapes):
        path: Path = ("shapes", index)
        if shape.name in names:
            findings.append(
                refuse("shape.duplicate", (*path, "name"), "the name is taken", given=shape.name)
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
    candidates = [p for name, p in pools.items() if shape.pool in {None, name}]
    if None in candidates:
        return None, None  # a candidate is refused itself; this shape cannot be judged yet
    reasons: list[str] = []
    for pool in candidates:
        if pool is None:
            continue
        offer, why = _offer(shape, pool)
        if offer:
            per_node = shape.gpus_per_node or (shape.per_pod.shares if shape.per_pod else None) or 1
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
        fix=_nearest_shape(shape, [p for p in candidates if p], path),
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
    unit = pod.slice or "shared"
    offer = pool.unit(unit)
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
    """The nearest change: fewer nodes or GPUs, the pool that has the slice, or a slice that exists."""
    if shape.pool is not None:
        return _within(shape, pools[0], path)
    if shape.per_pod and (shape.per_pod.shares or 0) > 1:
        return Fix(says="shares: 1", at=(*path, "per_pod", "shares"), value=1)
    if shape.per_pod and shape.per_pod.slice:
        units = [a.unit for p in pools for a in p.advertised if a.unit]
        near = nearest(shape.per_pod.slice, units)
        return (
            Fix(says=f"ask for {near}", at=(*path, "per_pod", "slice"), value=near)
            if near
            else None
        )
    whole = [p for p in pools if p.unit("") is not None and p.nodes.high]
    return (
        _within(shape, max(whole, key=lambda p: p.gpus_per_node * p.nodes.high), path)
        if whole
        else None
    )


def _within(shape: Shape, pool: PoolPlan, path: Path) -> Fix | None:
    if shape.nodes > pool.nodes.high > 0:
        return Fix(says=f"nodes: {pool.nodes.high}", at=(*path, "nodes"), value=pool.nodes.high)
    whole = pool.unit("")
    if shape.gpus_per_node and whole and shape.gpus_per_node > whole.per_node:
        return Fix(
            says=f"gpus_per_node: {whole.per_node}",
            at=(*path, "gpus_per_node"),
            value=whole.per_node,
        )
    return None
