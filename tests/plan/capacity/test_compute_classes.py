"""Which pools have a ComputeClass, and that whoever is sent to such a pool gets past its taint."""

import pytest

from gpuyard_core.catalogue.gke.classes import CLASS_LABEL
from kit.stacks import plan_of, platform

RUNGS = ["spot", "on-demand"]


def planned(cloud="gcp", more=(), **rest):
    here = {
        "gcp": ("a3-megagpu-8g", "us-central1-a"),
        "aws": ("p5.48xlarge", "us-east-1a"),
        "simulated": ("a3-megagpu-8g", "us-central1-a"),
    }
    machine, zone = here[cloud]
    pool = {"name": "train", "machine": machine, "nodes": "0..4", "zones": [zone], **rest}
    (found,) = plan_of(platform([pool], cloud=cloud, **dict(more))).pools
    return found


def test_a_pool_that_gke_scales_has_a_class_of_its_name():
    pool = planned(capacity=RUNGS)
    assert pool.compute_class == "pool-train"
    assert pool.labels[CLASS_LABEL] == pool.node_selector[CLASS_LABEL] == "pool-train"
    assert f"{CLASS_LABEL}=pool-train:NoSchedule" in map(str, pool.taints)


def test_what_nodes_and_flavors_say_is_the_same_with_a_rung_more():
    one, two = planned(capacity=["spot"]), planned(capacity=RUNGS)
    assert (one.labels, one.taints, one.flavor) == (two.labels, two.taints, two.flavor)


@pytest.mark.parametrize(
    "rest",
    [
        {"nodes": 4},
        {"capacity": ["flex-start"], "provisioning": "queued"},
        {"cloud": "aws"},
        {"cloud": "aws", "scaling": "karpenter"},
        {"cloud": "simulated"},
    ],
    ids=str,
)
def test_others_have_none(rest):
    pool = planned(**rest)
    assert pool.compute_class == ""
    assert CLASS_LABEL not in {*pool.labels, *pool.node_selector}
    assert CLASS_LABEL not in {taint.key for taint in pool.taints}


def test_a_pool_that_was_renamed_keeps_its_class():
    assert planned(previous_names=["old"], name="train").compute_class == "pool-old"
