"""Distance of two orders of the same jobs, as numbers."""

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """What was foreseen, beside what came to pass."""

    jobs: int
    wrong_pairs: float
    """Of all pairs of jobs, the share that came in the other order (Kendall's tau distance): 0 is the same
    order, 0.5 what chance gives, 1 the reverse."""
    moved: float
    """Share of the jobs that came more than `far` places earlier or later."""
    distance: int
    max_distance: int
    """Places that one job was off, at most."""


def disagreement(predicted: Sequence[str], seen: Sequence[str], far: int) -> Disagreement:
    """Compare two orders.

    Raises:
        ValueError: they are not orders of the same jobs.
    """
    places = {name: place for place, name in enumerate(predicted)}
    if len(places) < len(predicted) or sorted(places) != sorted(seen):
        raise ValueError("these are not two orders of the same jobs")
    by_seen = [places[name] for name in seen]
    off = [abs(place - now) for now, place in enumerate(by_seen)]
    pairs = len(seen) * (len(seen) - 1) / 2
    return Disagreement(
        jobs=len(seen),
        wrong_pairs=_inversions(by_seen) / pairs if pairs else 0.0,
        moved=sum(places > far for places in off) / len(off) if off else 0.0,
        distance=far,
        max_distance=max(off, default=0),
    )


def _inversions(numbers: Sequence[int]) -> int:
    """Pairs of which the larger stands first."""
    before: list[int] = []
    result = 0
    for number in numbers:
        result += len(before) - bisect_left(before, number)
        insort(before, number)
    return result
