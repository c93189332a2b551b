"""Quota flow between cohorts: how much each holds, passes on to the one above, and can ever have.

Kueue counts a tree like this (v0.19, pkg/cache/scheduler/resource_node.go): a cohort holds what its teams
and the cohorts below it lend, passes on at most what it lends itself, and gets from above at most what it
may borrow. The root holds what nobody is guaranteed besides.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from gpuyard.plan.quotas.cohorts import ROOT, CohortIndex, Tree

Key = tuple[str, str]
"""A pool and a resource."""
QuotaAmounts = dict[Key, int]
CohortLimits = Mapping[int, Mapping[Key, int]]
"""By cohort; a cohort that is not in it has no limit, a resource that is not in a cohort's has 0."""


class Flow:
    """The amounts in a tree, before and after its limits are known."""

    def __init__(
        self, tree: Tree, spare: Mapping[Key, int], lent: Sequence[Mapping[Key, int]]
    ) -> None:
        self.tree = tree
        self.borrow: dict[int, Mapping[Key, int]] = {}
        self.lend: dict[int, Mapping[Key, int]] = {}
        self.stock: dict[CohortIndex, QuotaAmounts] = {
            node: defaultdict(int) for node in range(len(tree.parents))
        }
        """What a cohort holds, Kueue's subtree quota. Cohorts below must have passed theirs on."""
        self.stock[ROOT] = defaultdict(int, spare)
        for home, amounts in zip(tree.homes, lent, strict=True):
            add(self.stock[home], amounts)

    def pass_on(self, cohort: int) -> None:
        """Count what a cohort lends to the one above: after its own limit is known, before that one's is."""
        passed = {key: self.passed(cohort, key) for key in self.stock[cohort]}
        add(self.stock[self.tree.parents[cohort]], passed)

    def passed(self, cohort: int, key: Key) -> int:
        """What those above can have of a cohort."""
        held = self.stock[cohort].get(key, 0)
        limit = self.lend.get(cohort)
        return held if limit is None else min(held, limit.get(key, 0))

    def outside(self, cohort: int, key: Key) -> int:
        """What a cohort can borrow when everybody else is idle, whatever its own limit."""
        return self.most(self.tree.parents[cohort], key) - self.passed(cohort, key)

    def most(self, node: CohortIndex, key: Key) -> int:
        """What a cohort can have when everybody is idle, Kueue's potential."""
        held = self.stock[node].get(key, 0)
        if node is None:
            return held
        outside = self.outside(node, key)
        limit = self.borrow.get(node)
        return held + (outside if limit is None else min(outside, limit.get(key, 0)))


def add(total: QuotaAmounts, amounts: Mapping[Key, int]) -> None:
    """Add amounts to a total."""
    for key, amount in amounts.items():
        total[key] += amount


def summed(amounts: Iterable[Mapping[Key, int]]) -> QuotaAmounts:
    """Sums over all; one pass, because there may be a thousand of them."""
    total: QuotaAmounts = defaultdict(int)
    for one in amounts:
        add(total, one)
    return total
