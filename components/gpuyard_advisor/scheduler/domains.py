"""Topology domains: how Kueue v0.19 selects nodes in the tree (`pkg/cache/scheduler/tas_flavor_snapshot.go`).

Count the capacity of each node, sum it up the levels, and find a domain at the requested level
(above it, if that is only preferred). Then go down from there: the largest domain first, and for
the last pods the smallest that fits them. Jobs without a topology request use the smallest
remainders. Down to the slice level, whole slices are distributed over all domains at once, below it
within each domain; a leader goes where it costs the workers least.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Domain:
    """A node, or the nodes that share the values of some levels; its counts change during placement."""

    values: tuple[str, ...]
    children: "list[Domain]" = field(default_factory=list["Domain"])
    pods: int = 0
    slices: int = 0
    leaders: int = 0
    """1 if it has capacity for a leader."""
    pods_beside: int = 0
    """Number of pods that fit in addition to the leader."""
    slices_beside: int = 0


@dataclass(frozen=True, slots=True)
class DomainRequest:
    """What to place; levels are indexes, 0 is the widest."""

    count: int
    level: int
    """Level of the domain that holds all pods."""
    slice_level: int
    """Level of a slice; the lowest level, with slices of one pod, if there are none."""
    slice_size: int = 1
    inner_levels: tuple[tuple[int, int], ...] = ()
    """Slices within slices, by level and size, the widest first."""
    required: bool = False
    is_preferred: bool = False
    """Any nodes, the smallest remainder first."""
    leader: bool = False

    @property
    def slices(self) -> int:
        """Number of whole slices; the remainder gets no node."""
        return self.count // self.slice_size

    def size_at(self, level: int) -> int:
        """Number of pods that stay together at a level below that of the slices."""
        return next((size for at, size in self.inner_levels if level <= at), 1)


@dataclass(frozen=True, slots=True)
class DomainFit:
    """The nodes: pods on each, and the leader's node. None if the capacity is insufficient."""

    pods: tuple[tuple[Domain, int], ...] | None
    leader: Domain | None = None
    max_pods: int = 0
    """Number of pods that the best domain of the level holds, in addition to the leader if there is
    one; of all domains if no level is required.
    """


def find_domains(leaves: Sequence[Domain], depth: int, request: DomainRequest) -> DomainFit:
    """Distribute pods over nodes with known capacity."""
    levels = _tree(leaves, depth)
    for root in levels[0]:
        _sum_up(root, 0, request)
    best = (
        max((_slice_capacity(d, request) for d in levels[request.level]), default=0)
        * request.slice_size
    )
    everywhere = sum(d.slices for d in levels[0]) * request.slice_size
    chosen = _level_that_fits(levels, request.level, request)
    if chosen is None:
        return DomainFit(None, max_pods=best if request.required else everywhere)
    at, fitting = chosen
    size, leads = request.slice_size, request.leader
    fitting = _deal(fitting, request.count, size, request, leader=leads)
    for _ in range(at, min(depth - 1, request.slice_level)):
        below = _sorted((c for d in fitting for c in d.children), request)
        fitting = _deal(below, request.count, size, request, leader=leads)
    for level in range(max(at, request.slice_level) + 1, depth):
        fitting = [
            d for parent in fitting for d in _within(parent, request.size_at(level), request)
        ]
    leader = next((d for d in fitting if d.leaders), None) if request.leader else None
    pods = tuple((d, d.pods) for d in fitting if d.pods)
    return DomainFit(pods, leader, max_pods=request.count)


def _tree(leaves: Sequence[Domain], depth: int) -> list[list[Domain]]:
    """The domains by level; the lowest are nodes."""
    levels: list[list[Domain]] = [[*leaves]]
    for length in range(depth - 1, 0, -1):
        above: dict[tuple[str, ...], Domain] = {}
        for domain in levels[0]:
            key = domain.values[:length]
            above.setdefault(key, Domain(key)).children.append(domain)
        levels.insert(0, [*above.values()])
    return levels


def _sum_up(domain: Domain, level: int, request: DomainRequest) -> None:
    """Compute a domain's capacity from its children."""
    if not domain.children:
        if level == request.slice_level:
            domain.slices = domain.pods // request.slice_size
            domain.slices_beside = domain.pods_beside // request.slice_size
        return
    step = request.size_at(level + 1) if level >= request.slice_level else 1
    leader_costs: list[tuple[int, int]] = []
    for child in domain.children:
        _sum_up(child, level + 1, request)
        pods, other = child.pods // step * step, child.pods_beside // step * step
        domain.pods += pods
        domain.slices += child.slices
        domain.leaders = max(domain.leaders, child.leaders)
        if child.leaders or not request.leader:
            leader_costs.append((pods - other, child.slices - child.slices_beside))
    if leader_costs:
        domain.pods_beside = domain.pods - min(pods for pods, _ in leader_costs)
        domain.slices_beside = domain.slices - min(slices for _, slices in leader_costs)
    if level == request.slice_level:
        domain.slices = domain.pods // request.slice_size
        domain.slices_beside = domain.pods_beside // request.slice_size


def _slice_capacity(domain: Domain, request: DomainRequest) -> int:
    """Number of slices that fit, including the leader if there is one."""
    if not request.leader:
        return domain.slices
    return domain.slices_beside if domain.leaders else 0


def _sorted(domains: Iterator[Domain] | Sequence[Domain], request: DomainRequest) -> list[Domain]:
    sign = 1 if request.is_preferred else -1
    return sorted(domains, key=lambda d: (sign * d.slices, d.pods, d.values))


def _smallest(domains: Sequence[Domain], needed: int, holds: Callable[[Domain], int]) -> Domain:
    """The smallest domain that fits all; the first if none does."""
    enough = [d for d in domains if holds(d) >= needed]
    return min(enough, key=holds) if enough else domains[0]


def _level_that_fits(
    levels: list[list[Domain]], level: int, request: DomainRequest
) -> tuple[int, list[Domain]] | None:
    """One domain that fits all; otherwise, if it is not required, one of a wider level, or several."""
    sign = 1 if request.is_preferred else -1
    order = sorted(
        levels[level],
        key=lambda d: (-d.leaders, sign * d.slices_beside, d.pods_beside, d.values),
    )
    enough = [d for d in order if _slice_capacity(d, request) >= request.slices]
    if enough:
        return level, [
            enough[0]
            if request.is_preferred
            else min(enough, key=lambda d: _slice_capacity(d, request))
        ]
    if request.required or not order:
        return None
    if level > 0 and not request.is_preferred:
        return _level_that_fits(levels, level - 1, request)
    if request.leader:
        order = _leader_first(order, request.slices)
    several = _several(order, request)
    return (level, several) if several else None


def _several(order: list[Domain], request: DomainRequest) -> list[Domain]:
    """As many domains as necessary, the leader's first; none if all together are too small."""
    results: list[Domain] = []
    remaining = request.slices
    if request.leader:
        first = order.pop(0)
        if not first.leaders:
            return []
        results.append(first)
        remaining -= first.slices_beside
    order = _sorted(order, request)
    while remaining > 0 and order:
        domain = order[0]
        if not request.is_preferred and domain.slices >= remaining:
            domain = _smallest(order, remaining, lambda d: d.slices)
        order.remove(domain)
        results.append(domain)
        remaining -= domain.slices
    return results if remaining <= 0 else []


def _leader_first(domains: list[Domain], needed: int) -> list[Domain]:
    """Move the first domain with capacity for the leader, and enough in total, to the front."""
    total_slices = sum(d.slices for d in domains)
    for domain in domains:
        if domain.leaders and total_slices - (domain.slices - domain.slices_beside) >= needed:
            return [domain, *(d for d in domains if d is not domain)]
    return domains


def _within(parent: Domain, step: int, request: DomainRequest) -> list[Domain]:
    """Distribute a domain's pods over its children."""
    parts = _sorted(parent.children, request)
    for part in parts:
        part.slices, part.slices_beside = part.pods // step, part.pods_beside // step
    return _deal(parts, parent.pods, step, request, leader=bool(parent.leaders))


def _deal(
    domains: list[Domain], count: int, step: int, request: DomainRequest, *, leader: bool
) -> list[Domain]:
    """Assign pods to domains in order, in whole steps; the last go to the smallest that fits the remainder."""
    remaining = count // step
    if leader:
        domains = _leader_first(domains, remaining)
    results: list[Domain] = []
    while (remaining or leader) and domains:
        domain = domains[0]
        holds = _slices_beside_leader if leader else _slices
        if holds(domain) >= remaining and domain.leaders >= leader and not request.is_preferred:
            domain = _smallest([d for d in domains if d.leaders >= leader], remaining, holds)
        domains.remove(domain)
        slices = min(holds(domain), remaining)
        domain.pods, domain.slices = slices * step, slices
        domain.leaders = min(domain.leaders, int(leader))
        leader = leader and not domain.leaders
        remaining -= slices
        results.append(domain)
    return results


def _slices(domain: Domain) -> int:
    return domain.slices


def _slices_beside_leader(domain: Domain) -> int:
    return domain.slices_beside
