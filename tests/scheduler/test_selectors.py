"""Which nodes a pod accepts: yes, no, or only a live node could tell."""

import pytest

from gpuyard_advisor.scheduler.selectors import (
    NodeRequirement,
    PoolLabels,
    Toleration,
    accepts,
    find_discovered_label,
    flavor_accepts,
    labels_of,
    untolerated,
)
from gpuyard_core.manifests.pods import Taint
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool

POOL = "gpuyard.dev/pool"
KNOWN = {POOL: ("train",), "zone": ("a", "b"), "size": ("8",)}


def want(key, operator="In", *values):
    return NodeRequirement(key, operator, values)


@pytest.mark.parametrize(
    ("requirement", "met"),
    [
        (want(POOL, "In", "train", "x"), True),
        (want(POOL, "In", "x"), False),
        (want(POOL, "NotIn", "train"), False),
        (want(POOL, "NotIn", "x"), True),
        (want("zone", "In", "b"), True),
        (want("zone", "NotIn", "b"), True),
        (want("zone", "NotIn", "a", "b"), False),
        (want(POOL, "Exists"), True),
        (want(POOL, "DoesNotExist"), False),
        (want("size", "Gt", "7"), True),
        (want("size", "Gt", "8"), False),
        (want("size", "Lt", "9"), True),
        (want("size", "Lt", "-9"), False),
        (want("size", "Lt", "x"), False),
        (want("zone", "Gt", "1"), False),
        (want("size", "Gt"), False),
        (want("size", "Near", "8"), False),
    ],
)
def test_a_known_label_decides(requirement, met):
    assert PoolLabels(KNOWN, closed=True).meets(requirement) is met


@pytest.mark.parametrize(
    ("key", "operator", "closed", "met"),
    [
        ("disk", "In", True, False),
        ("disk", "Exists", True, False),
        ("disk", "NotIn", True, True),
        ("disk", "DoesNotExist", True, True),
        ("disk", "In", False, None),
        ("disk", "NotIn", False, None),
        ("vendor.example/disk", "In", True, None),
        ("vendor.example/disk", "DoesNotExist", True, None),
    ],
)
def test_an_unknown_label_is_absent_only_where_all_are_known(key, operator, closed, met):
    assert PoolLabels(KNOWN, closed=closed).meets(want(key, operator, "ssd")) is met


@pytest.mark.parametrize(
    ("selector", "terms", "answer"),
    [
        ({}, (), (True, "")),
        ({POOL: "train"}, (), (True, "")),
        ({POOL: "x", "a/b": "c"}, (), (False, f"{POOL}=x")),
        ({"a/b": "c", POOL: "x"}, (), (False, f"{POOL}=x")),
        ({"a/b": "c"}, (), (None, "a/b=c")),
        ({}, ((want(POOL, "In", "x"),), (want("zone", "In", "a"),)), (True, "")),
        ({}, ((want(POOL, "In", "x"),), (want("a/b", "Exists"),)), (None, "a/b Exists")),
        ({}, ((want(POOL, "In", "x", "y"), want("a/b", "Exists")),), (False, f"{POOL} In x y")),
        ({}, ((want(POOL, "In", "train"), want("a/b", "Exists")),), (None, "a/b Exists")),
        ({"a/b": "c"}, ((want(POOL, "In", "train"),),), (None, "a/b=c")),
        ({}, ((),), (False, "an empty node selector term")),
    ],
)
def test_selector_and_terms_together(selector, terms, answer):
    assert accepts(PoolLabels(KNOWN, closed=True), selector, terms) == answer


@pytest.mark.parametrize(
    ("selector", "terms", "answer"),
    [
        ({}, (), True),
        ({"instance": "x"}, (), True),
        ({POOL: "train"}, (), True),
        ({POOL: "dev"}, (), False),
        ({}, ((want(POOL, "In", "dev"),),), False),
        ({}, ((want(POOL, "NotIn", "dev"),),), True),
        ({}, ((want(POOL, "In", "dev"),), (want("zone", "In", "a"),)), True),
        ({}, ((want(POOL, "In", "dev"), want("zone", "In", "a")),), False),
        ({}, ((want(POOL, "In", "dev"),), (want(POOL, "In", "train"),)), True),
    ],
)
def test_a_queue_looks_only_at_labels_of_the_flavor(selector, terms, answer):
    assert flavor_accepts({POOL: "train"}, selector, terms) is answer


GPU = Taint("nvidia.com/gpu", "present")
FENCE = Taint(POOL, "dev")


@pytest.mark.parametrize(
    ("tolerations", "left"),
    [
        ((), GPU),
        ((Toleration("nvidia.com/gpu", "Equal", "present", "NoSchedule"),), FENCE),
        ((Toleration("nvidia.com/gpu", "", "present", ""),), FENCE),
        ((Toleration("nvidia.com/gpu", "Exists", "", ""),), FENCE),
        ((Toleration("nvidia.com/gpu", "Exists", "", "NoExecute"),), GPU),
        ((Toleration("nvidia.com/gpu", "Equal", "absent", ""),), GPU),
        ((Toleration("", "Exists", "", ""),), None),
        ((Toleration("", "Equal", "", ""),), GPU),
    ],
)
def test_taints_that_are_not_tolerated_keep_a_pod_away(tolerations, left):
    assert untolerated((GPU, FENCE), tolerations) == left


def test_the_labels_of_a_pool_are_those_of_the_plan_and_of_the_machine():
    plan = plan_of(
        platform([pool(labels={"tier": "gold"}), cut_pool(), shared_pool()], cloud="none")
    )
    found = labels_of(plan, plan.pool("train"))
    assert found.known["tier"] == ("gold",)
    assert found.known["node.kubernetes.io/instance-type"] == ("p5.48xlarge",)
    assert found.known["nvidia.com/gpu.product"] == ("NVIDIA-H100-80GB-HBM3",)
    assert found.known["kubernetes.io/arch"] == ("amd64",)
    assert not found.closed
    assert "topology.kubernetes.io/zone" not in found.known
    assert "nvidia.com/gpu.product" not in labels_of(plan, plan.pool("serve")).known
    zoned = plan_of(platform([pool(zones=["a", "b"])], cloud="simulated"))
    found = labels_of(zoned, zoned.pool("train"))
    assert found.known["topology.kubernetes.io/zone"] == ("a", "b")
    assert found.closed


def test_labels_that_nodes_get_only_when_they_run():
    assert find_discovered_label({"nvidia.com/gpu.product": "x"}, ()) == "nvidia.com/gpu.product"
    assert find_discovered_label({"nvidia.com/mig.config": "x"}, ()) is None
    assert find_discovered_label(
        {POOL: "train"}, ((want("nvidia.com/gpu.memory", "Gt", "1"),),)
    ) == ("nvidia.com/gpu.memory")


def test_labels_that_gke_gives_are_known_where_its_own_plugin_cuts_and_shares():
    one = pool(
        machine="a2-highgpu-8g", image="cos-gke", sharing={"mig": {"1g.5gb": 7}, "time_slicing": 2}
    )
    plan = plan_of(platform([one], cloud="gcp"))
    found = labels_of(plan, plan.pool("train"))
    for word, value in (
        *(("gpu-partition-size", "1g.5gb"), ("gpu-sharing-strategy", "time-sharing")),
        ("max-shared-clients-per-gpu", "2"),
    ):
        assert found.known[f"cloud.google.com/gke-{word}"] == (value,)
    key = "cloud.google.com/gke-gpu-partition-size"
    assert accepts(found, {key: "3g.20gb"}, ()) == (False, f"{key}=3g.20gb")
