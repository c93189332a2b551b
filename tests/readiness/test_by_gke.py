"""Nodes that GKE cuts by itself: their own label says how, and no MIG manager is asked."""

import pytest

from gpuyard.readiness.scheduling import LIVE
from gpuyard.readiness.subject import ClusterSeen, Subject
from kit.cases.readiness import node
from kit.stacks import plan_of, platform, pool

PLAN = plan_of(
    platform(
        [
            pool("serve", machine="a2-highgpu-8g", image="cos-gke", sharing={"mig": {"1g.5gb": 7}}),
            pool("dev", machine="g2-standard-48", image="cos-gke", sharing={"time_slicing": 4}),
        ],
        cloud="gcp",
    )
)
SIZE = "cloud.google.com/gke-gpu-partition-size"


@pytest.mark.parametrize(
    ("size", "value", "wrong"),
    [
        ("1g.5gb", "1g.5gb", ""),
        ("3g.20gb", "3g.20gb", "the plan says 1g.5gb"),
        (None, "not cut", "the plan says 1g.5gb"),
    ],
)
def test_a_size_is_judged_by_gkes_label(size, value, wrong):
    nodes = [node(one, f"{one.name}-0") for one in PLAN.pools]
    if size:
        nodes[0]["metadata"]["labels"][SIZE] = size
    (found,) = LIVE["SCH-04"](Subject(PLAN), ClusterSeen(objects={"Node": nodes}))
    assert (found.value, found.why) == (value, wrong)
