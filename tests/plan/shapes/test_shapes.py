"""Shapes: where a workload can start, and the smallest change when it can nowhere."""

import pytest

from kit.fixes import check_fix
from kit.stacks import (
    CUT,
    cut_pool,
    findings,
    only,
    parts,
    plan_of,
    platform,
    pool,
    shape,
    shared_pool,
)

THREE = [pool(nodes="1..4"), cut_pool(), shared_pool()]


def start(pools, **rest):
    return plan_of(platform(pools, shapes=[shape(**rest)])).shapes[0]


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ({"gpus_per_node": 8, "nodes": 4}, ("train", "nvidia.com/gpu", 8, 4, True)),
        ({"gpus_per_node": 1}, ("train", "nvidia.com/gpu", 1, 1, False)),
        (
            {"gpus_per_node": 1, "nodes": 2, "pool": "train"},
            ("train", "nvidia.com/gpu", 1, 2, True),
        ),
        ({"per_pod": {"slice": "3g.20gb"}}, ("serve", "nvidia.com/mig-3g.20gb", 1, 1, False)),
        ({"per_pod": {"shares": 1}}, ("dev", "nvidia.com/gpu.shared", 1, 1, False)),
        (
            {"per_pod": {"shares": 1, "cpu": 47, "memory_gib": 171}},
            ("dev", "nvidia.com/gpu.shared", 1, 1, False),
        ),
    ],
)
def test_a_shape_starts_in_the_first_pool_that_can_hold_it(rest, expected):
    found = start(THREE, **rest)
    assert (
        found.pool,
        found.resource,
        found.per_node,
        found.nodes,
        found.scales_from_zero,
    ) == expected


def test_a_shape_may_ask_for_a_share_of_a_slice():
    found = start(
        [cut_pool(sharing={**CUT, "time_slicing": 2})], per_pod={"slice": "3g.20gb.shared"}
    )
    assert found.resource == "nvidia.com/mig-3g.20gb.shared"


def test_whole_gpus_beside_slices_are_whole_gpus():
    found = start([cut_pool(sharing={"mig": [{"gpus": "0-3", "7g.40gb": 1}]})], gpus_per_node=4)
    assert (found.pool, found.resource) == ("serve", "nvidia.com/gpu")


S0 = ("shapes", 0)
NODE = "resources that the nodes of a pool have"
CANNOT = "no pool can start it: "

REFUSED = [
    (
        {"pool": "tran", "gpus_per_node": 1},
        [pool()],
        "shape.unknown_pool",
        (*S0, "pool"),
        "no pool has this name",
        "tran",
        "train",
        ("write train", (*S0, "pool"), "train"),
    ),
    (
        {"pool": "zz", "gpus_per_node": 1},
        [pool()],
        "shape.unknown_pool",
        (*S0, "pool"),
        "no pool has this name",
        "zz",
        "train",
        ("remove it: the shape may use any pool", (*S0, "pool"), None),
    ),
    (
        {"nodes": 5, "gpus_per_node": 8},
        [pool()],
        "shape.cannot_start",
        S0,
        CANNOT + "train: at most 4 nodes, 5 required",
        "5 nodes × 8 GPUs",
        NODE,
        ("write nodes: 4", (*S0, "nodes"), 4),
    ),
    (
        {"gpus_per_node": 9},
        [pool()],
        "shape.cannot_start",
        S0,
        CANNOT + "train: 8 GPUs a node, 9 required",
        "9 GPUs",
        NODE,
        ("write gpus_per_node: 8", (*S0, "gpus_per_node"), 8),
    ),
    (
        {"nodes": 5, "gpus_per_node": 9},
        [pool()],
        "shape.cannot_start",
        S0,
        CANNOT + "train: at most 4 nodes, 5 required",
        "5 nodes × 9 GPUs",
        NODE,
        ("write nodes: 4, gpus_per_node: 8", S0, {"name": "job", "nodes": 4, "gpus_per_node": 8}),
    ),
    (
        {"gpus_per_node": 9, "pool": "train"},
        [pool(), pool("b", machine="a2-megagpu-16g")],
        "shape.cannot_start",
        S0,
        CANNOT + "train: 8 GPUs a node, 9 required",
        "9 GPUs",
        NODE,
        ("write gpus_per_node: 8", (*S0, "gpus_per_node"), 8),
    ),
    (
        {"gpus_per_node": 1},
        [cut_pool(), shared_pool()],
        "shape.cannot_start",
        S0,
        CANNOT + "serve: no whole GPUs (mig); dev: no whole GPUs (time-slicing)",
        "1 GPUs",
        NODE,
        None,
    ),
    (
        {"gpus_per_node": 1},
        [pool(nodes=0)],
        "shape.cannot_start",
        S0,
        CANNOT + "train: at most 0 nodes, 1 required",
        "1 GPUs",
        NODE,
        None,
    ),
    (
        {"per_pod": {"slice": "3g.40gb"}},
        [pool(), cut_pool()],
        "shape.cannot_start",
        S0,
        CANNOT
        + "train: no 3g.40gb (it has whole GPUs); serve: no 3g.40gb (it has 1g.5gb, 2g.10gb, 3g.20gb)",
        "3g.40gb",
        NODE,
        ("write slice: 3g.20gb", (*S0, "per_pod", "slice"), "3g.20gb"),
    ),
    (
        {"per_pod": {"slice": "zz"}},
        [cut_pool()],
        "shape.cannot_start",
        S0,
        CANNOT + "serve: no zz (it has 1g.5gb, 2g.10gb, 3g.20gb)",
        "zz",
        NODE,
        None,
    ),
    (
        {"per_pod": {"slice": "3g.20gb", "cpu": 97}},
        [cut_pool()],
        "shape.cannot_start",
        S0,
        CANNOT + "serve: a node has 95 CPUs and 1093 GiB allocatable, 97 CPUs and 1 GiB required",
        "3g.20gb",
        NODE,
        ("write cpu: 95", (*S0, "per_pod", "cpu"), 95),
    ),
    (
        {"per_pod": {"slice": "3g.20gb", "cpu": 97}},
        [cut_pool(machine={"gpu": "A100-40GB", "gpus": 1, "cpu": 1, "memory_gib": 1})],
        "shape.cannot_start",
        S0,
        CANNOT + "serve: a node has 0 CPUs and 0 GiB allocatable, 97 CPUs and 1 GiB required",
        "3g.20gb",
        NODE,
        None,
    ),
    (
        {"per_pod": {"shares": 1, "memory_gib": 193}},
        [shared_pool()],
        "shape.cannot_start",
        S0,
        CANNOT + "dev: a node has 47 CPUs and 171 GiB allocatable, 1 CPUs and 193 GiB required",
        "1 shares",
        NODE,
        ("write memory_gib: 171", (*S0, "per_pod", "memory_gib"), 171),
    ),
    (
        {"per_pod": {"shares": 2}},
        [shared_pool()],
        "shape.cannot_start",
        S0,
        CANNOT
        + "dev: 2 shares required, but a pod gets one: more would be time slices of the same GPU",
        "2 shares",
        NODE,
        ("write shares: 1", (*S0, "per_pod", "shares"), 1),
    ),
    (
        {"per_pod": {"shares": 2}, "pool": "dev"},
        [shared_pool()],
        "shape.cannot_start",
        S0,
        CANNOT
        + "dev: 2 shares required, but a pod gets one: more would be time slices of the same GPU",
        "2 shares",
        NODE,
        ("write shares: 1", (*S0, "per_pod", "shares"), 1),
    ),
    (
        {"per_pod": {"shares": 2, "cpu": 99}, "nodes": 2},
        [shared_pool()],
        "shape.cannot_start",
        S0,
        CANNOT + "dev: at most 1 nodes, 2 required",
        "2 nodes × 2 shares",
        NODE,
        (
            "write nodes: 1, shares: 1, cpu: 47",
            S0,
            {"name": "job", "nodes": 1, "per_pod": {"shares": 1, "cpu": 47}},
        ),
    ),
    (
        {"per_pod": {"slice": "shared"}},
        [shared_pool()],
        "shape.cannot_start",
        S0,
        CANNOT + "dev: `shared` is not a slice, write shares: 1",
        "shared",
        NODE,
        None,
    ),
    (
        {"per_pod": {"shares": 1}},
        [pool()],
        "shape.cannot_start",
        S0,
        CANNOT + "train: no shared (it has whole GPUs)",
        "1 shares",
        NODE,
        None,
    ),
]


@pytest.mark.parametrize("row", REFUSED, ids=[f"{r[2]}-{i}" for i, r in enumerate(REFUSED)])
def test_a_shape_that_can_start_nowhere_is_told_why_in_every_pool_and_the_smallest_change(row):
    rest, pools, kind, path, problem, given, allowed, fix = row
    raw = platform(pools, shapes=[shape(**rest)])
    finding = only(raw)
    assert parts(finding) == (kind, path, problem, given, allowed)
    assert (finding.fix and (finding.fix.message, finding.fix.at, finding.fix.value)) == fix
    check_fix(raw, finding)


def test_among_changes_the_one_of_fewest_words_is_offered():
    raw = platform(
        [pool("a", nodes=1), pool("b", machine="g6.12xlarge")],
        shapes=[shape(nodes=2, gpus_per_node=8)],
    )
    assert only(raw).fix.message == "write nodes: 1"


@pytest.mark.parametrize(
    ("cpu", "memory", "says"), [(47, 172, "write memory_gib: 171"), (48, 171, "write cpu: 47")]
)
def test_what_fits_exactly_is_not_changed(cpu, memory, says):
    pod = {"shares": 1, "cpu": cpu, "memory_gib": memory}
    assert only(platform([shared_pool()], shapes=[shape(per_pod=pod)])).fix.message == says


def test_a_change_within_a_pod_leaves_the_rest_of_the_shape():
    raw = platform([cut_pool()], shapes=[shape(nodes=2, per_pod={"slice": "3g.40gb", "cpu": 4})])
    assert only(raw).fix.value == {
        "name": "job",
        "nodes": 1,
        "per_pod": {"slice": "3g.20gb", "cpu": 4},
    }


def test_two_shapes_of_one_name_are_refused():
    raw = platform(
        shapes=[
            shape("a", gpus_per_node=1),
            shape("a-2", gpus_per_node=1),
            shape("a", gpus_per_node=1),
        ]
    )
    finding = only(raw)
    assert parts(finding) == (
        "shape.duplicate",
        ("shapes", 2, "name"),
        "another shape has this name",
        "a",
        "a unique name for each shape",
    )
    assert finding.fix.message == "write a-3"


def test_a_shape_for_any_pool_waits_until_every_pool_is_sound():
    raw = platform([pool(machine="??"), pool("b")], shapes=[shape(gpus_per_node=99)])
    assert [f.id for f in findings(raw)] == ["pool.machine_unknown", "checks.waiting"]
