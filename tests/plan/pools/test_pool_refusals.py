"""Pools: every reason for which one is refused, and what is only near it."""

import pytest

from gpuyard_core.catalogue.gpus import GPUS, MIG_PRODUCTS
from gpuyard_core.catalogue.machines import MACHINES
from kit.every import every
from kit.fixes import check_fix
from kit.stacks import CUT, cut_pool, findings, ids, only, parts, platform, pool, team

P0 = ("pools", 0)
AWS = sum(m.cloud == "aws" and m.is_gpu_machine for m in MACHINES.values())
GCP = sum(m.cloud == "gcp" and m.is_gpu_machine for m in MACHINES.values())

DESCRIBED = {"gpu": "L4", "gpus": 1, "cpu": 8, "memory_gib": 64}
SIX = "p6-b300.48xlarge, p6-b200.48xlarge, p5en.48xlarge, p5e.48xlarge, p5.4xlarge, p5.48xlarge"
ALL_GPUS = ", ".join(GPUS)
OWN = "a unique name for each pool"
UNLIKE = (
    "the machines of one pool must have the same number and type of GPUs, and the same architecture"
)

REFUSED = [
    (
        "pool.duplicate",
        platform([pool(), pool()]),
        ("pools", 1, "name"),
        "the name is taken: another pool has or had it",
        "train",
        OWN,
        "write train-2",
    ),
    (
        "pool.duplicate",
        platform([pool(), pool("other", previous_names=["train"])]),
        ("pools", 1, "name"),
        "the name is taken: another pool has or had it",
        "other formerly train",
        OWN,
        "remove `previous_names`",
    ),
    (
        "pool.duplicate",
        platform([pool(), pool(previous_names=["old"])]),
        ("pools", 1, "name"),
        "the name is taken: another pool has or had it",
        "train formerly old",
        OWN,
        "write train-2",
    ),
    (
        "pool.duplicate",
        platform([pool("a", previous_names=["b"]), pool("a", previous_names=["b"])]),
        ("pools", 1, "name"),
        "the name is taken: another pool has or had it",
        "a formerly b",
        OWN,
        "write a-2 and remove `previous_names`",
    ),
    (
        "pool.duplicate",
        platform([pool("x" * 40), pool("x" * 40)]),
        ("pools", 1, "name"),
        "the name is taken: another pool has or had it",
        "x" * 40,
        OWN,
        f"write {'x' * 38}-2",
    ),
    (
        "pool.duplicate",
        platform([pool("system")]),
        (*P0, "name"),
        "the name is taken: the system nodes use it",
        "system",
        OWN,
        "write system-2",
    ),
    (
        "pool.duplicate",
        platform([pool("system", previous_names=["x"])]),
        (*P0, "name"),
        "the name is taken: the system nodes use it",
        "system formerly x",
        OWN,
        "write system-2",
    ),
    (
        "pool.machine_unknown",
        platform([pool(machine="p5.48xlrge")], cloud="aws"),
        (*P0, "machine"),
        "the catalogue has no such machine",
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
        "the catalogue has no such machine",
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
        "write a3-edgegpu-8g",
    ),
    (
        "pool.no_gpu",
        platform([pool(machine="m7i.xlarge")], cloud="aws"),
        (*P0, "machine"),
        "this machine has no GPU",
        "m7i.xlarge",
        "a machine with GPUs; machines without GPUs belong to `system`",
        "write g4dn.xlarge",
    ),
    (
        "pool.machines_unlike",
        platform([pool(machine=["p5.48xlarge", "p4d.24xlarge"])]),
        (*P0, "machine"),
        UNLIKE,
        "p5.48xlarge (8 × H100, amd64), p4d.24xlarge (8 × A100-40, amd64)",
        "machines like p5.48xlarge",
        "create a pool for each kind",
    ),
    (
        "pool.gpu_unknown",
        platform([pool(machine={**DESCRIBED, "gpu": "H1000"})]),
        (*P0, "machine", "gpu"),
        "the catalogue has no such GPU",
        "H1000",
        ALL_GPUS,
        "write H100",
    ),
    (
        "pool.gpu_unknown",
        platform([pool(machine={**DESCRIBED, "gpu": "??"})]),
        (*P0, "machine", "gpu"),
        "the catalogue has no such GPU",
        "??",
        ALL_GPUS,
        None,
    ),
    (
        "pool.machine_described",
        platform([pool(machine=DESCRIBED)], cloud="aws"),
        (*P0, "machine"),
        "aws needs a machine type; a described machine is for your own clusters only",
        "",
        "a machine type",
        "write g6.2xlarge",
    ),
    (
        "pool.machine_described",
        platform([pool(machine={**DESCRIBED, "gpu": "RTX6000"})], cloud="gcp"),
        (*P0, "machine"),
        "gcp needs a machine type; a described machine is for your own clusters only",
        "",
        "a machine type",
        "write g4-standard-48",
    ),
    (
        "pool.machine_described",
        platform([pool(machine={**DESCRIBED, "gpus": 3})], cloud="aws"),
        (*P0, "machine"),
        "aws needs a machine type; a described machine is for your own clusters only",
        "",
        "a machine type",
        "write g6.12xlarge",
    ),
    (
        "pool.label_reserved",
        platform([pool(labels={"nvidia.com/gpu.product": "x"})]),
        (*P0, "labels", "nvidia.com/gpu.product"),
        "labels of nvidia.com are set by Kubernetes, NVIDIA or this platform",
        "nvidia.com/gpu.product",
        "labels of your own domain, or without a domain",
        "remove it",
    ),
    (
        "pool.label_reserved",
        platform([pool(labels={"node.kubernetes.io/x": "y"})]),
        (*P0, "labels", "node.kubernetes.io/x"),
        "labels of node.kubernetes.io are set by Kubernetes, NVIDIA or this platform",
        "node.kubernetes.io/x",
        "labels of your own domain, or without a domain",
        "remove it",
    ),
    (
        "pool.fixed_range",
        platform([pool(nodes="1..4", scaling="fixed")]),
        (*P0, "nodes"),
        "a pool that does not scale needs a fixed number of nodes",
        "1..4",
        "one number, or scaling: karpenter or autoscaler",
        "write 4",
    ),
    (
        "capacity.not_sold",
        platform(
            [
                pool(
                    machine="p3dn.24xlarge",
                    nodes="0..4",
                    capacity=["spot", {"block": "cb", "nodes": 1}],
                )
            ],
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
        "reservations hold 5 nodes, but the pool may have 4: the rest is paid for and never used",
        "1..4",
        "a maximum of at least 5 nodes",
        "write 1..5",
    ),
    (
        "capacity.over_nodes",
        platform([pool(nodes=4, scaling="fixed", capacity=[{"reserved": "a", "nodes": 5}])]),
        (*P0, "nodes"),
        "reservations hold 5 nodes, but the pool may have 4: the rest is paid for and never used",
        "4",
        "a maximum of at least 5 nodes",
        "write 5",
    ),
    (
        "capacity.over_nodes",
        platform([pool(capacity=[{"reserved": "a", "nodes": 10001}])]),
        (*P0, "nodes"),
        "reservations hold 10001 nodes, but the pool may have 4: the rest is paid for and never used",
        "4",
        "a maximum of at least 10001 nodes",
        None,
    ),
    (
        "sharing.fraction",
        platform([pool(machine="g6f.large", sharing={"time_slicing": 2})]),
        (*P0, "sharing"),
        "g6f.large has 1/8 of a GPU, which cannot be shared again",
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
        "L4 does not support MIG, or NVIDIA publishes no profiles for it",
        "g6.12xlarge",
        "MIG on " + ", ".join(MIG_PRODUCTS),
        "write time_slicing: 4 instead",
    ),
    (
        "mig.gpus",
        platform([cut_pool(sharing={"mig": [{"gpus": "6-9", "7g.40gb": 1}]})]),
        (*P0, "sharing", "mig", 0, "gpus"),
        "no such GPU in a node: 8, 9",
        "6-9",
        "0-7, each GPU in one layout",
        "write 6-7",
    ),
    (
        "mig.gpus",
        platform([cut_pool(sharing={"mig": [{"gpus": "0-3"}, {"gpus": [3, 5], "7g.40gb": 1}]})]),
        (*P0, "sharing", "mig", 1, "gpus"),
        "this GPU already has a layout: 3",
        "3,5",
        "0-7, each GPU in one layout",
        "write 5",
    ),
    (
        "mig.gpus",
        platform([cut_pool(sharing={"mig": [{"gpus": 0, "7g.40gb": 1}, {"7g.40gb": 1}]})]),
        (*P0, "sharing", "mig", 1),
        "this GPU already has a layout: 0",
        "0-7",
        "0-7, each GPU in one layout",
        "write 1-7",
    ),
    (
        "mig.placement",
        platform([cut_pool(sharing={"mig": {"3g.20gb": 1, "1g.5gb": 5}})]),
        (*P0, "sharing", "mig"),
        "this layout does not fit on one A100-40: 8 compute slices of 7",
        "{3g.20gb: 1, 1g.5gb: 5}",
        "7 compute slices on 8 memory units; `gpuyard mig A100-40` lists every profile",
        "write the nearest layout that fits: {1g.5gb: 4, 3g.20gb: 1}",
    ),
]


@every(
    ("kind", "raw", "path", "problem", "given", "allowed", "fix"),
    REFUSED,
    ids=[f"{r[0]}-{i}" for i, r in enumerate(REFUSED)],
)
def test_a_pool_that_cannot_be_is_refused_with_everything_to_act_on(
    kind, raw, path, problem, given, allowed, fix
):
    finding = only(raw)
    assert parts(finding) == (kind, path, problem, given, allowed)
    assert (finding.fix.message if finding.fix else None) == fix
    check_fix(raw, finding)


NEAR_MISSES = [
    platform([pool("a", previous_names=["b"]), pool("b", previous_names=["c"])]),
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
    platform([pool(machine="a3-highgpu-1g", nodes="0..4", capacity=["flex-start"])], cloud="gcp"),
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
        "capacity.over_nodes",
        "pool.fixed_range",
        "mig.placement",
    ]


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (platform([pool(), pool(machine="??")]), ["pool.machine_unknown", "pool.duplicate"]),
        (platform([pool(machine=["p5.48xlarge", "m7i.xlarge"])]), ["pool.no_gpu"]),
        (
            platform([cut_pool(sharing={"mig": [{"gpus": 9, "3g.20gb": 3}]})]),
            ["mig.placement", "mig.gpus"],
        ),
    ],
)
def test_one_fault_hides_no_other_and_invents_none(raw, said):
    assert ids(raw) == said


def test_the_machine_that_lacks_a_way_to_be_bought_is_named():
    machines = ["a3-edgegpu-8g", "a3-edgegpu-8g-nolssd"]
    one = pool(machine=machines, nodes="0..4", capacity=["flex-start"])
    finding = only(platform([one], cloud="gcp"))
    assert finding.problem.startswith("a3-edgegpu-8g-nolssd is not sold as flex-start")


def test_a_gpu_that_cannot_be_cut_is_shared_as_the_fix_says():
    finding = only(platform([pool(machine="g6.12xlarge", sharing=CUT)]))
    assert finding.fix.value == {"time_slicing": 4}


def test_reservations_of_the_largest_pool_there_may_be_have_a_fix():
    finding = only(platform([pool(capacity=[{"reserved": "a", "nodes": 10_000}])]))
    assert finding.fix.value == "10000"


def test_a_new_name_avoids_what_others_were_called_before():
    finding = only(platform([pool("x", previous_names=["a-2"]), pool("a"), pool("a")]))
    assert finding.fix.message == "write a-3"


def test_a_pool_that_is_refused_is_not_blamed_through_others():
    raw = platform(
        [pool(machine="nothing"), pool("other", previous_names=["train"])],
        [team(guarantee={"train": 1, "other": 1}, borrow={"train/x": 1}, lend={"train": 1})],
        shapes=[
            {"name": "a", "pool": "train", "gpus_per_node": 99},
            {"name": "b", "gpus_per_node": 99},
        ],
    )
    found = ["pool.machine_unknown", "pool.duplicate", "checks.waiting", "checks.waiting"]
    assert ids(raw) == found


@pytest.mark.parametrize("machine", ["m7i.xlarge", ["m7i.xlarge"]])
def test_the_only_machine_is_not_removed_where_none_of_its_size_is_sold_so(machine):
    finding = next(
        f
        for f in findings(platform([pool(machine=machine, capacity=["flex-start"])], cloud="aws"))
        if f.id == "pool.no_gpu"
    )
    assert (finding.fix.message, finding.fix.at) == ("write a machine with GPUs", None)
