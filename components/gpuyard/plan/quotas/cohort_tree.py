"""The tree of cohorts as Kueue counts it (v0.19, pkg/cache/scheduler/resource_node.go).

What a cohort or a queue holds is its own and what those below lend it: Kueue's subtree quota, here `stock`.
A lending limit says how much of that passes up; the rest it keeps (Kueue's guaranteed quota), and nobody
above sees it. A borrowing limit says how much it may have from above beyond what it holds. So it can have at
most (Kueue's potential available) what it holds and what there is outside, up to its borrowing limit.

The proofs of a plan and the model of Kueue's scheduler both count by this tree: what the one promises is what
the other hands out.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

Key = tuple[str, str]
"""A pool and a resource."""
QuotaAmounts = dict[Key, int]


class Limit(dict[Key, int | None]):
    """The most that passes between a cohort and the one above, by pool and resource; None: all there is."""

    def __init__(
        self, amounts: Mapping[Key, int | None] | None = None, *, unset: int | None = None
    ) -> None:
        super().__init__(amounts or {})
        self.unsaid = unset

    def __missing__(self, key: Key) -> int | None:
        """Of what the limit does not name."""
        return self.unsaid


@dataclass(eq=False, slots=True, kw_only=True)
class CohortTree:
    """A cohort with all below it, or a queue, which has nothing below."""

    parent: Self | None = None
    """The cohort it is in; None for the root."""
    borrow: Limit = field(default_factory=Limit)
    """The most it has from above."""
    lend: Limit = field(default_factory=Limit)
    """The most that those above have of it."""
    nominal: QuotaAmounts = field(default_factory=lambda: defaultdict(int))
    """What it holds, once all below it have passed on what they lend."""

    @property
    def above(self) -> Iterator[Self]:
        """The cohorts it is in, the nearest first."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def propagate(self) -> None:
        """Count what it lends as what the cohort above holds; after all below it, and once only."""
        if self.parent is not None:
            add(self.parent.nominal, {key: self.passed(key) for key in tuple(self.nominal)})

    def not_lent(self, key: Key) -> int:
        """Of what it holds, what it does not lend."""
        lend = self.lend[key]
        return 0 if lend is None else max(0, self.nominal[key] - lend)

    def passed(self, key: Key) -> int:
        """Of what it holds, what those above can have."""
        return self.nominal[key] - self.not_lent(key)

    def available_outside(self, key: Key) -> int:
        """What it could borrow if nobody else had anything, whatever its own limit; nothing for the root."""
        return 0 if self.parent is None else self.parent.max_usage(key) - self.passed(key)

    def max_usage(self, key: Key) -> int:
        """What it could have if nobody else had anything."""
        outside, borrow = self.available_outside(key), self.borrow[key]
        return self.nominal[key] + (outside if borrow is None else min(outside, borrow))

    def is_bound(self, key: Key) -> bool:
        """Whether its own limit keeps it from more: there is more outside than it may borrow."""
        borrow = self.borrow[key]
        return borrow is not None and borrow < self.available_outside(key)


def add(total: QuotaAmounts, amounts: Mapping[Key, int]) -> None:
    """Add amounts to a total."""
    for key, amount in amounts.items():
        total[key] += amount
