"""What may pass between the cohorts of a stack file, before and after its limits are known.

`cohort_tree` says how Kueue counts; the root holds what nobody is guaranteed besides.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from gpuyard.plan.quotas.cohort_tree import CohortTree, Key, QuotaAmounts, add
from gpuyard.plan.quotas.cohorts import ROOT, CohortIndex, Tree


class Flow:
    """The cohorts of a stack file, with what each holds."""

    def __init__(
        self, tree: Tree, spare: Mapping[Key, int], shared: Sequence[Mapping[Key, int]]
    ) -> None:
        self.tree = tree
        self.cohorts: dict[CohortIndex, CohortTree] = {ROOT: CohortTree()}
        """By place in the stack file. Those below must have passed theirs on before one's stock is whole."""
        for cohort in reversed(tree.bottom_up):
            self.cohorts[cohort] = CohortTree(parent=self.cohorts[tree.parents[cohort]])
        add(self.cohorts[ROOT].nominal, spare)
        for home, amounts in zip(tree.cohort_by_team, shared, strict=True):
            add(self.cohorts[home].nominal, amounts)


def summed(amounts: Iterable[Mapping[Key, int]]) -> QuotaAmounts:
    """Sums over all; one pass, because there may be a thousand of them."""
    total: QuotaAmounts = defaultdict(int)
    for one in amounts:
        add(total, one)
    return total
