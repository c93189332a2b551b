"""Finds slow ranks: groups are halved down to pairs; each rank of a slow pair then runs with a good one."""

from collections.abc import Generator, Mapping, Sequence

Group = tuple[int, ...]
Rates = Mapping[Group, float]
"""Bus bandwidth of each group; all groups of one round run at the same time."""
SLOW = 0.75
"""A group below this share of the round's best is slow."""
_PAIR = 2


def bisect_slow_nodes(ranks: Sequence[int]) -> Generator[list[Group], Rates, Group]:
    """Yields the groups of each round, receives their rates, and returns the slow ranks.

    Equal halves prove nothing: each may have a slow rank. Each rank of a slow pair runs with a good one.
    With fewer than four ranks, no slow rank can be identified.
    """
    suspects: list[Group] = [tuple(ranks)]
    good: list[int] = []
    while max(map(len, suspects), default=0) > _PAIR:
        groups = [half for group in suspects for half in _halves(group)]
        ran = [group for group in groups if len(group) >= _PAIR]
        slow = _slow((yield ran))
        if slow:
            good += [rank for group in ran if group not in slow for rank in group]
            groups = [group for group in groups if group in slow or len(group) < _PAIR]
        suspects = groups
    return (yield from _with_good_ones(suspects, good))


def _with_good_ones(suspects: list[Group], good: list[int]) -> Generator[list[Group], Rates, Group]:
    """Two good ranks show the rate of a pair alone. They exist: a group has at least two ranks."""
    if not good:
        return ()
    reference = (good[0], good[1])
    best = (yield [reference])[reference]
    untested = [rank for group in suspects for rank in group]
    results: list[int] = []
    while untested:
        pairs: list[Group] = list(zip(untested, good, strict=False))
        rates = yield pairs
        slow = _slow(rates, best)
        results += [pair[0] for pair in pairs if pair in slow]
        untested = untested[len(pairs) :]
    return tuple(sorted(results))


def _halves(group: Group) -> list[Group]:
    if len(group) <= _PAIR:
        return [group]
    middle = (len(group) + 1) // 2
    return [group[:middle], group[middle:]]


def _slow(rates: Rates, known: float = 0.0) -> set[Group]:
    best = max(rates.values(), default=0.0)
    return {group for group, rate in rates.items() if rate < SLOW * max(best, known)}
