"""Whether the platform brings Karpenter, and what is said of its pools; proofs/ has the cases of findings."""

import pytest

from gpuyard.plan import plan
from gpuyard.plan.capacity.scaling import installs_karpenter, unscaled_pool_findings
from kit.stacks import platform, pool, shared_pool, spec_of

IDS = {"scaling.image", "scaling.overlay"}


def ours(**rest):
    return pool(**{"nodes": "0..4", "scaling": "karpenter", **rest})


def said(*pools, **rest):
    """Ids and places of what is said of pools of Karpenter."""
    _, findings = plan(spec_of(platform(list(pools), cloud="aws", **rest)))
    return {(each.id, each.where) for each in findings if each.id in IDS}


@pytest.mark.parametrize(
    ("pools", "wanted"),
    [
        ([ours()], set()),
        ([ours(nodes="1..4")], set()),
        ([pool("first", nodes=2), ours(nodes=2)], set()),
        ([ours(image="bottlerocket-nvidia")], {("scaling.image", "pools[0].image")}),
        (
            [shared_pool(nodes="0..4", scaling="karpenter")],
            {("scaling.overlay", "pools[0].sharing")},
        ),
        (
            [pool("first", nodes="1..4"), ours(nodes="1..4", image="ubuntu-eks")],
            {("scaling.image", "pools[1].image")},
        ),
    ],
)
def test_what_karpenter_does_not_do_is_said_of_the_pool(pools, wanted):
    assert said(*pools) == wanted


def test_nothing_is_said_of_pools_that_it_does_not_scale():
    assert said(pool(nodes="1..4", image="bottlerocket-nvidia")) == set()
    there = {"cluster": {"existing": "blue"}}
    assert said(ours(nodes="1..4"), **there) == set()
    assert said(ours(nodes="1..4", machine="p99.huge")) == set()


def test_in_a_cluster_that_exists_each_of_its_pools_is_refused_and_no_other():
    pools = [ours(), pool("more", nodes="0..2"), ours(name="last")]
    there = spec_of(platform(pools, cloud="aws", cluster={"existing": "blue"}))
    assert [each.where for each in unscaled_pool_findings(there)] == [
        "pools[0].scaling",
        "pools[2].scaling",
    ]
    assert not installs_karpenter(there)
    assert unscaled_pool_findings(spec_of(platform(pools, cloud="aws"))) == []
    assert (
        unscaled_pool_findings(spec_of(platform(pools, cloud="none", cluster={"existing": "b"})))
        == []
    )
