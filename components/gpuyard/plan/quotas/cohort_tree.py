"""The tree of cohorts as Kueue counts it (v0.19, pkg/cache/scheduler/resource_node.go).

The quota of a cohort or queue is its own plus what its children lend it: Kueue's subtree quota, here
`nominal`. The lending limit is the part of it that the parent gets; it keeps the rest (Kueue's guaranteed
quota), invisible to its ancestors. The borrowing limit is how much it may use from above beyond its own
quota. So its maximum (Kueue's potential available) is its quota plus the capacity outside, up to its
borrowing limit.

The checks of a plan and the model of Kueue's scheduler both use this tree, so that what the plan promises is
what the scheduler admits.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

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
