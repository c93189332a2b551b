"""Topology-aware scheduling: requests of pods, and the nodes that a queue selects for them.

Annotations are parsed as in `pkg/controller/jobframework/tas_validation.go` of Kueue v0.19; the
search itself is in `domains`.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from gpuyard_advisor.scheduler.domains import Domain, DomainFit, DomainRequest, find_domains
from gpuyard_advisor.scheduler.nodes import Amounts, FreeResources, Nodes, with_pods_resource

REQUIRED = "kueue.x-k8s.io/podset-required-topology"
PREFERRED = "kueue.x-k8s.io/podset-preferred-topology"
UNCONSTRAINED = "kueue.x-k8s.io/podset-unconstrained-topology"
ANNOTATION_BY_MODE = {"required": REQUIRED, "preferred": PREFERRED, "unconstrained": UNCONSTRAINED}
"""The annotations with the requested level, by mode."""
SLICE_LEVEL = "kueue.x-k8s.io/podset-slice-required-topology"
SLICE_SIZE = "kueue.x-k8s.io/podset-slice-size"
LAYERS = "kueue.x-k8s.io/podset-slice-required-topology-constraints"
GROUP = "kueue.x-k8s.io/podset-group-name"
MOST_LAYERS = 3
_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")


@dataclass(frozen=True, slots=True)
class TopologyRequest:
    """A pod set's topology request."""

    mode: str = ""
    """required, preferred or unconstrained; empty if it only requests slices."""
    level: str = ""
    slice_level: str = ""
    slice_size: int = 1
    inner_slices: tuple[tuple[str, int], ...] = ()
    """Slices within slices: level and size, the widest first."""
    group: str = ""
    """Pod sets of one group share a domain: a leader and its workers."""
    error: str = ""
    """Why Kueue rejects it."""

    @property
    def layers(self) -> tuple[tuple[str, int], ...]:
        """Levels and sizes of all slices, the widest first."""
        return ((self.slice_level, self.slice_size), *self.inner_slices) if self.slice_level else ()


def topology_request(annotations: Mapping[str, str], count: int) -> TopologyRequest | None:
    """Parse a pod template's annotations as Kueue's webhook does; None without a request."""
    how = [word for word, key in ANNOTATION_BY_MODE.items() if key in annotations]
    if not how and not {SLICE_LEVEL, SLICE_SIZE, LAYERS, GROUP} & annotations.keys():
        return None
    word = how[0] if how else ""
    level = annotations[ANNOTATION_BY_MODE[word]] if word and word != "unconstrained" else ""
    wrong = (
        f"more than one of {', '.join(ANNOTATION_BY_MODE[word] for word in how)}"
        if len(how) > 1
        else ""
    )
    if word == "unconstrained" and annotations[UNCONSTRAINED] not in (*_TRUE, *_FALSE):
        wrong = (
            wrong or f"{UNCONSTRAINED}: {annotations[UNCONSTRAINED]!r} is neither true nor false"
        )
    layers, problem = _slices(annotations, count)
    (slice_level, size), *inner = layers or [("", 1)]
    group = annotations.get(GROUP, "")
    wrong = wrong or problem or _misgrouped(annotations, group, level)
    return TopologyRequest(word, level, slice_level, size, tuple(inner), group, wrong)


def _misgrouped(annotations: Mapping[str, str], group: str, level: str) -> str:
    if GROUP not in annotations:
        return ""
    if group.isascii() and group.isdecimal():
        return f"{GROUP}: {group!r} must not be a number"
    if conflicting := [key for key in (SLICE_SIZE, SLICE_LEVEL, LAYERS) if key in annotations]:
        return f"{GROUP} and {conflicting[0]} exclude each other"
    return "" if level else f"{GROUP} requires {REQUIRED} or {PREFERRED}"


def _slices(annotations: Mapping[str, str], count: int) -> tuple[list[tuple[str, int]], str]:
    level, text = annotations.get(SLICE_LEVEL), annotations.get(SLICE_SIZE)
    if LAYERS in annotations:
        if level is not None or text is not None:
            return [], f"{LAYERS} excludes {SLICE_LEVEL} and {SLICE_SIZE}"
        return _layers(annotations[LAYERS], count)
    if level is None and text is None:
        return [], ""
    if level is None or text is None:
        return [], f"{SLICE_LEVEL} and {SLICE_SIZE} go together"
    size = int(text) if text.isascii() and text.isdecimal() else 0
    if not 1 <= size <= count:
        return [], f"{SLICE_SIZE}: {text!r} is not a number from 1 to {count}"
    return [(level, size)], ""


def _layers(text: str, count: int) -> tuple[list[tuple[str, int]], str]:
    """Slices in several layers, as JSON, the widest first; each size must divide the one before."""
    try:
        read = json.loads(text)
    except ValueError:
        read = None
    entries = read if isinstance(read, list) else []
    results = [
        (e["topology"], e["size"])
        for e in entries
        if isinstance(e, dict)
        and isinstance(e.get("topology"), str)
        and isinstance(e.get("size"), int)
    ]
    if not 1 <= len(results) <= MOST_LAYERS or len(results) < len(entries):
        return [], (
            f"{LAYERS} is not a JSON list of 1 to {MOST_LAYERS} entries with topology and size"
        )
    if len({level for level, _ in results}) < len(results):
        return [], f"{LAYERS} names a topology twice"
    if not 1 <= results[0][1] <= count or any(size < 1 for _, size in results):
        return [], f"{LAYERS}: sizes must be from 1 to {count}"
    for (_, wide), (_, size) in pairwise(results):
        if wide % size:
            return [], f"{LAYERS}: {size} does not divide {wide}"
    return results, ""


def topology_mismatch(
    place_request: TopologyRequest | None, levels: Sequence[str] | None, *, everywhere: bool
) -> str:
    """Why a flavor's topology does not match a job's request, or "".

    `everywhere`: all flavors of the queue have a topology, so that jobs without a request are
    placed as well.
    """
    if levels is None:
        return "the job requests a topology, but the pool has none" if place_request else ""
    if place_request is None:
        why = (
            "the pool accepts only jobs with a topology annotation, because other pools of its "
            "queue have no topology"
        )
        return "" if everywhere else why
    chain = [*filter(None, (place_request.level, *(level for level, _ in place_request.layers)))]
    for level in chain:
        if level not in levels:
            return f"its nodes have no level {level}; levels are {', '.join(levels)}"
    for position, (wide, narrow) in enumerate(pairwise(chain)):
        same_is_fine = not position and bool(place_request.level)
        if levels.index(wide) + (0 if same_is_fine else 1) > levels.index(narrow):
            return f"its slices request {narrow}, which is wider than {wide}"
    return ""


@dataclass(frozen=True, slots=True)
class TopologyPlacement:
    """The result of a placement with topology."""

    free: FreeResources
    """Free capacity afterwards; unchanged if the pods did not fit."""
    fits: bool
    best: int
    """Number of pods that the best domain of the level fits, or all nodes if no level is required."""
    nodes: int = 0
    started: int = 0
    is_estimated: bool = False
    """True if labels were needed that only running nodes have."""


def find_placement(
    free: FreeResources,
    levels: Sequence[str],
    requests: Amounts,
    count: int,
    place_request: TopologyRequest | None,
    leader: Amounts | None = None,
) -> TopologyPlacement:
    """Find nodes for identical pods and a leader; none without the labels of the levels."""
    place_request = place_request or TopologyRequest("unconstrained")
    each = with_pods_resource(requests)
    leads = with_pods_resource(leader) if leader is not None else None
    guessed = any(
        len(n.where or ()) < len(levels) - 1 for n in free if n.where is not None and n.count
    )
    asks = bool(place_request.level) and place_request.level != levels[-1]
    entries = _leaves(free, each, leads, len(levels))
    result = find_domains(
        [*entries],
        len(levels),
        _domain_request(place_request, levels, count, leads=leads is not None),
    )
    if result.pods is None:
        return TopologyPlacement(
            free, fits=False, best=result.max_pods, is_estimated=guessed and asks
        )
    after = _after(free, (each, leads), _in_use(entries, result))
    return replace(after, best=count, is_estimated=guessed and asks)


def _domain_request(
    place_request: TopologyRequest, levels: Sequence[str], count: int, *, leads: bool
) -> DomainRequest:
    """The levels by index; slices without a requested wider domain may be anywhere."""
    last = len(levels) - 1
    widest = 0 if place_request.slice_level else last
    return DomainRequest(
        count=count,
        level=levels.index(place_request.level) if place_request.level else widest,
        slice_level=levels.index(place_request.slice_level) if place_request.slice_level else last,
        slice_size=place_request.slice_size,
        inner_levels=tuple((levels.index(at), size) for at, size in place_request.inner_slices),
        required=place_request.mode == "required",
        is_preferred=not place_request.level,
        leader=leads,
    )


def _leaves(
    free: FreeResources, each: Amounts, leads: Amounts | None, depth: int
) -> dict[Domain, int]:
    """Nodes, and their entry in the free capacity."""
    results: dict[Domain, int] = {}
    for index, group in enumerate(free):
        if group.where is None:
            continue
        above = (*group.where, *[""] * (depth - 1 - len(group.where)))
        pods = leader_slots = max(0, group.slots(each))
        if leads is not None and group.slots(leads) > 0:
            leader_slots = max(0, group.after_placing_pods(leads, 1, 1).slots(each))
        for one in range(group.count):
            node = Domain((*above, f"{index:06d}/{one:06d}"), pods=pods, pods_beside=leader_slots)
            node.leaders = int(leads is not None and group.slots(leads) > 0)
            results[node] = index
    return results


def _in_use(
    entries: Mapping[Domain, int], result: DomainFit
) -> Mapping[int, Counter[tuple[int, int]]]:
    """By entry of the free capacity: how many nodes got this many pods and leaders."""
    pods = dict(result.pods or ())
    nodes: Iterable[Domain] = dict.fromkeys((*pods, *([result.leader] if result.leader else [])))
    nodes_by_load: dict[int, Counter[tuple[int, int]]] = defaultdict(Counter)
    for node in nodes:
        nodes_by_load[entries[node]][pods.get(node, 0), int(node is result.leader)] += 1
    return nodes_by_load


def _after(
    free: FreeResources,
    asks: tuple[Amounts, Amounts | None],
    in_use: Mapping[int, Counter[tuple[int, int]]],
) -> TopologyPlacement:
    """The free capacity after the placement."""
    each, leads = asks
    after: list[Nodes] = []
    nodes = started = 0
    for index, group in enumerate(free):
        nodes_by_load = in_use.get(index, Counter())
        for (pods, leaders), number in sorted(nodes_by_load.items()):
            less = group.after_placing_pods(leads or {}, leaders, number).after_placing_pods(
                each, pods, number
            )
            after.append(replace(less, running=True, placed_pod_sets=group.placed_pod_sets | {""}))
        total = nodes_by_load.total()
        nodes += 0 if group.placed_pod_sets else total
        started += 0 if group.running else total
        if group.count > total or not total:
            after.append(replace(group, count=group.count - total))
    return TopologyPlacement(tuple(after), fits=True, best=0, nodes=nodes, started=started)
