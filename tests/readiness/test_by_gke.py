"""Nodes that GKE serves by itself: its own labels say how, and nobody asks for the GPU Operator."""

import pytest

from gpuyard_advisor.readiness.infrastructure import LIVE as INFRASTRUCTURE
from gpuyard_advisor.readiness.infrastructure import PLANNED
from gpuyard_advisor.readiness.inputs import ClusterObjects, Subject
from gpuyard_advisor.readiness.scheduling import LIVE
from gpuyard_core.names import POOL_LABEL
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
        ("3g.20gb", "3g.20gb", "the plan expects 1g.5gb"),
        (None, "not partitioned", "the plan expects 1g.5gb"),
    ],
)
def test_a_size_is_judged_by_gkes_label(size, value, wrong):
    nodes = [node(one, f"{one.name}-0") for one in PLAN.pools]
    if size:
        nodes[0]["metadata"]["labels"][SIZE] = size
    (found,) = LIVE["SCH-04"](Subject(PLAN), ClusterObjects(objects={"Node": nodes}))
    assert (found.value, found.reason) == (value, wrong)


MODEL = "cloud.google.com/gke-accelerator"


@pytest.mark.parametrize(
    ("model", "value", "wrong"),
    [
        ("nvidia-l4", "nvidia-l4", ""),
        ("nvidia-tesla-t4", "nvidia-tesla-t4", "the plan expects nvidia-l4"),
        (None, "no model", "the plan expects nvidia-l4"),
    ],
)
def test_the_model_is_judged_by_gkes_label_where_the_operator_is_kept_off(model, value, wrong):
    nodes = [node(one, f"{one.name}-0") for one in PLAN.pools]
    for each in nodes:
        each["metadata"]["labels"] = {POOL_LABEL: each["metadata"]["labels"][POOL_LABEL]}
    nodes[0]["metadata"]["labels"][MODEL] = "nvidia-tesla-a100"
    if model:
        nodes[1]["metadata"]["labels"][MODEL] = model
    serve, dev = INFRASTRUCTURE["INF-04"](Subject(PLAN), ClusterObjects(objects={"Node": nodes}))
    assert (serve.value, serve.reason) == ("nvidia-tesla-a100", "")
    assert (dev.value, dev.reason) == (value, wrong)


DRIVER = "cloud.google.com/gke-gpu-driver-version"


def test_a_platform_that_needs_no_operator_is_not_asked_for_one():
    subject = Subject(PLAN)
    owners = list(PLANNED["INF-01"](subject, ClusterObjects(objects={})))
    assert {each.reason for each in owners} == {""}
    assert all("devicePlugin: GKE" in each.value for each in owners)
    (none,) = INFRASTRUCTURE["INF-01"](subject, ClusterObjects(objects={}))
    assert (none.value, none.reason) == ("no pool needs the GPU Operator", "")
    one = {"kind": "ClusterPolicy", "metadata": {"name": "a"}, "status": {"state": "ready"}}
    two = [one, {**one, "metadata": {"name": "b"}}]
    found = INFRASTRUCTURE["INF-01"](subject, ClusterObjects(objects={"ClusterPolicy": two}))
    assert [each.reason for each in found] == ["", "", "the GPU Operator supports exactly one"]
    assert "plan.operator.install" not in {
        e.location for e in PLANNED["INF-08"](subject, ClusterObjects(objects={}))
    }


def drivers(*versions):
    """Of nodes of one pool, as GKE says them; the other has none."""
    nodes = [node(PLAN.pools[0], f"serve-{number}") for number in range(len(versions))]
    for each, version in zip(nodes, versions, strict=True):
        labels = {DRIVER: version} if version else {}
        each["metadata"]["labels"] = {POOL_LABEL: each["metadata"]["labels"][POOL_LABEL], **labels}
    found = INFRASTRUCTURE["INF-02"](Subject(PLAN), ClusterObjects(objects={"Node": nodes}))
    return [(each.value, each.reason) for each in found if "dev" not in each.location]


def test_the_driver_is_the_one_that_gke_names():
    assert drivers("latest", "latest") == [("latest", "")]
    assert ("default", "its pool has version latest") in drivers("latest", "default")
    assert ("none", "no driver is reported") in drivers("latest", None)
    assert drivers(None) == [("", "no node label reports the driver version")]
