"""Workloads that must be able to start: which pool can, and from how many nodes."""

from collections.abc import Iterable, Iterator, Mapping

from gpuyard.findings import Finding, Fix, Path, error, format_list
from gpuyard.names import MOST_SHARES, SHARED_UNIT
from gpuyard.plan.draft import Draft
from gpuyard.plan.pools.pools import DecidedPools
from gpuyard.plan.records import Advertised, PoolPlan, ShapePlan
from gpuyard.plan.renames import rename_fix
from gpuyard.plan.sharing.fractions import (
    format_needs,
    gpu_fractions,
    larger_slice,
    smallest_fraction,
)
from gpuyard.spec.platform import Latency, PerPod, Shape
from gpuyard.spec.suggestions import nearest_name
from gpuyard.spec.values import Range


def check_shape_names(draft: Draft) -> list[Finding]:
    """Refuse a shape with the name of one before it."""
    names = [shape.name for shape in draft.spec.shapes]
    first = {name: index for index, name in reversed(list(enumerate(names)))}
    return [
        error(
            "shape.duplicate",
            ("shapes", index, "name"),
            "another shape has the name",
            value=shape.name,
            allowed="a name of its own for each shape",
            fix=rename_fix(shape, names, ("shapes", index)),
        )
        for index, shape in enumerate(draft.spec.shapes)
        if first[shape.name] < index
    ]


def start_of_shape(
    shape: Shape, pools: DecidedPools, positions: Mapping[str, int], path: Path
) -> tuple[ShapePlan | None, Finding | None]:
    """Where a shape starts, or for every pool that was considered why it cannot.

    Neither where a pool is refused itself: the shape cannot be judged yet.
    """
    if shape.pool is not None and shape.pool not in pools:
        suggestion = nearest_name(shape.pool, list(pools))
        message = f"write {suggestion}" if suggestion else "remove it: any pool that can hold it"
        fix = Fix(message=message, at=(*path, "pool"), value=suggestion)
        return None, error(
            "shape.unknown_pool",
            (*path, "pool"),
            "no pool of that name",
            value=shape.pool,
            allowed=format_list(pools),
            fix=fix,
        )
    considered = [p for name, p in pools.items() if shape.pool in {None, name}]
    candidates = [p for p in considered if p is not None]
    if len(candidates) < len(considered):
        return None, None
    starts, reasons = _starting_pool(shape, candidates)
    if starts:
        pool, offer = starts
        return shape_plan(shape, pool, offer), None
    return None, error(
        "shape.cannot_start",
        path,
        "no pool can start it: " + _reason(reasons),
        value=_expected(shape),
        allowed="what the nodes of a pool hold",
        fix=_larger_slice(shape, candidates, positions)
        or _nearest_shape(shape, candidates, path)
        or _one_node(shape, candidates, positions),
    )


def _starting_pool(
    shape: Shape, pools: list[PoolPlan]
) -> tuple[tuple[PoolPlan, Advertised] | None, dict[str, list[str]]]:
    """The first pool that can start it, or for what a pod needs the smallest piece of any; else why not."""
    results: list[tuple[tuple[float, float], PoolPlan, Advertised]] = []
    reasons: dict[str, list[str]] = {}
    for pool in pools:
        offer, why = offer_in_pool(shape, pool)
        if offer is None:
            reasons.setdefault(why, []).append(pool.name)
            continue
        if not (shape.per_pod and shape.per_pod.needs):
            return (pool, offer), reasons  # the first will do
        results.append((_piece_size(shape, pool), pool, offer))
    best = min(results, key=lambda x: x[0], default=None)  # the first of equals
    return (best[1:] if best else None), reasons


def _reason(reasons: Mapping[str, list[str]]) -> str:
    """Each reason once, after the pools that have it."""
    return "; ".join(f"{format_list(names)}: {why}" for why, names in reasons.items())


def _piece_size(shape: Shape, pool: PoolPlan) -> tuple[float, float]:
    piece = (
        smallest_fraction(shape.per_pod, pool) if shape.per_pod and shape.per_pod.needs else None
    )
    return piece.size if piece else (0, 0)


def candidate_pools(
    shape: Shape, pools: Iterable[PoolPlan]
) -> Iterator[tuple[PoolPlan, Advertised]]:
    """Every pool that can start it, with what it takes there, the best first."""
    if shape.per_pod and shape.per_pod.needs:
        pools = sorted(pools, key=lambda pool: _piece_size(shape, pool))
    for pool in pools:
        offer, _ = offer_in_pool(shape, pool)
        if offer is not None:
            yield pool, offer


def shape_plan(shape: Shape, pool: PoolPlan, offer: Advertised) -> ShapePlan:
    """Where it starts, and how many of its pods a node holds."""
    pod, per_node = shape.per_pod, shape.gpus_per_node or 1
    fits, bound = offer.per_node // per_node, ""
    if pod is not None:
        cpus, memory = (
            pool.allocatable.cpu // pod.cpu,
            pool.allocatable.memory_gib // pod.memory_gib,
        )
        if min(cpus, memory) < fits:
            fits, bound = (cpus, "CPU") if cpus <= memory else (memory, "memory")
    return ShapePlan(
        shape.name,
        pool.name,
        offer.resource,
        per_node,
        shape.nodes,
        pool.start_nodes < shape.nodes,
        pods_per_node=fits,
        bound_by=bound,
        needs=format_needs(pod) if pod and pod.needs else "",
    )


def _expected(shape: Shape) -> str:
    times = f"{shape.nodes} nodes × " if shape.nodes > 1 else ""
    if shape.gpus_per_node:
        return f"{times}{shape.gpus_per_node} GPUs"
    pod = shape.per_pod
    what = (
        format_needs(pod)
        if pod and pod.needs
        else ""
        if pod is None
        else pod.slice or f"{pod.shares} shares"
    )
    return f"{times}{what}"


def offer_in_pool(shape: Shape, pool: PoolPlan) -> tuple[Advertised | None, str]:
    """The resource the shape takes in this pool, or why it cannot."""
    if shape.nodes > pool.nodes.high:
        return None, f"at most {pool.nodes.high} nodes, {shape.nodes} wanted"
    offer, why = _fraction(shape.per_pod, pool) if shape.per_pod else _whole_gpu_offer(shape, pool)
    if (
        offer
        and offer.resource in pool.autoscaler_hints.undiscovered_resources
        and not pool.start_nodes
    ):
        return None, f"{_BLIND} {offer.resource} from a node that runs, and none does"
    return offer, why


_BLIND = "its autoscaler learns of"


def _whole_gpu_offer(shape: Shape, pool: PoolPlan) -> tuple[Advertised | None, str]:
    whole_gpus, wanted = pool.unit(""), shape.gpus_per_node or 0
    if whole_gpus is None:
        return None, f"no whole GPUs ({pool.sharing})"
    if wanted > whole_gpus.per_node:
        return None, f"{whole_gpus.per_node} GPUs a node, {wanted} wanted"
    return whole_gpus, ""


def _fraction(pod: PerPod, pool: PoolPlan) -> tuple[Advertised | None, str]:
    if pod.needs:
        piece = smallest_fraction(pod, pool)
        if piece is None:
            return None, _lacks(pod, pool)
        return _with_room(pod, pool, piece.offer)
    unit = pod.slice or SHARED_UNIT
    offer = pool.unit(unit)
    if pod.slice == SHARED_UNIT:
        return None, f"`{SHARED_UNIT}` is no slice, write shares: 1"
    if offer is None:
        has = ", ".join(a.unit or "whole GPUs" for a in pool.advertised)
        return None, f"no {unit} (it has {has})"
    if pod.shares and pod.shares > MOST_SHARES:
        return (
            None,
            f"{pod.shares} shares wanted, but a pod gets one: more would be turns on the same GPU",
        )
    return _with_room(pod, pool, offer)


def _lacks(pod: PerPod, pool: PoolPlan) -> str:
    known = gpu_fractions(pool)
    if pod.latency is Latency.STRICT and all(p.is_time_sliced for p in known):
        return f"pods take turns on its GPUs ({pool.sharing})"
    return f"{format_needs(pod)} wanted, it has at most {known[-1]}"


def _with_room(pod: PerPod, pool: PoolPlan, offer: Advertised) -> tuple[Advertised | None, str]:
    allocatable = pool.allocatable
    if pod.cpu <= allocatable.cpu and pod.memory_gib <= allocatable.memory_gib:
        return offer, ""
    return None, (
        f"{allocatable.cpu} CPUs and {allocatable.memory_gib} GiB of a node are for pods,"
        f" {pod.cpu} CPUs and {pod.memory_gib} GiB wanted"
    )


def _one_node(shape: Shape, pools: list[PoolPlan], positions: Mapping[str, int]) -> Fix | None:
    """One node that always runs, where only that keeps the shape from starting."""
    for pool in pools:
        if _BLIND in offer_in_pool(shape, pool)[1]:
            nodes, index = Range(1, pool.nodes.high), positions[pool.name]
            at: Path = ("pools", index, "nodes")
            return Fix(message=f"write pools[{index}].nodes: {nodes}", at=at, value=str(nodes))
    return None


def _larger_slice(shape: Shape, pools: list[PoolPlan], positions: Mapping[str, int]) -> Fix | None:
    """Another layout of a pool whose slices alone are too small: the pod needs what it needs."""
    for pool in pools:
        changed = {where[-1] for change in _changes(shape, pool) for where in change}
        if changed and changed <= {"gpu_memory_gib", "compute_percent"} and shape.per_pod:
            profile = larger_slice(shape.per_pod, pool)
            if profile is not None:
                at = f"pools[{positions[pool.name]}].sharing.mig"
                return Fix(message=f"add a slice {profile} to {at}, in place of smaller ones")
    return None


def _nearest_shape(shape: Shape, pools: list[PoolPlan], path: Path) -> Fix | None:
    """The smallest change after which a pool can start it: one word of it, else two."""
    changes = [c for pool in pools for c in _changes(shape, pool)]
    for change in sorted(changes, key=len):
        if any(offer_in_pool(_changed(shape, change), pool)[0] for pool in pools):
            return _as_fix(shape, change, path)
    return None


_Change = dict[tuple[str, ...], int | float | str]
"""New values by where they stand in the shape."""


def _changes(shape: Shape, pool: PoolPlan) -> list[_Change]:
    """What would have to change to start in this pool, and only that."""
    change: _Change = {}
    if shape.nodes > pool.nodes.high > 0:
        change["nodes",] = pool.nodes.high
    whole_gpus, pod = pool.unit(""), shape.per_pod
    if shape.gpus_per_node and whole_gpus and shape.gpus_per_node > whole_gpus.per_node:
        change["gpus_per_node",] = whole_gpus.per_node
    if pod and pod.shares and pod.shares > 1:
        change["per_pod", "shares"] = 1
    if pod and pod.slice and pool.unit(pod.slice) is None:
        suggestion = nearest_name(pod.slice, [a.unit for a in pool.advertised])
        if suggestion is not None:
            change["per_pod", "slice"] = suggestion
    if pod and pod.cpu > pool.allocatable.cpu:
        change["per_pod", "cpu"] = pool.allocatable.cpu
    if pod and pod.memory_gib > pool.allocatable.memory_gib:
        change["per_pod", "memory_gib"] = pool.allocatable.memory_gib
    if pod and pod.needs and smallest_fraction(pod, pool) is None:
        change |= _less(pod, pool)
    # A node whose system takes all of its CPUs has room for no pod, however small.
    return [change] if change and 0 not in change.values() else []


def _less(pod: PerPod, pool: PoolPlan) -> _Change:
    """What the largest piece of a pool has, where the pod needs more."""
    known, change = gpu_fractions(pool), _Change()
    if pod.latency is Latency.STRICT and all(p.is_time_sliced for p in known):
        change["per_pod", "latency"] = Latency.RELAXED
    else:
        known = [p for p in known if not (pod.latency is Latency.STRICT and p.is_time_sliced)]
    largest = known[-1]
    if (pod.gpu_memory_gib or 0) > largest.memory_gib >= 1:
        change["per_pod", "gpu_memory_gib"] = int(largest.memory_gib)
    if (pod.compute_percent or 0) > largest.compute_percent >= 1:
        change["per_pod", "compute_percent"] = float(int(largest.compute_percent))
    return change


def _changed(shape: Shape, change: _Change) -> Shape:
    pod = {where[1]: value for where, value in change.items() if len(where) > 1}
    top: dict[str, object] = {where[0]: value for where, value in change.items() if len(where) == 1}
    if shape.per_pod and pod:
        top["per_pod"] = shape.per_pod.model_copy(update=pod)
    return shape.model_copy(update=top)


def _as_fix(shape: Shape, change: _Change, path: Path) -> Fix:
    message = ", ".join(f"{where[-1]}: {value}" for where, value in change.items())
    if len(change) == 1:
        where, changed = next(iter(change.items()))
        value = changed.value if isinstance(changed, Latency) else changed
        return Fix(message=f"write {message}", at=(*path, *where), value=value)
    fields = _changed(shape, change).model_dump(mode="json", exclude_unset=True)
    return Fix(message=f"write {message}", at=path, value=fields)
