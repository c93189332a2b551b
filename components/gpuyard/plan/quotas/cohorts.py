"""Cohorts: the tree in which teams share, and every name in it.

Kueue creates a cohort for any name that a queue mentions, and disables every queue of a tree with a cycle.
So a misspelled name would silently be a separate cohort: all names are checked here. Objects are called
`PLATFORM.COHORT`; names in the stack file have no dot, so object names are unique.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from gpuyard.plan.draft import Draft
from gpuyard.plan.renames import free_name, nearest_fix
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.teams import Team
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, show_path, warning

# The quota of a cohort or queue is its own plus what its children lend it: Kueue's subtree quota, here
# `nominal`. The lending limit is the part of it that the parent gets; it keeps the rest (Kueue's guaranteed
# quota), invisible to its ancestors. The borrowing limit is how much it may use from above beyond its own
# quota. So its maximum (Kueue's potential available) is its quota plus the capacity outside, up to its
# borrowing limit.
#
# The checks of a plan and the model of Kueue's scheduler both use this tree, so that what the plan promises
# is what the scheduler admits.

Key = tuple[str, str]
"""A pool and a resource."""
QuotaAmounts = dict[Key, int]


class Limit(dict[Key, int | None]):
    """A limit between a cohort and its parent, by pool and resource; None: no limit."""

    def __init__(
        self, amounts: Mapping[Key, int | None] | None = None, *, unset: int | None = None
    ) -> None:
        super().__init__(amounts or {})
        self.unsaid = unset

    def __missing__(self, key: Key) -> int | None:
        """The limit of a key that it does not name."""
        return self.unsaid


@dataclass(eq=False, slots=True, kw_only=True)
class CohortQuotaNode:
    """A cohort with its descendants, or a queue, which has none."""

    parent: Self | None = None
    """The parent cohort; None for the root."""
    borrow: Limit = field(default_factory=Limit)
    """The borrowing limit."""
    lend: Limit = field(default_factory=Limit)
    """The lending limit."""
    nominal: QuotaAmounts = field(default_factory=lambda: defaultdict(int))
    """Its quota, once all descendants have passed on what they lend."""

    @property
    def ancestors(self) -> Iterator[Self]:
        """Its ancestors, the nearest first."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def propagate(self) -> None:
        """Add what it lends to the parent's quota; call it once, after all descendants."""
        if self.parent is not None:
            add_amounts(
                self.parent.nominal, {key: self.lendable_quota(key) for key in tuple(self.nominal)}
            )

    def not_lent(self, key: Key) -> int:
        """The part of its quota that it does not lend."""
        lend = self.lend[key]
        return 0 if lend is None else max(0, self.nominal[key] - lend)

    def lendable_quota(self, key: Key) -> int:
        """The part of its quota that its ancestors can use."""
        return self.nominal[key] - self.not_lent(key)

    def available_outside(self, key: Key) -> int:
        """What it could borrow if all others were idle, without its own limit; 0 for the root."""
        return 0 if self.parent is None else self.parent.max_usage(key) - self.lendable_quota(key)

    def max_usage(self, key: Key) -> int:
        """The maximum that it could use if all others were idle."""
        outside, borrow = self.available_outside(key), self.borrow[key]
        return self.nominal[key] + (outside if borrow is None else min(outside, borrow))

    def is_limited_by_borrowing(self, key: Key) -> bool:
        """Whether its own limit is the bound: there is more capacity outside than it may borrow."""
        borrow = self.borrow[key]
        return borrow is not None and borrow < self.available_outside(key)


def add_amounts(total: QuotaAmounts, amounts: Mapping[Key, int]) -> None:
    """Add amounts to a total."""
    for key, amount in amounts.items():
        total[key] += amount


ROOT = None
"""The platform's own cohort, above all others."""
CohortIndex = int | None
"""A cohort by its index in the stack file, or the root."""


def cohort_object(platform: str, cohort: str) -> str:
    """The name of the Cohort object."""
    return f"{platform}.{cohort}"


def cohort_of(spec: PlatformSpec, team: Team) -> str:
    """The name of the Cohort object of a team."""
    return spec.name if team.cohort is None else cohort_object(spec.name, team.cohort)


@dataclass(frozen=True, slots=True)
class CohortHierarchy:
    """The cohort tree; a cohort or team with an invalid parent is below the root."""

    parents: tuple[CohortIndex, ...]
    """The parent of each cohort."""
    cohort_by_team: tuple[CohortIndex, ...]
    """The cohort of each team."""
    bottom_up: tuple[int, ...]
    """Every cohort, after all its descendants."""

    def self_and_ancestors(self, node: CohortIndex) -> list[CohortIndex]:
        """The cohort itself and its ancestors, the root last."""
        found: list[CohortIndex] = [node]
        while node is not None:
            node = self.parents[node]
            found.append(node)
        return found


def read_tree(spec: PlatformSpec) -> CohortHierarchy:
    """The tree of the stack file; a cycle is broken at its first cohort."""
    known, parents = _by_name(spec)
    for circle in _circles(parents):
        parents[circle[0]] = ROOT
    homes = tuple(known.get(team.cohort or "") for team in spec.teams)
    return CohortHierarchy(tuple(parents), homes, _upward(parents))


def _by_name(spec: PlatformSpec) -> tuple[dict[str, int], list[CohortIndex]]:
    """The cohorts by name, of two with one name the first; and the parent of each, as written."""
    cohorts = spec.queueing.cohorts
    known = {cohort.name: index for index, cohort in reversed(list(enumerate(cohorts)))}
    return known, [known.get(cohort.parent or "") for cohort in cohorts]


def _circles(parents: Sequence[CohortIndex]) -> list[list[int]]:
    """Cycles of cohorts: each once, from its first cohort upwards."""
    done: set[int] = set()
    results: list[list[int]] = []
    for start in range(len(parents)):
        path: list[int] = []
        node: CohortIndex = start
        while node is not None and node not in done and node not in path:
            path.append(node)
            node = parents[node]
        if node in path:
            circle = path[path.index(node) :]
            first = circle.index(min(circle))
            results.append(circle[first:] + circle[:first])
        done.update(path)
    return results


def _upward(parents: Sequence[CohortIndex]) -> tuple[int, ...]:
    depth: dict[int, int] = {}
    for index in range(len(parents)):
        node, steps = parents[index], 0
        while node is not None:
            node, steps = parents[node], steps + 1
        depth[index] = steps
    return tuple(sorted(depth, key=lambda index: -depth[index]))


def check_cohorts(draft: Draft) -> Iterator[Diagnostic]:
    """Duplicate and unknown names, cycles, and cohorts without a team."""
    spec, cohorts = draft.spec, draft.spec.queueing.cohorts
    names = list(dict.fromkeys(cohort.name for cohort in cohorts))
    seen: set[str] = set()
    for index, cohort in enumerate(cohorts):
        path: Path = ("queueing", "cohorts", index)
        if cohort.name == spec.name:
            yield _root_name(spec, names, (*path, "name"))
        elif cohort.name in seen:
            yield error(
                "cohort.duplicate",
                (*path, "name"),
                "another cohort has this name",
                given=cohort.name,
                allowed="a unique name for each cohort",
                fix=Fix.write(free_name(cohort.name, {*names, spec.name}), (*path, "name")),
            )
        seen.add(cohort.name)
    for path, name in _cohorts_named(spec):
        if name not in names:
            yield _unknown(spec.name, name, names, path)
    for circle in _circles(_by_name(spec)[1]):
        path = ("queueing", "cohorts", circle[0], "parent")
        way = " in ".join(cohorts[index].name for index in (*circle, circle[0]))
        yield error(
            "cohort.circle",
            path,
            f"the cohorts form a cycle: {way}; Kueue stops every queue of such a tree",
            given=str(cohorts[circle[0]].parent),
            allowed="a parent that is not below it",
            fix=Fix(message="remove it: the parent is then the root cohort", at=path),
        )
    tree = read_tree(spec)
    nonempty = {node for home in set(tree.cohort_by_team) for node in tree.self_and_ancestors(home)}
    for index, cohort in enumerate(cohorts):
        if index not in nonempty:
            yield warning(
                "cohort.no_teams",
                ("queueing", "cohorts", index),
                f"no team is in cohort {cohort.name} or below it: the cohort has no effect",
                given=cohort.name,
                allowed="cohorts that a team names",
                fix=Fix(message=f"write cohort: {cohort.name} in a team, or remove it"),
            )


def _cohorts_named(spec: PlatformSpec) -> Iterator[tuple[Path, str]]:
    """The cohort of each team and the parent of each cohort, where the stack file names one."""
    for index, team in enumerate(spec.teams):
        if team.cohort is not None:
            yield ("teams", index, "cohort"), team.cohort
    for index, cohort in enumerate(spec.queueing.cohorts):
        if cohort.parent is not None:
            yield ("queueing", "cohorts", index, "parent"), cohort.parent


def _root_name(spec: PlatformSpec, names: Sequence[str], path: Path) -> Diagnostic:
    """A cohort with the platform's name would be mistaken for the root."""
    named = [show_path(where) for where, name in _cohorts_named(spec) if name == spec.name]
    free = free_name(spec.name, names)
    also = Fix(message=f"write {free}, in {format_list(named)} too")
    return error(
        "cohort.root",
        path,
        "the root cohort, above all others, has the platform's name",
        given=spec.name,
        allowed="any other name",
        fix=also if named else Fix.write(free, path),
    )


def _unknown(platform: str, value: str, names: Sequence[str], path: Path) -> Diagnostic:
    root = Fix(message="remove it: the root cohort is the default", at=path)
    other = Fix(message="remove it, or add the cohort to queueing.cohorts", at=path)
    return error(
        "cohort.unknown",
        path,
        "no cohort has this name; Kueue would create one, separate from all others",
        given=value,
        allowed=format_list(names) or "a name in queueing.cohorts, which is empty",
        fix=root if value == platform else nearest_fix(value, names, path, other),
    )
