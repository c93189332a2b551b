"""Workloads that must be able to start: in which pool, and from how many nodes."""

from collections.abc import Iterable, Iterator, Mapping

from gpuyard.plan.draft import Draft
from gpuyard.plan.pools.pools import DecidedPools
from gpuyard.plan.records import AdvertisedResource, PoolPlan, ShapePlan
from gpuyard.plan.renames import rename_fix
from gpuyard.plan.sharing.compute_slices import (
    format_needs,
    gpu_fractions,
    larger_slice,
    smallest_fraction,
)
from gpuyard.spec.platform import PerPod, Shape, TimeSliceLatency
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list
from gpuyard_core.models.values import Range
from gpuyard_core.names import MOST_SHARES, SHARED_UNIT
from gpuyard_core.suggestions import nearest_name


def check_shape_names(draft: Draft) -> Iterator[Diagnostic]:
    """Reject a shape with the name of an earlier one."""
    names = [shape.name for shape in draft.spec.shapes]
    first = {name: index for index, name in reversed(list(enumerate(names)))}
    for index, shape in enumerate(draft.spec.shapes):
        if first[shape.name] < index:
            yield error(
                "shape.duplicate",
                ("shapes", index, "name"),
                "another shape has this name",
                given=shape.name,
                allowed="a unique name for each shape",
                fix=rename_fix(shape, names, ("shapes", index)),
            )


def plan_shape_start(
    shape: Shape, pools: DecidedPools, positions: Mapping[str, int], path: Path
) -> tuple[ShapePlan | None, Diagnostic | None]:
    """Where a shape starts, or for every pool that was considered why it cannot.

    Neither where a pool is invalid: the shape cannot be checked yet.
    """
    if shape.pool is not None and shape.pool not in pools:
        suggestion = nearest_name(shape.pool, list(pools))
        message = f"write {suggestion}" if suggestion else "remove it: the shape may use any pool"
        fix = Fix(message=message, at=(*path, "pool"), value=suggestion)
        return None, error(
            "shape.unknown_pool",
            (*path, "pool"),
            "no pool has this name",
            given=shape.pool,
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
        given=_expected(shape),
        allowed="resources that the nodes of a pool have",
        fix=_larger_slice(shape, candidates, positions)
        or _nearest_shape(shape, candidates, path)
        or _one_node(shape, candidates, positions),
    )


def _starting_pool(
    shape: Shape, pools: list[PoolPlan]
) -> tuple[tuple[PoolPlan, AdvertisedResource] | None, dict[str, list[str]]]:
    """The first pool that can start it, or the smallest fraction that fits; else the reasons."""
    results: list[tuple[tuple[float, float], PoolPlan, AdvertisedResource]] = []
    reasons: dict[str, list[str]] = {}
    for pool in pools:
        offer, why = resource_for_shape(shape, pool)
        if offer is None:
            reasons.setdefault(why, []).append(pool.name)
            continue
        if not (shape.per_pod and shape.per_pod.has_gpu_requirements):
            return (pool, offer), reasons  # the first one suffices
        results.append((_piece_size(shape, pool), pool, offer))
    best = min(results, key=lambda x: x[0], default=None)  # the first of equals
    return (best[1:] if best else None), reasons


def _reason(reasons: Mapping[str, list[str]]) -> str:
    """Each reason once, after the pools that have it."""
    return "; ".join(f"{format_list(names)}: {why}" for why, names in reasons.items())


def _piece_size(shape: Shape, pool: PoolPlan) -> tuple[float, float]:
    piece = (
        smallest_fraction(shape.per_pod, pool)
        if shape.per_pod and shape.per_pod.has_gpu_requirements
        else None
    )
    return piece.size if piece else (0, 0)


def candidate_pools(
    shape: Shape, pools: Iterable[PoolPlan]
) -> Iterator[tuple[PoolPlan, AdvertisedResource]]:
    """Every pool that can start it, with what it takes there, the best first."""
    if shape.per_pod and shape.per_pod.has_gpu_requirements:
        pools = sorted(pools, key=lambda pool: _piece_size(shape, pool))
    for pool in pools:
        offer, _ = resource_for_shape(shape, pool)
        if offer is not None:
            yield pool, offer


def shape_plan(shape: Shape, pool: PoolPlan, offer: AdvertisedResource) -> ShapePlan:
    """Where it starts, and how many of its pods fit on a node."""
    pod, per_node = shape.per_pod, shape.gpus_per_node or 1
    fits, bound = offer.per_node // per_node, ""
    if pod is not None:
        cpus = pool.allocatable.cpu // pod.cpu
        memory = pool.allocatable.memory_gib // pod.memory_gib
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
        needs=format_needs(pod) if pod and pod.has_gpu_requirements else "",
    )


def _expected(shape: Shape) -> str:
    times = f"{shape.nodes} nodes × " if shape.nodes > 1 else ""
    if shape.gpus_per_node:
        return f"{times}{shape.gpus_per_node} GPUs"
    pod = shape.per_pod
    what = (
        format_needs(pod)
        if pod and pod.has_gpu_requirements
        else ""
        if pod is None
        else pod.slice or f"{pod.shares} shares"
    )
    return f"{times}{what}"


def resource_for_shape(shape: Shape, pool: PoolPlan) -> tuple[AdvertisedResource | None, str]:
    """The resource that the shape takes in this pool, or why it cannot start there."""
    if shape.nodes > pool.nodes.high:
        return None, f"at most {pool.nodes.high} nodes, {shape.nodes} required"
    offer, why = _fraction(shape.per_pod, pool) if shape.per_pod else _whole_gpu_offer(shape, pool)
    if (
        offer
        and offer.resource in pool.autoscaler_hints.undiscovered_resources
        and not pool.start_nodes
    ):
        return None, f"{_BLIND} {offer.resource} from a running node, and none runs"
    return offer, why


_BLIND = "its autoscaler reads"


def _whole_gpu_offer(shape: Shape, pool: PoolPlan) -> tuple[AdvertisedResource | None, str]:
    whole_gpus, wanted = pool.find_advertised_resource(""), shape.gpus_per_node or 0
    if whole_gpus is None:
        return None, f"no whole GPUs ({pool.sharing})"
    if wanted > whole_gpus.per_node:
        return None, f"{whole_gpus.per_node} GPUs a node, {wanted} required"
    return whole_gpus, ""


def _fraction(pod: PerPod, pool: PoolPlan) -> tuple[AdvertisedResource | None, str]:
    if pod.has_gpu_requirements:
        piece = smallest_fraction(pod, pool)
        if piece is None:
            return None, _lacks(pod, pool)
        return _with_room(pod, pool, piece.offer)
    unit = pod.slice or SHARED_UNIT
    offer = pool.find_advertised_resource(unit)
    if pod.slice == SHARED_UNIT:
        return None, f"`{SHARED_UNIT}` is not a slice, write shares: 1"
    if offer is None:
        has = ", ".join(a.unit or "whole GPUs" for a in pool.advertised)
        return None, f"no {unit} (it has {has})"
    if pod.shares and pod.shares > MOST_SHARES:
        return (
            None,
            f"{pod.shares} shares required, but a pod gets one: more would be time slices of the same GPU",
        )
    return _with_room(pod, pool, offer)


def _lacks(pod: PerPod, pool: PoolPlan) -> str:
    known = gpu_fractions(pool)
    if pod.latency is TimeSliceLatency.STRICT and all(p.is_time_sliced for p in known):
        return f"its GPUs are time-sliced ({pool.sharing})"
    return f"{format_needs(pod)} required, it has at most {known[-1]}"


def _with_room(
    pod: PerPod, pool: PoolPlan, offer: AdvertisedResource
) -> tuple[AdvertisedResource | None, str]:
    allocatable = pool.allocatable
    if pod.cpu <= allocatable.cpu and pod.memory_gib <= allocatable.memory_gib:
        return offer, ""
    return None, (
        f"a node has {allocatable.cpu} CPUs and {allocatable.memory_gib} GiB allocatable,"
        f" {pod.cpu} CPUs and {pod.memory_gib} GiB required"
    )


def _one_node(shape: Shape, pools: list[PoolPlan], positions: Mapping[str, int]) -> Fix | None:
    """One node that always runs, where the shape cannot start only because none runs."""
    for pool in pools:
        if _BLIND in resource_for_shape(shape, pool)[1]:
            nodes, index = Range(1, pool.nodes.high), positions[pool.name]
            at: Path = ("pools", index, "nodes")
            return Fix(message=f"write pools[{index}].nodes: {nodes}", at=at, value=str(nodes))
    return None


def _larger_slice(shape: Shape, pools: list[PoolPlan], positions: Mapping[str, int]) -> Fix | None:
    """A larger slice in a pool that fails only on slice size: the pod's needs stay."""
    for pool in pools:
        changed = {where[-1] for change in _changes(shape, pool) for where in change}
        if changed and changed <= {"gpu_memory_gib", "compute_percent"} and shape.per_pod:
            profile = larger_slice(shape.per_pod, pool)
            if profile is not None:
                at = f"pools[{positions[pool.name]}].sharing.mig"
                return Fix(message=f"add a slice {profile} to {at}, in place of smaller ones")
    return None


def _nearest_shape(shape: Shape, pools: list[PoolPlan], path: Path) -> Fix | None:
    """The smallest change after which a pool can start it: one field, else two."""
    changes = [c for pool in pools for c in _changes(shape, pool)]
    for change in sorted(changes, key=len):
        if any(resource_for_shape(_changed(shape, change), pool)[0] for pool in pools):
            return _as_fix(shape, change, path)
    return None


_Change = dict[tuple[str, ...], int | float | str]
"""New values by their path in the shape."""


def _changes(shape: Shape, pool: PoolPlan) -> list[_Change]:
    """Only what must change for the shape to start in this pool."""
    change: _Change = {}
    if shape.nodes > pool.nodes.high > 0:
        change["nodes",] = pool.nodes.high
    whole_gpus, pod = pool.find_advertised_resource(""), shape.per_pod
    if shape.gpus_per_node and whole_gpus and shape.gpus_per_node > whole_gpus.per_node:
        change["gpus_per_node",] = whole_gpus.per_node
    if pod and pod.shares and pod.shares > 1:
        change["per_pod", "shares"] = 1
    if pod and pod.slice and pool.find_advertised_resource(pod.slice) is None:
        suggestion = nearest_name(pod.slice, [a.unit for a in pool.advertised])
        if suggestion is not None:
            change["per_pod", "slice"] = suggestion
    if pod and pod.cpu > pool.allocatable.cpu:
        change["per_pod", "cpu"] = pool.allocatable.cpu
    if pod and pod.memory_gib > pool.allocatable.memory_gib:
        change["per_pod", "memory_gib"] = pool.allocatable.memory_gib
    if pod and pod.has_gpu_requirements and smallest_fraction(pod, pool) is None:
        change |= _less(pod, pool)
    # A node whose CPUs are all reserved for the system fits no pod.
    return [change] if change and 0 not in change.values() else []


def _less(pod: PerPod, pool: PoolPlan) -> _Change:
    """What the largest fraction of a pool has, where the pod needs more."""
    known, change = gpu_fractions(pool), _Change()
    if pod.latency is TimeSliceLatency.STRICT and all(p.is_time_sliced for p in known):
        change["per_pod", "latency"] = TimeSliceLatency.RELAXED
    else:
        known = [
            p for p in known if not (pod.latency is TimeSliceLatency.STRICT and p.is_time_sliced)
        ]
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
        value = changed.value if isinstance(changed, TimeSliceLatency) else changed
        return Fix(message=f"write {message}", at=(*path, *where), value=value)
    fields = _changed(shape, change).model_dump(mode="json", exclude_unset=True)
    return Fix(message=f"write {message}", at=path, value=fields)
