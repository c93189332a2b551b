"""The tree of cohorts as Kueue counts it; tests/scheduler/test_cohort_trees.py compares whole trees."""

from gpuyard.plan.quotas.cohorts import CohortQuotaNode


def test_the_cohorts_above_come_the_nearest_first():
    root = CohortQuotaNode()
    middle = CohortQuotaNode(parent=root)
    queue = CohortQuotaNode(parent=middle)
    assert list(queue.ancestors) == [middle, root]
    assert list(root.ancestors) == []


def test_the_root_has_nobody_to_pass_on_to():
    root = CohortQuotaNode(nominal={("a", "gpu"): 8})
    queue = CohortQuotaNode(parent=root, nominal={("a", "gpu"): 4})
    queue.propagate()
    root.propagate()
    assert root.nominal == {("a", "gpu"): 12}
