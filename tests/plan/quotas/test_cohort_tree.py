"""The tree of cohorts as Kueue counts it; tests/scheduler/test_cohort_trees.py compares whole trees."""

from gpuyard.plan.quotas.cohort_tree import CohortTree


def test_the_cohorts_above_come_the_nearest_first():
    root = CohortTree()
    middle = CohortTree(parent=root)
    queue = CohortTree(parent=middle)
    assert list(queue.above) == [middle, root]
    assert list(root.above) == []


def test_the_root_has_nobody_to_pass_on_to():
    root = CohortTree(nominal={("a", "gpu"): 8})
    queue = CohortTree(parent=root, nominal={("a", "gpu"): 4})
    queue.propagate()
    root.propagate()
    assert root.nominal == {("a", "gpu"): 12}
