"""Which nodes a queue ties pods to, where pools are placed by topology: the steps of Kueue v0.19.

`pkg/cache/scheduler/tas_flavor_snapshot.go`: count what each node holds, sum it up the levels, find a domain
at the level that is asked for (above it where that is only preferred), and go down from there: the largest
first, and for the last pods the smallest that holds them. Jobs that say nothing take the smallest rests.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpuyard.plan.explain.nodes import Amounts, Nodes, Room, with_itself

REQUIRED = "kueue.x-k8s.io/podset-required-topology"
PREFERRED = "kueue.x-k8s.io/podset-preferred-topology"
UNCONSTRAINED = "kueue.x-k8s.io/podset-unconstrained-topology"
HOW = {"required": REQUIRED, "preferred": PREFERRED, "unconstrained": UNCONSTRAINED}
"""The annotations that say how near, by their words."""
SLICE_LEVEL = "kueue.x-k8s.io/podset-slice-required-topology"
SLICE_SIZE = "kueue.x-k8s.io/podset-slice-size"
LAYERS = "kueue.x-k8s.io/podset-slice-required-topology-constraints"
_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")


@dataclass(frozen=True, slots=True)
class Near:
    """What a pod set says about the place of its pods."""

    how: str = ""
    """required, preferred, unconstrained; empty when it speaks of slices only."""
    level: str = ""
    slice_level: str = ""
    slice_size: int = 1
    wrong: str = ""
    """Why Kueue does not take it."""


def near_of(annotations: Mapping[str, str], count: int) -> Near | None:
    """Read a pod template's annotations as Kueue's webhook does; None where they say nothing."""
    how = [word for word, key in HOW.items() if key in annotations]
    if not how and SLICE_LEVEL not in annotations and SLICE_SIZE not in annotations:
        return None
    word = how[0] if how else ""
    level = annotations[HOW[word]] if word and word != "unconstrained" else ""
    wrong = f"more than one of {', '.join(HOW[word] for word in how)}" if len(how) > 1 else ""
    if word == "unconstrained" and annotations[UNCONSTRAINED] not in (*_TRUE, *_FALSE):
        wrong = (
            wrong or f"{UNCONSTRAINED}: {annotations[UNCONSTRAINED]!r} is neither true nor false"
        )
    size, problem = _slices(annotations, count)
    return Near(word, level, annotations.get(SLICE_LEVEL, ""), size, wrong or problem)


def _slices(annotations: Mapping[str, str], count: int) -> tuple[int, str]:
    level, text = SLICE_LEVEL in annotations, annotations.get(SLICE_SIZE)
    if not level and text is None:
        return 1, ""
    if not level or text is None:
        return 1, f"{SLICE_LEVEL} and {SLICE_SIZE} go together"
    size = int(text) if text.isascii() and text.isdecimal() else 0
    if not 1 <= size <= count:
        return 1, f"{SLICE_SIZE}: {text!r} is no number from 1 to {count}"
    return size, ""


def mismatch(near: Near | None, levels: Sequence[str] | None, *, everywhere: bool) -> str:
    """Why a flavor's topology and a job's words do not go together; "" when they do.

    `everywhere`: all flavors of the queue have a topology, so that jobs that say nothing are placed too.
    """
    if levels is None:
        return "the job asks for a topology, and the pool has none" if near else ""
    if near is None:
        why = "the pool takes jobs with a topology annotation only, as others of its queue have no topology"
        return "" if everywhere else why
    for level in filter(None, (near.level, near.slice_level)):
        if level not in levels:
            return f"its nodes have no level {level}; there are {', '.join(levels)}"
    if (
        near.level
        and near.slice_level
        and levels.index(near.level) > levels.index(near.slice_level)
    ):
        return f"its slices ask for {near.slice_level}, which is wider than {near.level}"
    return ""


@dataclass(frozen=True, slots=True)
class Spot:
    """What became of pods that a queue looked for nodes for."""

    room: Room
    """Afterwards; as before when they found none."""
    fits: bool
    best: int
    """How many of the pods the best domain of the level holds, or all nodes where no level is required."""
    nodes: int = 0
    started: int = 0
    guessed: bool = False
    """True when labels were needed that only nodes which run could show."""


@dataclass(slots=True)
class _Leaf:
    """One node, and how many of the pods it holds."""

    entry: int
    path: tuple[str, ...]
    pods: int


def spot(
    room: Room, levels: Sequence[str], requests: Amounts, count: int, near: Near | None
) -> Spot:
    """Find nodes for pods that are alike. Nodes without the levels' labels are not looked at."""
    near = near or Near("unconstrained")
    each = with_itself(requests)
    guessed = any(
        len(n.where or ()) < len(levels) - 1 for n in room if n.where is not None and n.count
    )
    leaves = [*_leaves(room, each, len(levels))]
    slice_at = levels.index(near.slice_level) if near.slice_level else len(levels) - 1
    size = near.slice_size
    wanted = count // size
    chosen, best = _choose(leaves, near, levels, (slice_at, size, wanted))
    asks = bool(near.level) and near.level != levels[-1]
    if chosen is None:
        return Spot(room, fits=False, best=best * size, guessed=guessed and asks)
    first = len(levels) - 1 if near.how == "unconstrained" else 0
    loose = near.how in {"unconstrained", ""}
    taken = _down(chosen, range(first, len(levels)), count, (slice_at, size), loose=loose)
    return replace(_after(room, each, taken), guessed=guessed and asks)


def _leaves(room: Room, each: Amounts, depth: int) -> Iterator[_Leaf]:
    for index, group in enumerate(room):
        if group.where is None:
            continue
        above = (*group.where, *[""] * (depth - 1 - len(group.where)))
        pods = max(0, group.slots(each))
        for one in range(group.count):
            yield _Leaf(index, (*above, f"{index:06d}/{one:06d}"), pods)


def _choose(
    leaves: list[_Leaf], near: Near, levels: Sequence[str], slices: tuple[int, int, int]
) -> tuple[list[_Leaf] | None, int]:
    """The nodes among which the pods go, and what the best domain holds."""
    slice_at, size, wanted = slices
    everywhere = sum(_slices_in(leaves, slice_at, size))
    if near.how not in {"required", "preferred"}:
        return (leaves if everywhere >= wanted else None), everywhere
    asked = levels.index(near.level)
    most = 0
    for level in range(asked, -1, -1):
        domains = _by(leaves, level)
        holds = {key: sum(_slices_in(domain, slice_at, size)) for key, domain in domains.items()}
        fitting = [(n, key) for key, n in holds.items() if n >= wanted]
        if fitting:
            return domains[min(fitting)[1]], wanted
        most = max(most, *holds.values(), 0)
        if near.how == "required":
            return None, most
    return (leaves if everywhere >= wanted else None), everywhere


def _by(leaves: list[_Leaf], level: int) -> dict[tuple[str, ...], list[_Leaf]]:
    found: dict[tuple[str, ...], list[_Leaf]] = defaultdict(list)
    for leaf in leaves:
        found[leaf.path[: level + 1]].append(leaf)
    return found


def _slices_in(leaves: list[_Leaf], level: int, size: int) -> list[int]:
    """How many slices each domain of the slices' level holds; a single pod is a slice of one."""
    return [sum(leaf.pods for leaf in domain) // size for domain in _by(leaves, level).values()]


def _down(
    leaves: list[_Leaf], levels: range, count: int, slices: tuple[int, int], *, loose: bool
) -> list[tuple[_Leaf, int]]:
    """Pods by node: level by level, in whole slices as far down as those must stay together."""
    slice_at, size = slices
    parts = [(leaves, count)]
    for level in levels:
        step = size if level <= slice_at else 1
        below: list[tuple[list[_Leaf], int]] = []
        for domain, pods in parts:
            children = [*_by(domain, level).values()]

            def holds(child: list[_Leaf], level: int = level, step: int = step) -> int:
                at = max(level, slice_at) if step > 1 else level
                return step * sum(_slices_in(child, at, step))

            below += _fill(children, holds, pods, loose=loose)
        parts = below
    return [(domain[0], pods) for domain, pods in parts]


def _fill(
    children: list[list[_Leaf]],
    holds: Callable[[list[_Leaf]], int],
    pods: int,
    *,
    loose: bool,
) -> Iterator[tuple[list[_Leaf], int]]:
    """The largest first, the last pods into the smallest that holds them; `loose`: the smallest first."""
    sized = sorted(((holds(c), c) for c in children), key=lambda s: s[0] if loose else -s[0])
    left = pods
    while left and sized:
        enough = [s for s in sized if s[0] >= left]
        if enough and (not loose or left == pods):
            last = min(enough, key=lambda s: s[0])
            yield last[1], left
            return
        number, child = sized.pop(0)
        if taken := min(number, left):
            yield child, taken
            left -= taken


def _after(room: Room, each: Amounts, taken: list[tuple[_Leaf, int]]) -> Spot:
    """The room with the pods on their nodes."""
    by_entry: dict[int, Counter[int]] = defaultdict(Counter)
    for leaf, pods in taken:
        by_entry[leaf.entry][pods] += 1
    after: list[Nodes] = []
    nodes = started = 0
    for index, group in enumerate(room):
        used = by_entry.get(index, Counter())
        for pods, number in sorted(used.items()):
            less = group.less(each, pods, number)
            after.append(replace(less, running=True, hosts=group.hosts | {""}))
        total = used.total()
        nodes += 0 if group.hosts else total
        started += 0 if group.running else total
        if group.count > total or not total:
            after.append(replace(group, count=group.count - total))
    pods_in_all = sum(pods for _, pods in taken)
    return Spot(tuple(after), fits=True, best=pods_in_all, nodes=nodes, started=started)
