"""Asking an autoscaler: one check for each way to ask, told so that a refused job gives its quota back."""

import pytest

from gpuyard.plan.capacity.provisioning import PARAMETERS, RETRIES
from gpuyard.spec.sections import Provisioning
from gpuyard_core.catalogue.kubernetes.autoscalers import GKE_NODE_LABEL, PROVISIONING_CLASSES
from gpuyard_core.manifests.pods import Taint
from kit.stacks import findings, plan_of, platform, pool

GKE = {"cloud": "gcp"}
FLEX = {"machine": "a3-megagpu-8g", "nodes": "0..4", "capacity": ["flex-start"]}


def checks(*pools, **more):
    return plan_of(platform(list(pools), **more)).queueing.checks


def test_without_the_word_nobody_is_asked():
    assert checks(pool()) == ()


def test_every_word_of_the_vocabulary_has_a_class_its_parameters_and_retries():
    words = {p.value for p in Provisioning}
    assert set(PROVISIONING_CLASSES) == set(PARAMETERS) == set(RETRIES) == words


def test_pools_that_ask_alike_share_a_check_for_all_that_they_advertise():
    made = checks(
        pool("big", nodes="0..4", provisioning="atomic", machine="a2-highgpu-8g"),
        pool(
            "cut",
            nodes="1..4",
            provisioning="atomic",
            machine="a2-highgpu-8g",
            sharing={"mig": {"1g.5gb": 7}},
        ),
        pool(
            "look", nodes="0..4", provisioning="check-capacity", machine="g2-standard-48", zones=[]
        ),
        **GKE,
    )
    assert [(c.name, c.provisioning, c.resources) for c in made] == [
        ("lab-check-capacity", "check-capacity", ("nvidia.com/gpu",)),
        ("lab-atomic", "atomic", ("nvidia.com/gpu", "nvidia.com/mig-1g.5gb")),
    ]
    assert [c.parameters for c in made] == [{"noRetry": "true"}, {"ValidUntilSeconds": "900"}]
    assert [c.node_label for c in made] == [None, None]


def test_queued_nodes_are_for_one_job_and_gke_does_the_waiting():
    (check,) = checks(pool(**FLEX, provisioning="queued"), **GKE)
    assert (check.provisioning_class, check.node_label) == (
        "queued-provisioning.gke.io",
        GKE_NODE_LABEL,
    )
    assert (check.retries, check.first_wait_seconds, check.longest_wait_seconds) == (3, 60, 1800)


@pytest.mark.parametrize(("word", "queued"), [("queued", True), ("atomic", False), (None, False)])
def test_the_node_pool_takes_nodes_by_request_only_when_it_is_asked_so(word, queued):
    plan = plan_of(platform([pool(**FLEX, provisioning=word)], **GKE))
    assert plan.pools[0].capacity_options[0].gcp.queued is queued
    # a flavor that does not tolerate what GKE taints them with would admit jobs that no node takes
    taint = Taint("cloud.google.com/gke-queued", "true")
    assert (taint in plan.pools[0].taints) is queued
    (flavor,) = plan.queueing.flavors
    assert (taint in flavor.taints) is queued


def test_a_simulated_story_is_short():
    (check,) = checks(pool(provisioning="check-capacity"), cloud="simulated")
    assert (check.retries, check.first_wait_seconds) == (2, 5)


def test_claims_are_asked_for_with_everything_else():
    raw = pool(nodes="1..4", scaling="autoscaler", sharing="dra", provisioning="atomic")
    (check,) = checks(raw, cloud="aws")
    assert check.resources == ()


@pytest.mark.parametrize(
    ("cloud", "changes", "said"),
    [
        ("gcp", {"machine": "a2-highgpu-8g", "nodes": "0..4", "provisioning": "atomic"}, set()),
        ("gcp", {"machine": "a2-highgpu-8g", "provisioning": "atomic"}, {"provisioning.fixed"}),
        (
            "aws",
            {"nodes": "0..4", "scaling": "karpenter", "provisioning": "atomic"},
            {"provisioning.karpenter"},
        ),
        ("aws", {"provisioning": "queued"}, {"provisioning.queued"}),
        ("none", {"nodes": "0..4", "provisioning": "atomic"}, {"provisioning.flag"}),
        ("simulated", {"provisioning": "atomic"}, set()),
        ("simulated", {"provisioning": "queued"}, {"provisioning.queued"}),
    ],
)
def test_one_thing_is_said_of_each(cloud, changes, said):
    found = findings(platform([pool(**changes)], cloud=cloud))
    assert {f.id for f in found if f.id.startswith("provisioning.")} == said
