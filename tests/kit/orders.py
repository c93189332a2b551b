"""Distance of two orders of the same jobs, as numbers."""

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """Prediction compared with the observed order."""

    job_count: int
    wrong_pairs: float
    """Share of all pairs of jobs in the opposite order (Kendall's tau distance): 0 is the same
    order, 0.5 random, 1 the reverse.
    """
    moved: float
    """Share of the jobs that moved by more than `far` places."""
    moved_threshold: int
    max_distance: int
    """Maximum number of places that one job moved."""


def compare_orders(predicted: Sequence[str], seen: Sequence[str], far: int) -> Disagreement:
    """Compare two orders.

    Raises:
        ValueError: they contain different jobs.
    """
    places = {name: place for place, name in enumerate(predicted)}
    if len(places) < len(predicted) or sorted(places) != sorted(seen):
        raise ValueError("the two results are not of the same jobs")
    by_seen = [places[name] for name in seen]
    off = [abs(place - now) for now, place in enumerate(by_seen)]
    pairs = len(seen) * (len(seen) - 1) / 2
    return Disagreement(
        job_count=len(seen),
        wrong_pairs=_inversions(by_seen) / pairs if pairs else 0.0,
        moved=sum(places > far for places in off) / len(off) if off else 0.0,
        moved_threshold=far,
        max_distance=max(off, default=0),
    )


def _inversions(numbers: Sequence[int]) -> int:
    """Number of pairs whose larger number comes first."""
    before: list[int] = []
    result = 0
    for number in numbers:
        result += len(before) - bisect_left(before, number)
        insort(before, number)
    return result
