"""Pools: what they are refused for, and everything derived from one that is sound."""

from fractions import Fraction

import pytest

from apply_fix import check_fix
from builders import (
    CUT,
    cut_pool,
    findings,
    ids,
    only,
    parts,
    plan_of,
    platform,
    pool,
    shared_pool,
    team,
)
from gpuyard.catalogue.machines import MACHINES
from gpuyard.catalogue.mig import MIG_PRODUCTS
from gpuyard.plan.records import Advertised, Slice, Taint

P0 = ("pools", 0)
AWS = sum(m.cloud == "aws" and m.is_gpu_machine for m in MACHINES.values())
GCP = sum(m.cloud == "gcp" and m.is_gpu_machine for m in MACHINES.values())
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
        "serve",
        1,
    )
    assert found.layouts[0].gpus == tuple(range(8))
    assert found.layouts[0].placement == (
        Slice("2g.10gb", 0, 2),
        Slice("1g.5gb", 2, 1),
        Slice("1g.5gb", 3, 1),
        Slice("3g.20gb", 4, 4),
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
        "nvidia.com/device-plugin.config": "serve",
        "nvidia.com/mig.config": "serve",
        "tier": "gold",
    }


def test_a_renamed_pool_keeps_its_first_name_everywhere_but_in_the_file():
    found = plan_of(platform([cut_pool("inference", formerly=["serve", "middle"])])).pools[0]
    assert (found.name, found.stable_name, found.plugin_config, found.mig_config) == (
        "inference",
        "serve",
        "serve",
        "serve",
    )
    assert found.labels["gpuyard.dev/pool"] == "serve"
    assert found.taints[1].value == "serve"


@pytest.mark.parametrize(
    ("cloud", "rest", "scaling", "start"),
    [
        ("aws", {"nodes": "1..4"}, "karpenter", 1),
        ("gcp", {"nodes": "1..4", "machine": "a2-highgpu-8g"}, "autoscaler", 1),
        ("none", {"nodes": "1..4"}, "autoscaler", 1),
        ("aws", {"nodes": 4}, "fixed", 4),
        ("aws", {"nodes": "4..4"}, "fixed", 4),
        ("aws", {"nodes": "1..4", "scaling": "autoscaler"}, "autoscaler", 1),
        ("aws", {"nodes": 4, "scaling": "karpenter"}, "karpenter", 4),
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
    with pytest.raises(KeyError, match="'c'; there are: a, b"):
        plan.pool("c")


def test_a_record_is_told_in_words():
    assert str(GPU_TAINT) == "nvidia.com/gpu=present:NoSchedule"
    assert first().unit("shared") is None
    assert first().unit("") == Advertised("nvidia.com/gpu", 8, "", Fraction(1))


# ── refusals: id, platform, path, problem, given, allowed ──────────────────────────────────────────

DESCRIBED = {"gpu": "L4", "gpus": 1, "cpu": 8, "memory_gib": 64}
SIX = "p6-b300.48xlarge, p6-b200.48xlarge, p5en.48xlarge, p5e.48xlarge, p5.4xlarge, p5.48xlarge"
ALL_GPUS = (
    "T4, T4G, V100-32, A10G, A30, A100-40, A100-80, L4, L40S, H100, H100-94, H200, B200, B300, GB200, GB300,"
    " RTX6000, RTX4500"
)
OWN = "a name of its own for each pool"
UNLIKE = "the machines of one pool must have the same GPUs, as many, and the same architecture"

REFUSED = [
    (
        "pool.duplicate",
        platform([pool(), pool()]),
        ("pools", 1, "name"),
        "the name is taken: another pool has it, now or formerly",
        "train",
        OWN,
        "write train-2",
    ),
    (
        "pool.duplicate",
        platform([pool(), pool("other", formerly=["train"])]),
        ("pools", 1, "name"),
        "the name is taken: another pool has it, now or formerly",
        "other formerly train",
        OWN,
        "remove `formerly`",
    ),
    (
        "pool.duplicate",
        platform([pool(), pool(formerly=["old"])]),
        ("pools", 1, "name"),
        "the name is taken: another pool has it, now or formerly",
        "train formerly old",
        OWN,
        "write train-2",
    ),
    (
        "pool.duplicate",
        platform([pool("a", formerly=["b"]), pool("a", formerly=["b"])]),
        ("pools", 1, "name"),
        "the name is taken: another pool has it, now or formerly",
        "a formerly b",
        OWN,
        "write a-2 and remove `formerly`",
    ),
    (
        "pool.duplicate",
        platform([pool("x" * 40), pool("x" * 40)]),
        ("pools", 1, "name"),
        "the name is taken: another pool has it, now or formerly",
        "x" * 40,
        OWN,
        f"write {'x' * 38}-2",
    ),
    (
        "pool.duplicate",
        platform([pool("system")]),
        (*P0, "name"),
        "the name is taken: the system nodes have it",
        "system",
        OWN,
        "write system-2",
    ),
    (
        "pool.duplicate",
        platform([pool("system", formerly=["x"])]),
        (*P0, "name"),
        "the name is taken: the system nodes have it",
        "system formerly x",
        OWN,
        "write system-2",
    ),
    (
        "pool.machine_unknown",
        platform([pool(machine="p5.48xlrge")], cloud="aws"),
        (*P0, "machine"),
        "no such machine in the catalogue",
        "p5.48xlrge",
        (
            "p5.48xlarge, p6-b300.48xlarge, p6-b200.48xlarge, p5en.48xlarge, p5e.48xlarge, p5.4xlarge,"
            f" p4de.24xlarge, … ({AWS} in the catalogue)"
        ),
        "write p5.48xlarge",
    ),
    (
        "pool.machine_unknown",
        platform([pool(machine=["p5.48xlarge", "??"])], cloud="aws"),
        (*P0, "machine", 1),
        "no such machine in the catalogue",
        "??",
        SIX + f", … ({AWS} in the catalogue)",
        None,
    ),
    (
        "pool.machine_cloud",
        platform([pool(machine="p5.48xlarge")], cloud="gcp"),
        (*P0, "machine"),
        "aws sells it, gcp does not",
        "p5.48xlarge",
        (
            "a2-highgpu-1g, a2-highgpu-2g, a2-highgpu-4g, a2-highgpu-8g, a2-megagpu-16g, a2-ultragpu-1g,"
            f" … ({GCP} in the catalogue)"
        ),
        None,
    ),
    (
        "pool.no_gpu",
        platform([pool(machine="m7i.xlarge")], cloud="aws"),
        (*P0, "machine"),
        "this machine has no GPU",
        "m7i.xlarge",
        "a GPU machine; machines without belong to `system`",
        None,
    ),
    (
        "pool.machines_unlike",
        platform([pool(machine=["p5.48xlarge", "p4d.24xlarge"])]),
        (*P0, "machine"),
        UNLIKE,
        "p5.48xlarge (8 × H100, amd64), p4d.24xlarge (8 × A100-40, amd64)",
        "machines like p5.48xlarge",
        "make a pool of each kind",
    ),
    (
        "pool.gpu_unknown",
        platform([pool(machine={**DESCRIBED, "gpu": "H1000"})]),
        (*P0, "machine", "gpu"),
        "no GPU of that name in the catalogue",
        "H1000",
        ALL_GPUS,
        "write H100",
    ),
    (
        "pool.gpu_unknown",
        platform([pool(machine={**DESCRIBED, "gpu": "??"})]),
        (*P0, "machine", "gpu"),
        "no GPU of that name in the catalogue",
        "??",
        ALL_GPUS,
        None,
    ),
    (
        "pool.machine_described",
        platform([pool(machine=DESCRIBED)], cloud="aws"),
        (*P0, "machine"),
        "aws sells machine types; a described machine is for clusters of your own",
        "",
        "a machine type",
        "write g6.xlarge",
    ),
    (
        "pool.machine_described",
        platform([pool(machine={**DESCRIBED, "gpu": "RTX6000"})], cloud="gcp"),
        (*P0, "machine"),
        "gcp sells machine types; a described machine is for clusters of your own",
        "",
        "a machine type",
        "write g4-standard-48",
    ),
    (
        "pool.machine_described",
        platform([pool(machine={**DESCRIBED, "gpus": 3})], cloud="aws"),
        (*P0, "machine"),
        "aws sells machine types; a described machine is for clusters of your own",
        "",
        "a machine type",
        None,
    ),
    (
        "pool.label_reserved",
        platform([pool(labels={"nvidia.com/gpu.product": "x"})]),
        (*P0, "labels", "nvidia.com/gpu.product"),
        "labels of nvidia.com are set by Kubernetes, NVIDIA or this platform",
        "nvidia.com/gpu.product",
        "labels of a domain of yours, or without one",
        "remove it",
    ),
    (
        "pool.label_reserved",
        platform([pool(labels={"node.kubernetes.io/x": "y"})]),
        (*P0, "labels", "node.kubernetes.io/x"),
        "labels of node.kubernetes.io are set by Kubernetes, NVIDIA or this platform",
        "node.kubernetes.io/x",
        "labels of a domain of yours, or without one",
        "remove it",
    ),
    (
        "pool.fixed_range",
        platform([pool(nodes="1..4", scaling="fixed")]),
        (*P0, "nodes"),
        "a pool that does not scale has one number of nodes",
        "1..4",
        "one number, or scaling: karpenter or autoscaler",
        "write 4",
    ),
    (
        "capacity.not_sold",
        platform(
            [pool(machine="p3dn.24xlarge", capacity=["spot", {"block": "cb", "nodes": 1}])],
            cloud="aws",
        ),
        (*P0, "capacity", 1),
        "p3dn.24xlarge is not sold as block (EC2 DescribeInstanceTypes)",
        "block",
        "reserved, spot, on-demand",
        "write spot",
    ),
    (
        "capacity.not_sold",
        platform([pool(machine="a3-highgpu-1g")], cloud="gcp"),
        (*P0, "capacity"),
        (
            "a3-highgpu-1g is not sold as on-demand (karpenter-provider-gcp initial-prices.json (us-central1,"
            " refreshed 2026-08-03))"
        ),
        "on-demand, by default",
        "reserved, flex-start, spot",
        "write flex-start",
    ),
    (
        "capacity.not_sold",
        platform([pool(machine="p6e-gb200.36xlarge", capacity=["spot"])], cloud="aws"),
        (*P0, "capacity", 0),
        (
            "p6e-gb200.36xlarge is not sold as spot"
            " (public announcements; absent from DescribeInstanceTypes data)"
        ),
        "spot",
        "block",
        None,
    ),
    (
        "capacity.over_nodes",
        platform(
            [
                pool(
                    nodes="1..4",
                    capacity=[{"reserved": "a", "nodes": 3}, {"block": "b", "nodes": 2}],
                )
            ]
        ),
        (*P0, "nodes"),
        "reservations hold 5 nodes, the pool may have 4: the rest is paid and never used",
        "1..4",
        "at least 5 nodes at most",
        "write 1..5",
    ),
    (
        "capacity.over_nodes",
        platform([pool(nodes=4, scaling="fixed", capacity=[{"reserved": "a", "nodes": 5}])]),
        (*P0, "nodes"),
        "reservations hold 5 nodes, the pool may have 4: the rest is paid and never used",
        "4",
        "at least 5 nodes at most",
        "write 5",
    ),
    (
        "capacity.over_nodes",
        platform([pool(capacity=[{"reserved": "a", "nodes": 10001}])]),
        (*P0, "nodes"),
        "reservations hold 10001 nodes, the pool may have 4: the rest is paid and never used",
        "4",
        "at least 10001 nodes at most",
        None,
    ),
    (
        "sharing.fraction",
        platform([pool(machine="g6f.large", sharing={"time_slicing": 2})]),
        (*P0, "sharing"),
        "g6f.large has 1/8 of a GPU already; a part cannot be shared again",
        "",
        "no sharing",
        "remove `sharing`",
    ),
    (
        "mps.clients",
        platform([pool(machine="p3dn.24xlarge", sharing={"mps": 17})]),
        (*P0, "sharing", "mps"),
        "V100-32 (compute capability below 7.5) serves at most 16 MPS clients",
        "17",
        "2 to 16",
        "write mps: 16",
    ),
    (
        "mig.not_possible",
        platform([pool(machine="g6.12xlarge", sharing=CUT)]),
        (*P0, "sharing", "mig"),
        "L4 cannot be cut into MIG slices, or nobody has published how",
        "g6.12xlarge",
        "MIG on " + ", ".join(MIG_PRODUCTS),
        "share it by time_slicing: 4 instead",
    ),
    (
        "mig.gpus",
        platform([cut_pool(sharing={"mig": [{"gpus": "6-9", "7g.40gb": 1}]})]),
        (*P0, "sharing", "mig", 0, "gpus"),
        "no such GPU in one node: 8, 9",
        "6-9",
        "0-7, each GPU in one layout",
        None,
    ),
    (
        "mig.gpus",
        platform([cut_pool(sharing={"mig": [{"gpus": "0-3"}, {"gpus": [3, 5], "7g.40gb": 1}]})]),
        (*P0, "sharing", "mig", 1, "gpus"),
        "this GPU has a layout already: 3",
        "3,5",
        "0-7, each GPU in one layout",
        None,
    ),
    (
        "mig.gpus",
        platform([cut_pool(sharing={"mig": [{"gpus": 0, "7g.40gb": 1}, {"7g.40gb": 1}]})]),
        (*P0, "sharing", "mig", 1),
        "this GPU has a layout already: 0",
        "0-7",
        "0-7, each GPU in one layout",
        None,
    ),
    (
        "mig.placement",
        platform([cut_pool(sharing={"mig": {"3g.20gb": 1, "1g.5gb": 5}})]),
        (*P0, "sharing", "mig"),
        "this layout does not fit on one A100-40: 8 compute slices of 7",
        "{3g.20gb: 1, 1g.5gb: 5}",
        "7 compute slices on 8 memory units; `gpuyard mig A100-40` lists every profile",
        "the nearest that fits: {1g.5gb: 4, 3g.20gb: 1}",
    ),
]


@pytest.mark.parametrize(
    ("kind", "raw", "path", "problem", "given", "allowed", "fix"),
    REFUSED,
    ids=[f"{r[0]}-{i}" for i, r in enumerate(REFUSED)],
)
def test_a_pool_that_cannot_be_is_refused_with_everything_to_act_on(
    kind, raw, path, problem, given, allowed, fix
):
    finding = only(raw)
    assert parts(finding) == (kind, path, problem, given, allowed)
    assert (finding.fix.says if finding.fix else None) == fix
    check_fix(raw, finding)


NEAR_MISSES = [
    platform([pool("a", formerly=["b"]), pool("b", formerly=["c"])]),
    platform([pool("systems")]),
    platform([pool(machine="P5.48XLARGE")], cloud="aws"),
    platform([pool(machine=["g6.12xlarge", "g6.24xlarge"])]),
    platform([pool(labels={"mykubernetes.io/x": "y", "team": "a", "notnvidia.com/x": "y"})]),
    platform([pool(nodes=4, scaling="fixed")]),
    platform([pool(nodes=5, capacity=[{"reserved": "a", "nodes": 3}, {"block": "b", "nodes": 2}])]),
    platform([pool(nodes=4, capacity=[{"spot": True, "nodes": 9}])]),
    platform([pool(machine="g6f.large", sharing={})]),
    platform([pool(machine="p3dn.24xlarge", sharing={"mps": 16})]),
    platform([pool(machine="g4dn.xlarge", sharing={"mps": 48})]),
    platform([pool(machine="p3dn.24xlarge", sharing={"time_slicing": 48})]),
    platform([cut_pool(sharing={"mig": [{"gpus": "0-3", "7g.40gb": 1}, {"gpus": "4-7"}]})]),
    platform([pool(machine="p6e-gb200.36xlarge", capacity=["spot"])], cloud="none"),
    platform([pool(machine="a3-highgpu-1g", capacity=["flex-start"])], cloud="gcp"),
]


@pytest.mark.parametrize("raw", NEAR_MISSES, ids=range(len(NEAR_MISSES)))
def test_what_is_only_near_a_refusal_is_planned(raw):
    assert findings(raw) == []


def test_everything_wrong_with_a_pool_is_said_at_once():
    raw = platform(
        [
            pool(
                nodes="1..4",
                scaling="fixed",
                labels={"k8s.io/x": "y"},
                capacity=[{"reserved": "a", "nodes": 9}],
                sharing={"mig": {"3g.20gb": 1}},
            )
        ]
    )
    assert ids(raw) == [
        "pool.label_reserved",
        "pool.fixed_range",
        "capacity.over_nodes",
        "mig.placement",
    ]


def test_a_pool_that_is_refused_is_not_blamed_through_others():
    raw = platform(
        [pool(machine="nothing"), pool("other", formerly=["train"])],
        [team(guarantee={"train": 1, "other": 1}, borrow={"train/x": 1}, lend={"train": 1})],
        shapes=[
            {"name": "a", "pool": "train", "gpus_per_node": 99},
            {"name": "b", "gpus_per_node": 99},
        ],
    )
    assert ids(raw) == ["pool.machine_unknown", "pool.duplicate"]
