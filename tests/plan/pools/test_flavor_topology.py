"""Placing pods near each other: the levels of a pool, and flavors named for what may not change."""

import pytest

from gpuyard_core.catalogue.topology import EC2_LAYER, GCE_BLOCK, GCE_HOST, GCE_SUBBLOCK
from gpuyard_core.names import CLIQUE_LABEL, HOSTNAME_LABEL, ZONE_LABEL
from kit.stacks import cut_pool, plan_of, platform, pool, team


def placed(*pools, cloud="simulated", **more):
    return plan_of(platform(list(pools), cloud=cloud, **more))


def test_a_pool_without_the_word_has_its_own_name_and_no_topology():
    plan = placed(pool(zones=["a", "b"]))
    (flavor,) = plan.queueing.flavors
    assert (flavor.name, flavor.topology) == ("train", None)
    assert plan.queueing.topologies == ()
    assert plan.pools[0].flavor == "train"


EC2_LEVELS = (f"{EC2_LAYER}1", f"{EC2_LAYER}2", f"{EC2_LAYER}3")
A4X = {
    "machine": "a4x-highgpu-4g",
    "capacity": [{"reserved": "r", "nodes": 4}],
    "zones": ["us-central1-a"],
}
RACK = {
    "machine": "p6e-gb200.36xlarge",
    "nodes": 9,
    "capacity": [{"block": "cr-0123456789abcdef0", "nodes": 9}],
    "zones": ["us-east-1a"],
}


@pytest.mark.parametrize(
    ("cloud", "changes", "levels"),
    [
        ("simulated", {"zones": ["a", "b"]}, (ZONE_LABEL, HOSTNAME_LABEL)),
        ("simulated", {}, (HOSTNAME_LABEL,)),
        ("none", {"zones": ["a"]}, (HOSTNAME_LABEL,)),
        ("aws", {}, (*EC2_LEVELS, HOSTNAME_LABEL)),
        ("aws", {"machine": "p6-b200.48xlarge"}, (*EC2_LEVELS, f"{EC2_LAYER}4", HOSTNAME_LABEL)),
        ("aws", {"machine": "p5.4xlarge"}, (HOSTNAME_LABEL,)),
        ("aws", {"machine": "p5.4xlarge", "zones": ["us-east-1a"]}, (ZONE_LABEL, HOSTNAME_LABEL)),
        ("gcp", {"machine": "a3-megagpu-8g"}, (GCE_BLOCK, GCE_SUBBLOCK, GCE_HOST, HOSTNAME_LABEL)),
        ("gcp", A4X, (GCE_BLOCK, GCE_SUBBLOCK, CLIQUE_LABEL, GCE_HOST, HOSTNAME_LABEL)),
        ("gcp", {"machine": "g2-standard-48", "zones": ["us-central1-a"]}, (ZONE_LABEL, HOSTNAME_LABEL)),
        ("aws", RACK, (*EC2_LEVELS, CLIQUE_LABEL, HOSTNAME_LABEL)),
    ],
)  # fmt: skip
def test_the_levels_are_what_nodes_of_the_cloud_carry(cloud, changes, levels):
    plan = placed(pool(topology=True, **changes), cloud=cloud)
    (topology,) = plan.queueing.topologies
    assert topology.levels == levels
    assert topology.name.startswith(
        f"{plan.name}-{levels[0].rpartition('/')[2].replace('.', '-')}-"
    )
    assert plan.queueing.flavors[0].topology == topology.name


def test_pools_with_the_same_levels_share_a_topology_and_others_do_not():
    plan = placed(
        pool("one", topology=True, zones=["a"]),
        pool("two", topology=True, zones=["b"]),
        pool("three", topology=True),
        pool("four", zones=["a"]),
    )
    names = [f.topology for f in plan.queueing.flavors]
    assert names[0] == names[1] != names[2]
    assert names[3] is None
    assert [t.name for t in plan.queueing.topologies] == [names[0], names[2]]


SAME = [
    {"nodes": 8},
    {"labels": {"rack": "r1"}},
    {"capacity": ["spot"], "nodes": 4},
    {"zones": ["a", "c"]},
]
OTHER = [{"zones": []}, {"sharing": {"time_slicing": 2}}, {"owners": ["vision"]}]


def flavor(**changes):
    raw = pool(**{"topology": True, "zones": ["a", "b"]} | changes)
    return placed(raw, teams=[team("vision", guarantee={})]).pools[0].flavor


@pytest.mark.parametrize("changes", SAME, ids=str)
def test_what_a_flavor_does_not_say_does_not_change_its_name(changes):
    assert flavor(**changes) == flavor()


@pytest.mark.parametrize("changes", OTHER, ids=str)
def test_what_kueue_would_not_change_gives_another_name(changes):
    assert flavor(**changes) != flavor()
    assert flavor(**changes).startswith("train-")


def test_turning_it_on_gives_another_name_than_off():
    assert flavor(topology=False) == "train" != flavor()


def test_nodes_of_ones_own_are_told_by_their_labels():
    chosen = [
        placed(pool(topology=True, select={"rack": rack}), cloud="none").pools[0].flavor
        for rack in ("r1", "r2")
    ]
    assert len(set(chosen)) == 2


def test_a_renamed_pool_keeps_its_flavor():
    before = flavor(name="old")
    assert flavor(name="new", previous_names=["old"]) == before


def test_queues_name_the_flavor_where_the_group_is_made():
    plan = placed(
        pool(topology=True), cut_pool(), teams=[team(guarantee={"train": 8, "serve/1g.5gb": 1})]
    )
    (first, second) = plan.teams[0].resource_groups
    assert first.flavors == (plan.pool("train").flavor,)
    assert second.flavors == ("serve",)
    assert plan.queueing.cohorts[0].resource_groups[0].flavors == (plan.pool("train").flavor,)


def test_a_brake_does_not_change_the_name_of_a_flavor():
    assert flavor(stop_policy="hold") == flavor()
