"""What the cohorts of a stack file can lend to each other, before and after limits are applied.

`cohort_tree` defines how Kueue counts; the root also has the unassigned capacity.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from gpuyard.plan.quotas.cohort_tree import CohortQuotaNode, Key, QuotaAmounts, add_amounts
from gpuyard.plan.quotas.cohorts import ROOT, CohortHierarchy, CohortIndex


class CohortQuotas:
    """The cohorts of a stack file, with the quota of each."""

    def __init__(
        self, tree: CohortHierarchy, spare: Mapping[Key, int], shared: Sequence[Mapping[Key, int]]
    ) -> None:
        self.tree = tree
        self.cohorts: dict[CohortIndex, CohortQuotaNode] = {ROOT: CohortQuotaNode()}
        """By index in the stack file. The quota of a cohort is complete once its descendants have propagated."""
        for cohort in reversed(tree.bottom_up):
            self.cohorts[cohort] = CohortQuotaNode(parent=self.cohorts[tree.parents[cohort]])
        add_amounts(self.cohorts[ROOT].nominal, spare)
        for home, amounts in zip(tree.cohort_by_team, shared, strict=True):
            add_amounts(self.cohorts[home].nominal, amounts)


def summed(amounts: Iterable[Mapping[Key, int]]) -> QuotaAmounts:
    """The sum of all amounts; in one pass, because there may be a thousand of them."""
    total: QuotaAmounts = defaultdict(int)
    for one in amounts:
        add_amounts(total, one)
    return total
