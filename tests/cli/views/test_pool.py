"""The facts of a pool that `gpuyard plan -v` shows."""

import pytest

from gpuyard.cli.views.pool import pool_facts
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool

LADDER = {"nodes": "0..4", "zones": ["us-east-1a"], "capacity": ["spot", "on-demand"]}
OF_USE = (
    "a node is ready 1 to 7 minutes after the request, if machines are available; 16 to 18 s more per GB"
    " of image"
)
STAYS_ON_AWS = 'karpenter.sh/do-not-disrupt: "true"'


def facts(one, cloud="none"):
    return list(pool_facts(plan_of(platform([one], cloud=cloud)).pools[0]))


def test_every_pool_says_what_is_on_its_nodes():
    assert facts(pool(zones=["room-1"])) == [
        ("label", "gpuyard.dev/platform=lab"),
        ("label", "gpuyard.dev/pool=train"),
        ("label", "nvidia.com/device-plugin.config=train"),
        ("taint", "nvidia.com/gpu=present:NoSchedule"),
        ("zone", "room-1"),
        ("alloc", "190 CPUs, 1,965 GiB for pods; 23 CPUs and 245 GiB per GPU"),
        ("numa", "restricted, 2 NUMA nodes"),
        ("levels", "kubernetes.io/hostname"),
        (
            "nccl",
            "EFA: aws-ofi-nccl in the image; FI_PROVIDER, NCCL_PROTO and NCCL_MIN_CHANNELS stay unset",
        ),
    ]


def test_what_nobody_has_seen_is_said():
    assert ("numa", "none, unknown NUMA nodes") in facts(pool(machine="p5en.48xlarge"))


def test_nodes_that_exist_are_told_by_their_labels():
    assert ("select", "rack=a, tier=gold") in facts(pool(select={"rack": "a", "tier": "gold"}))


@pytest.mark.parametrize(
    ("one", "cloud", "expected"),
    [
        (pool(nodes="0..4", scaling="karpenter"), "aws", []),
        (
            shared_pool(nodes="0..4", scaling="karpenter"),
            "aws",
            [
                "Karpenter reads nvidia.com/gpu.shared: 16 from a NodeOverlay, in addition to whole GPUs",
                "the taint gpuyard.dev/pool=dev keeps pods with whole GPUs away",
            ],
        ),
        (
            cut_pool(nodes="0..4", scaling="autoscaler"),
            "aws",
            ["Cluster Autoscaler reads the resources of a node from 13 tags of its group"],
        ),
        (
            pool(machine="a2-highgpu-8g", nodes="1..4", sharing={"mps": 2}),
            "gcp",
            [
                "GKE tries the capacity options in order, by ComputeClass pool-train",
                "discovered only from a running node: nvidia.com/gpu.shared",
            ],
        ),
    ],
)
def test_who_adds_nodes_and_how_they_know_what_a_node_holds(one, cloud, expected):
    assert [text for kind, text in facts(one, cloud) if kind == "scale"] == expected


def test_nodes_that_stand_close_together_say_so():
    one = pool(zones=["us-east-1a"], nodes="0..4", capacity=["spot", "on-demand"])
    assert ("place", "in one cluster placement group: spot, on-demand") in facts(one, "aws")


@pytest.mark.parametrize(
    ("one", "cloud", "words"),
    [
        (
            pool(**LADDER, scaling="karpenter", failback=True),
            "aws",
            ["by Karpenter, which also", STAYS_ON_AWS],
        ),
        (
            pool(
                **LADDER,
                scaling="karpenter",
                failback=True,
                disruption_window={"cron": "0 2 * * 6", "hours": 4},
            ),
            "aws",
            ["by Karpenter in the disruption window, which also"],
        ),
        (
            pool(
                machine="a2-highgpu-8g", nodes="0..4", capacity=["spot", "on-demand"], failback=True
            ),
            "gcp",
            ["by GKE; a pod opts out with", 'safe-to-evict: "false"'],
        ),
    ],
    ids=["karpenter", "hours", "gke"],
)
def test_who_moves_what_runs_is_said_and_how_a_pod_stays(one, cloud, words):
    (said,) = [text for kind, text in facts(one, cloud) if kind == "moves"]
    assert all(each in said for each in words)


def test_where_nothing_moves_nothing_is_said():
    assert "moves" not in dict(facts(pool(**LADDER, scaling="karpenter"), "aws"))


@pytest.mark.parametrize(
    ("nodes", "cloud", "expected"),
    [
        (
            "0..4",
            "aws",
            [OF_USE],
        ),
        (4, "aws", []),
        (4, "none", []),
    ],
)
def test_how_long_a_node_takes_is_said_where_nodes_come_and_go(nodes, cloud, expected):
    found = facts(pool(nodes=nodes), cloud)
    assert [text for kind, text in found if kind == "start"] == expected
