"""Cohorts: the tree in which teams share, and every name in it.

Kueue makes a cohort of any name that a queue mentions, and disables every queue of a tree that runs in a
circle. So a misspelt name would be a cohort of its own, silently: all names are proved here. Objects are
called `PLATFORM.COHORT`; names of the stack file have no dot, so no two of them ever meet.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gpuyard.findings import Finding, Fix, Path, error, format_list, warning
from gpuyard.plan.draft import Draft
from gpuyard.plan.renames import free_name
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.suggestions import nearest_name
from gpuyard.spec.teams import Team

ROOT = None
"""The platform's own cohort, above all others."""
CohortIndex = int | None
"""A cohort by its place in the stack file, or the root."""


def cohort_object(platform: str, cohort: str) -> str:
    """What the object of a cohort is called."""
    return f"{platform}.{cohort}"


def cohort_of(spec: PlatformSpec, team: Team) -> str:
    """The object of the cohort that a team is in."""
    return spec.name if team.cohort is None else cohort_object(spec.name, team.cohort)


@dataclass(frozen=True, slots=True)
class Tree:
    """Who belongs where; whatever is refused about it belongs to the root."""

    parents: tuple[CohortIndex, ...]
    """By cohort."""
    cohort_by_team: tuple[CohortIndex, ...]
    """By team."""
    bottom_up: tuple[int, ...]
    """Every cohort, after all cohorts below it."""

    def self_and_ancestors(self, node: CohortIndex) -> list[CohortIndex]:
        """The cohort itself and all above it, the root last."""
        found: list[CohortIndex] = [node]
        while node is not None:
            node = self.parents[node]
            found.append(node)
        return found


def read_tree(spec: PlatformSpec) -> Tree:
    """The tree that the stack file means; a circle is opened at its first cohort."""
    known, parents = _by_name(spec)
    for circle in _circles(parents):
        parents[circle[0]] = ROOT
    homes = tuple(known.get(team.cohort or "") for team in spec.teams)
    return Tree(tuple(parents), homes, _upward(parents))


def _by_name(spec: PlatformSpec) -> tuple[dict[str, int], list[CohortIndex]]:
    """The cohorts by name, of two with one name the first; and the parent of each, as it is written."""
    cohorts = spec.queueing.cohorts
    known = {cohort.name: index for index, cohort in reversed(list(enumerate(cohorts)))}
    return known, [known.get(cohort.parent or "") for cohort in cohorts]


def _circles(parents: Sequence[CohortIndex]) -> list[list[int]]:
    """Cohorts that are above themselves: each circle once, from its first cohort upwards."""
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


def check_cohorts(draft: Draft) -> list[Finding]:
    """Names that are taken or unknown, circles, and cohorts that nobody is in."""
    spec = draft.spec
    findings: list[Finding] = []
    names = list(dict.fromkeys(cohort.name for cohort in spec.queueing.cohorts))
    seen: set[str] = set()
    for index, cohort in enumerate(spec.queueing.cohorts):
        path: Path = ("queueing", "cohorts", index)
        if cohort.name == spec.name:
            findings.append(_root_name(spec, index, names))
        elif cohort.name in seen:
            free = free_name(cohort.name, {*names, spec.name})
            findings.append(
                error(
                    "cohort.duplicate",
                    (*path, "name"),
                    "another cohort has the name",
                    value=cohort.name,
                    allowed="a name of its own for each cohort",
                    fix=Fix(message=f"write {free}", at=(*path, "name"), value=free),
                )
            )
        seen.add(cohort.name)
        if cohort.parent is not None and cohort.parent not in names:
            findings.append(_unknown(spec.name, cohort.parent, names, (*path, "parent")))
    for index, team in enumerate(spec.teams):
        if team.cohort is not None and team.cohort not in names:
            findings.append(_unknown(spec.name, team.cohort, names, ("teams", index, "cohort")))
    return findings + _check_circles(spec) + _check_empty(spec)


def _root_name(spec: PlatformSpec, index: int, names: Sequence[str]) -> Finding:
    """It would read as if it were the root, whose name it has."""
    path: Path = ("queueing", "cohorts", index, "name")
    named = [f"teams[{i}].cohort" for i, team in enumerate(spec.teams) if team.cohort == spec.name]
    named += [
        f"queueing.cohorts[{i}].parent"
        for i, cohort in enumerate(spec.queueing.cohorts)
        if cohort.parent == spec.name
    ]
    free = free_name(spec.name, names)
    fix = Fix(message=f"write {free}", at=path, value=free)
    if named:
        fix = Fix(message=f"write {free}, in {format_list(named)} too")
    return error(
        "cohort.root",
        path,
        "the platform's own cohort, above all others, has the platform's name",
        value=spec.name,
        allowed="any other name",
        fix=fix,
    )


def _unknown(platform: str, value: str, names: Sequence[str], path: Path) -> Finding:
    if value == platform:
        fix = Fix(message="remove it: the platform's own cohort is the default", at=path)
    elif suggestion := nearest_name(value, list(names)):
        fix = Fix(message=f"write {suggestion}", at=path, value=suggestion)
    else:
        fix = Fix(message="remove it, or add the cohort to queueing.cohorts", at=path)
    return error(
        "cohort.unknown",
        path,
        "no cohort of that name; Kueue would make one, apart from all others",
        value=value,
        allowed=format_list(names) or "names in queueing.cohorts; there are none",
        fix=fix,
    )


def _check_circles(spec: PlatformSpec) -> list[Finding]:
    cohorts = spec.queueing.cohorts
    results: list[Finding] = []
    for circle in _circles(_by_name(spec)[1]):
        path: Path = ("queueing", "cohorts", circle[0], "parent")
        way = " in ".join(cohorts[index].name for index in (*circle, circle[0]))
        results.append(
            error(
                "cohort.circle",
                path,
                f"the cohort is inside itself: {way}; Kueue stops every queue of such a tree",
                value=str(cohorts[circle[0]].parent),
                allowed="a parent that is not below it",
                fix=Fix(message="remove it: then its parent is the platform's own cohort", at=path),
            )
        )
    return results


def _check_empty(spec: PlatformSpec) -> list[Finding]:
    """Warn of cohorts without a team, in them or below."""
    tree = read_tree(spec)
    nonempty = {node for home in set(tree.cohort_by_team) for node in tree.self_and_ancestors(home)}
    return [
        warning(
            "cohort.nobody",
            ("queueing", "cohorts", index),
            f"no team is in cohort {cohort.name}, nor in one below it: it does nothing",
            value=cohort.name,
            allowed="cohorts that a team names",
            fix=Fix(message=f"write cohort: {cohort.name} in a team, or remove it"),
        )
        for index, cohort in enumerate(spec.queueing.cohorts)
        if index not in nonempty
    ]
