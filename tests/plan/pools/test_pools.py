"""Pools: everything derived from one that is sound."""

from fractions import Fraction

import pytest

from gpuyard.plan.records import AdvertisedResource
from gpuyard_core.catalogue.mig_layouts import MigInstance
from gpuyard_core.manifests.pods import Taint
from kit.stacks import CUT, cut_pool, plan_of, platform, pool, shared_pool, team

GPU_TAINT = Taint("nvidia.com/gpu", "present")


def first(*args, **rest):
    """The plan of one pool."""
    return plan_of(platform([pool(*args, **rest)])).pools[0]


def offers(plan):
    return [(a.resource, a.per_node, a.unit, a.gpu_share) for a in plan.advertised]


# ── what a node advertises, and what keeps pods off it ─────────────────────────────────────────────


def test_whole_gpus_are_advertised_as_they_are():
    found = first()
    assert offers(found) == [("nvidia.com/gpu", 8, "", Fraction(1))]
    assert found.taints == (GPU_TAINT,)
    assert (found.sharing, found.mig_strategy, found.mig_config, found.replicas) == (
        "none",
        "none",
        None,
        1,
    )


def test_a_part_of_a_gpu_is_one_resource_of_that_part():
    assert offers(first(machine="g6f.large")) == [("nvidia.com/gpu", 1, "", Fraction(1, 8))]


def test_slices_are_advertised_by_profile():
    found = plan_of(platform([cut_pool()])).pools[0]
    assert offers(found) == [
        ("nvidia.com/mig-1g.5gb", 16, "1g.5gb", Fraction(1, 7)),
        ("nvidia.com/mig-2g.10gb", 8, "2g.10gb", Fraction(2, 7)),
        ("nvidia.com/mig-3g.20gb", 8, "3g.20gb", Fraction(3, 7)),
    ]
    assert found.taints == (GPU_TAINT, Taint("gpuyard.dev/pool", "serve"))
    assert (found.sharing, found.mig_strategy, found.mig_config, found.replicas) == (
        "mig",
        "mixed",
        "serve.04e903",
        1,
    )
    assert found.layouts[0].gpus == tuple(range(8))
    assert found.layouts[0].placement == (
        MigInstance("2g.10gb", 0, 2),
        MigInstance("1g.5gb", 2, 1),
        MigInstance("1g.5gb", 3, 1),
        MigInstance("3g.20gb", 4, 4),
    )


def test_slices_of_layouts_by_gpu_are_added_up_and_the_rest_stays_whole():
    found = plan_of(
        platform(
            [
                cut_pool(
                    sharing={
                        "mig": [
                            {"gpus": "4-5", "3g.20gb": 2},
                            {"gpus": "0-2", "7g.40gb": 1},
                            {"gpus": 3, "3g.20gb": 1, "4g.20gb": 1},
                        ]
                    }
                )
            ]
        )
    ).pools[0]
    assert offers(found) == [
        ("nvidia.com/mig-3g.20gb", 5, "3g.20gb", (2 * Fraction(1) + Fraction(3, 7)) / 5),
        ("nvidia.com/mig-4g.20gb", 1, "4g.20gb", Fraction(4, 7)),
        ("nvidia.com/mig-7g.40gb", 3, "7g.40gb", Fraction(1)),
        ("nvidia.com/gpu", 2, "", Fraction(1)),
    ]
    assert [x.gpus for x in found.layouts] == [(0, 1, 2), (3,), (4, 5)]


def test_time_sliced_gpus_are_advertised_as_shares():
    found = plan_of(platform([shared_pool()])).pools[0]
    assert offers(found) == [("nvidia.com/gpu.shared", 16, "shared", Fraction(1, 4))]
    assert found.taints == (GPU_TAINT, Taint("gpuyard.dev/pool", "dev"))
    assert (found.sharing, found.mig_strategy, found.replicas) == ("time-slicing", "none", 4)


def test_mps_is_advertised_as_shares_too():
    found = first(sharing={"mps": 8})
    assert offers(found) == [("nvidia.com/gpu.shared", 64, "shared", Fraction(1, 8))]
    assert (found.sharing, found.replicas) == ("mps", 8)


def test_time_sliced_slices_are_advertised_as_shares_of_slices():
    found = plan_of(platform([cut_pool(sharing={"mig": {"3g.20gb": 2}, "time_slicing": 3})])).pools[
        0
    ]
    assert offers(found) == [
        ("nvidia.com/mig-3g.20gb.shared", 48, "3g.20gb.shared", Fraction(1, 6))
    ]
    assert (found.sharing, found.replicas) == ("mig+time-slicing", 3)


@pytest.mark.parametrize("mig", [{}, [], [{"gpus": "0-3"}], [{"gpus": "0-3"}, {"gpus": "4-7"}]])
def test_a_layout_without_slices_is_no_cut(mig):
    found = plan_of(platform([cut_pool(sharing={"mig": mig})])).pools[0]
    assert offers(found) == [("nvidia.com/gpu", 8, "", Fraction(1))]
    assert (found.sharing, found.mig_config, found.taints) == ("none", None, (GPU_TAINT,))


def test_gpus_that_are_not_cut_after_all_can_be_time_sliced():
    found = plan_of(platform([cut_pool(sharing={"mig": {}, "time_slicing": 2})])).pools[0]
    assert offers(found) == [("nvidia.com/gpu.shared", 16, "shared", Fraction(1, 2))]


@pytest.mark.parametrize(
    "sharing",
    [
        "none",
        CUT,
        {"time_slicing": 4},
        {"mps": 3},
        {**CUT, "time_slicing": 2},
        {"mig": [{"gpus": 0, "1g.5gb": 7}, {"gpus": 1, "4g.20gb": 1}]},
    ],
)
def test_what_a_node_advertises_is_all_of_its_gpus(sharing):
    found = plan_of(platform([cut_pool(sharing=sharing)])).pools[0]
    assert sum(a.per_node * a.gpu_share for a in found.advertised) == 8


# ── labels, names, nodes ───────────────────────────────────────────────────────────────────────────


def test_nodes_carry_our_labels_and_the_users():
    assert plan_of(platform([cut_pool(labels={"tier": "gold", "example.org/x": "y"})])).pools[
        0
    ].labels == {
        "example.org/x": "y",
        "gpuyard.dev/platform": "lab",
        "gpuyard.dev/pool": "serve",
        "nvidia.com/device-plugin.config": "serve.9def10",
        "nvidia.com/mig.config": "serve.04e903",
        "tier": "gold",
    }


def test_a_renamed_pool_keeps_its_first_name_everywhere_but_in_the_file():
    found = plan_of(platform([cut_pool("inference", previous_names=["serve", "middle"])])).pools[0]
    assert (found.name, found.stable_name, found.plugin_config, found.mig_config) == (
        "inference",
        "serve",
        "serve.9def10",
        "serve.04e903",
    )
    assert found.labels["gpuyard.dev/pool"] == "serve"
    assert found.taints[1].value == "serve"


@pytest.mark.parametrize(
    ("cloud", "rest", "scaling", "start"),
    [
        ("aws", {"nodes": "1..4"}, "autoscaler", 1),
        ("gcp", {"nodes": "1..4", "machine": "a2-highgpu-8g"}, "autoscaler", 1),
        ("none", {"nodes": "1..4"}, "autoscaler", 1),
        ("aws", {"nodes": 4}, "fixed", 4),
        ("aws", {"nodes": "4..4"}, "fixed", 4),
        ("aws", {"nodes": "1..4", "scaling": "autoscaler"}, "autoscaler", 1),
        ("aws", {"nodes": "0..4", "scaling": "karpenter"}, "karpenter", 0),
        ("simulated", {"nodes": "1..4"}, "fixed", 4),
        ("simulated", {"nodes": "1..4", "scaling": "karpenter"}, "fixed", 4),
    ],
)
def test_who_adds_nodes_and_how_many_there_are_from_the_beginning(cloud, rest, scaling, start):
    found = plan_of(platform([pool(**rest)], cloud=cloud)).pools[0]
    assert (found.scaling, found.start_nodes) == (scaling, start)


def test_the_ladder_is_told_in_words():
    ladder = [{"reserved": "cr-1", "nodes": 1}, {"spot": True, "nodes": 2}, "on-demand"]
    assert first(capacity=ladder).capacity == (
        "reserved cr-1 (1 nodes)",
        "spot (2 nodes)",
        "on-demand",
    )


def test_the_first_machine_of_a_list_is_preferred():
    found = first(machine=["p5.48xlarge", "p5.48xlarge"])
    assert found.machines == ("p5.48xlarge", "p5.48xlarge")
    found = first(machine=["g6.24xlarge", "g6.12xlarge"])
    assert found.machine.name == "g6.24xlarge"


def test_a_machine_of_ones_own_is_described():
    machine = first(machine={"gpu": "a100-40gb", "gpus": 4, "cpu": 64, "memory_gib": "1TB"}).machine
    assert (machine.name, machine.gpus, machine.vcpus, machine.memory_gib) == (
        "a100-40x4",
        4,
        64,
        1024,
    )
    assert machine.gpu.name == "A100-40"
    assert machine.on_demand is None


def test_names_of_pools_and_teams_are_found_and_others_told():
    plan = plan_of(platform([pool("a"), pool("b")], [team("t", guarantee={"a": 1})]))
    assert plan.pool("b").name == "b"
    assert plan.team("t").name == "t"
    assert plan.team("t").quota("a", "nvidia.com/gpu").nominal == 1
    assert plan.team("t").quota("b", "nvidia.com/gpu") is None
    with pytest.raises(KeyError, match="'c'; known names: a, b"):
        plan.pool("c")


def test_a_record_is_told_in_words():
    assert str(GPU_TAINT) == "nvidia.com/gpu=present:NoSchedule"
    assert first().find_advertised_resource("shared") is None
    assert first().find_advertised_resource("") == AdvertisedResource(
        "nvidia.com/gpu", 8, "", Fraction(1)
    )
