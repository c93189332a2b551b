"""Nodes that go while jobs run: which pools have such, and what a notice is expected to lose."""

import pytest

from gpuyard.plan.records import SpotDisruption
from kit.every import every
from kit.stacks import cut_pool, plan_of, platform, pool, shape, team

EVERY = {"checkpoint_interval_minutes": 60, "checkpoint_seconds": 30}


def interrupted(*pools, said=None, cloud="aws", **more):
    queueing = {"queueing": {"interruption": said}} if said else {}
    raw = platform(list(pools), [team(guarantee={"train": 8})], cloud=cloud, **queueing, **more)
    return plan_of(raw).interruption


def loss(*pools, said=EVERY, **more):
    found = interrupted(*pools, said=said, **more)
    return found.pools[0].loss


SPOT = pool(nodes="0..4", capacity=["spot", "on-demand"])
GKE = {"machine": "a3-highgpu-8g", "zones": ["us-central1-a"]}


@every(
    "pools, more, expected",
    [
        ([SPOT], {}, {"train": (("spot",), 120)}),
        ([SPOT], {"cloud": "simulated"}, {"train": (("spot",), 120)}),
        (
            [pool(nodes="0..4", capacity=["spot"], **GKE)],
            {"cloud": "gcp"},
            {"train": (("spot",), 15)},
        ),
        (
            [pool(nodes="0..4", capacity=["flex-start"], **GKE)],
            {"cloud": "gcp"},
            {"train": (("flex-start",), None)},
        ),
        (
            [
                pool(
                    nodes=4,
                    capacity=[{"block": "cr-0123456789abcdef0", "nodes": 4}],
                    zones=["us-east-1a"],
                )
            ],
            {},
            {"train": (("block",), None)},
        ),
        # Karpenter is told of machines that fail, too
        ([pool(nodes="0..4", scaling="karpenter")], {}, {"train": ((), None)}),
        ([pool(), cut_pool(capacity=["spot"], nodes="0..1")], {}, {"serve": (("spot",), 120)}),
    ],
)
def test_nodes_go_as_they_are_bought(pools, more, expected):
    found = interrupted(*pools, **more)
    assert {
        each.pool: (each.capacity_options, each.notice_seconds) for each in found.pools
    } == expected
    assert all(each.loss is None for each in found.pools)


@every(
    "raw",
    [
        platform([pool(nodes="0..4")], [team()], cloud="aws"),
        platform([SPOT], cloud="aws"),
        platform([pool()], [team()]),
    ],
)
def test_nothing_is_made_where_no_node_goes_under_a_job(raw):
    assert plan_of(raw).interruption is None


@every(
    "said, expected, worst",
    [
        ({"checkpoint_interval_minutes": 60}, 31.0, 61.0),
        ({"checkpoint_interval_minutes": 1, "checkpoint_seconds": 600}, 10.5, 11.0),
        # the program looks every three seconds: of two minutes 117 seconds are left
        (
            {
                "checkpoint_interval_minutes": 60,
                "checkpoint_seconds": 117,
                "checkpoint_on_notice": True,
            },
            0,
            0,
        ),
        (
            {
                "checkpoint_interval_minutes": 60,
                "checkpoint_seconds": 120,
                "checkpoint_on_notice": True,
            },
            32.0,
            62.0,
        ),
        ({"checkpoint_interval_minutes": 60, "checkpoint_seconds": 1}, 30 + 1 / 60, 60 + 1 / 60),
    ],
)
def test_half_an_interval_is_lost_and_what_was_being_written(said, expected, worst):
    found = loss(SPOT, said=said)
    assert found.expected_minutes == pytest.approx(expected)
    assert found.worst_minutes == pytest.approx(worst)


@every(
    "pools, shapes, gpus",
    [
        ([SPOT], [], 32),
        ([pool(nodes="0..4", capacity=[{"spot": True, "nodes": 2}, "on-demand"])], [], 16),
        ([SPOT], [shape(gpus_per_node=8, nodes=2), shape("b", gpus_per_node=8, nodes=3)], 24),
        ([SPOT], [shape(gpus_per_node=2)], 2),
        ([cut_pool("train", nodes="0..2", capacity=["spot"])], [], 16),
    ],
)
def test_what_is_lost_is_counted_for_the_largest_job_that_is_known(pools, shapes, gpus):
    teams = [team(guarantee={"train/1g.5gb": 1} if pools[0].get("sharing") else {"train": 24})]
    raw = platform(pools, teams, cloud="aws", shapes=shapes, queueing={"interruption": EVERY})
    (found,) = plan_of(raw).interruption.pools
    assert found.loss is not None
    assert found.loss.gpus == gpus


def test_gpu_hours_are_minutes_of_all_its_gpus():
    found = SpotDisruption(expected_minutes=90, worst_minutes=180, gpus=16)
    assert found.expected_gpu_hours == 24
