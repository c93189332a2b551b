"""Which ranks make the others slow: groups are halved down to pairs, and who is left meets a good one."""

from collections.abc import Generator, Mapping, Sequence

Group = tuple[int, ...]
Rates = Mapping[Group, float]
"""Bus bandwidth of each group that ran; all of one round run at the same time."""
SLOW = 0.75
"""A group is slow that has less than this share of the round's best."""
_PAIR = 2


def bisect_slow_nodes(ranks: Sequence[int]) -> Generator[list[Group], Rates, Group]:
    """Yields the groups of each round, takes their rates, and returns the ranks that are slow.

    Where all halves are alike nobody is cleared: there may be a slow one in each. Of a slow pair each runs
    with a good one. Of fewer than four ranks nobody can be named.
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
    """Two that are good show what a pair can do, alone. There are two: a group that ran has two at least."""
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
