"""What moves up a ladder, by whom, and what is said where nothing does or where gangs would."""

import pytest

from gpuyard.plan.capacity.failback import has_failback
from gpuyard.plan.capacity.interruption import is_interruptible
from kit.stacks import findings, plan_of, platform, pool

HELD = {"reserved": "cr-0123456789abcdef0", "nodes": 2}
BLOCK = {"block": "cr-0123456789abcdef1", "nodes": 2}
AWS = {"zones": ["us-east-1a"], "nodes": "0..8", "failback": True}
GCP = {**AWS, "zones": ["us-central1-a"], "machine": "a3-megagpu-8g"}
KARPENTER = {**AWS, "scaling": "karpenter"}


def planned(cloud, **words):
    (found,) = plan_of(platform([pool(**words)], cloud=cloud)).pools
    return found


def ups(cloud, **words):
    return [rung.failback for rung in planned(cloud, **words).capacity_options]


@pytest.mark.parametrize(
    ("capacity", "expected"),
    [
        ([HELD, "spot", "on-demand"], [(), ("reserved",), ("reserved", "spot")]),
        ([HELD, BLOCK, "spot"], [(), (), ("reserved", "block")]),
        ([{"on-demand": True, "nodes": 2}, "spot"], [(), ()]),
        (["on-demand"], [()]),
    ],
    ids=str,
)
def test_karpenter_moves_to_what_is_cheaper(capacity, expected):
    assert ups("aws", **KARPENTER, capacity=capacity) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"capacity": ["spot", "on-demand"]}, [(), ("spot",)]),
        ({"capacity": [{"on-demand": True, "nodes": 2}, "spot"]}, [(), ("on-demand",)]),
        ({"capacity": ["on-demand"]}, [()]),
        ({"capacity": ["flex-start"], "provisioning": "queued"}, [()]),
        ({"capacity": ["spot", "on-demand"], "nodes": 4}, [(), ()]),
    ],
    ids=str,
)
def test_gke_moves_to_an_earlier_rung_whatever_it_costs(words, expected):
    assert ups("gcp", **{**GCP, **words}) == expected


def test_each_machine_of_a_rung_is_a_step_on_gke():
    machines = ["a3-highgpu-8g", "a3-megagpu-8g"]
    found = ups("gcp", **{**GCP, "machine": machines}, capacity=["spot", "on-demand"])
    assert found == [("a3-highgpu-8g",), ("spot", "a3-highgpu-8g")]


@pytest.mark.parametrize("cloud", ["aws", "simulated", "none"])
def test_nobody_else_moves_anything(cloud):
    assert ups(cloud, **AWS, capacity=["spot", "on-demand"]) == [(), ()]


def test_nothing_moves_where_no_pool_says_so():
    words = {**KARPENTER, "failback": False}
    assert not has_failback(planned("aws", **words, capacity=["spot", "on-demand"]))


def test_the_ladder_says_where_to_what_runs_moves():
    shown = planned("aws", **KARPENTER, capacity=[HELD, "spot", "on-demand"]).capacity
    assert shown == (
        "reserved cr-0123456789abcdef0 (2 nodes)",
        "spot, fails back to reserved",
        "on-demand, fails back to reserved or spot",
    )


def test_a_gang_whose_node_is_moved_stops_as_a_whole_also_without_spot():
    """The program that stops gangs runs where nodes go while jobs run."""
    ladder = [{"reserved": "ours", "nodes": 2}, "on-demand"]
    assert is_interruptible(planned("gcp", **GCP, capacity=ladder))
    assert not is_interruptible(planned("gcp", **{**GCP, "failback": False}, capacity=ladder))


# ── what is said ──────────────────────────────────────────────────────────────────────────────────
def said(cloud, more=(), **words):
    found = findings(platform([pool(**words)], cloud=cloud, **dict(more)))
    return {each.id: each for each in found if each.id.startswith("moves.")}


def shape(nodes, **rest):
    return {"name": "job", "pool": "train", "nodes": nodes, "gpus_per_node": 8, **rest}


UP = ["spot", "on-demand"]


@pytest.mark.parametrize(
    ("cloud", "words", "more"),
    [
        ("aws", {}, {}),
        ("aws", {"scaling": "karpenter", "capacity": ["on-demand"]}, {}),
        ("aws", {"sharing": {"time_slicing": 4}}, {}),
        ("aws", {"provisioning": "atomic", "capacity": UP}, {}),
        ("aws", {"image": "ubuntu-eks", "capacity": UP}, {}),
        ("aws", {"capacity": [{"on-demand": True, "nodes": 2}, "spot"]}, {}),
        ("aws", {"capacity": UP}, {"cluster": {"existing": "blue"}, "system": None}),
        ("aws", {"capacity": UP}, {"shapes": [shape(2)]}),
        ("gcp", {**GCP, "nodes": 4, "capacity": UP}, {}),
    ],
    ids=str,
)
def test_where_nothing_helps_the_word_goes(cloud, words, more):
    (one,) = said(cloud, more, **{**AWS, **words}).values()
    assert one.id in {"moves.ladder", "moves.scaling"}
    assert str(one.fix.message) == "remove `failback`"


def test_karpenter_is_the_fix_where_it_would_move():
    (one,) = said("aws", **AWS, capacity=UP).values()
    assert (one.id, one.fix.value) == ("moves.scaling", "karpenter")
    assert one.fix.at == ("pools", 0, "scaling")


VISION = {"name": "vision", "guarantee": {"train": 16}}
BORROWS = {"name": "vision", "guarantee": {"train": 8}, "borrow": {"train": 8}}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"shapes": [shape(2)]}, ["moves.gangs"]),
        ({"shapes": [shape(1)]}, []),
        ({"shapes": [shape(1)], "teams": [VISION]}, []),
        ({"shapes": [shape(2)], "teams": [VISION]}, ["moves.gangs"]),
        ({"shapes": [shape(2)], "teams": [BORROWS]}, ["moves.jobs"]),
        ({"teams": [VISION]}, ["moves.jobs"]),
        ({"teams": [BORROWS]}, []),
        ({}, []),
    ],
    ids=str,
)
@pytest.mark.parametrize(("cloud", "words"), [("aws", KARPENTER), ("gcp", GCP)], ids=["aws", "gcp"])
def test_gangs_with_a_guarantee_are_refused_and_others_told(cloud, words, more, expected):
    assert list(said(cloud, more, **words, capacity=UP)) == expected


def test_a_pool_that_does_not_stand_is_not_judged():
    assert said("aws", **{**KARPENTER, "machine": "p9.48xlarge"}, capacity=UP) == {}
