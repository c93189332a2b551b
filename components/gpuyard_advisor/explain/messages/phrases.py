"""Phrases of several messages: counts, lists and paths."""

from collections.abc import Iterable

from gpuyard.plan.records import PlatformPlan, TeamPlan


def format_count(count: int, one: str) -> str:
    """`1 pod`, `3 pods`."""
    return f"{count:,} {one}{'' if count == 1 else 's'}"


def join_with_and(words: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def team_path(plan: PlatformPlan, team: TeamPlan) -> str:
    """Path of a team in the stack file."""
    return f"teams[{[t.name for t in plan.teams].index(team.name)}]"
