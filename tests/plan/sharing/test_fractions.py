"""What a pod needs of a GPU, and the smallest slice or share that has it."""

import random

import pytest

from gpuyard.plan.sharing.compute_slices import (
    fits_fraction,
    format_needs,
    gpu_fractions,
    smallest_fraction,
)
from gpuyard.spec.platform import PerPod
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

S0 = ("shapes", 0)
THREE = [pool(nodes="1..4"), cut_pool(), shared_pool()]


def start(pools, **pod):
    return plan_of(platform(pools, shapes=[shape(per_pod=pod)])).shapes[0]


def sizes(one):
    found = plan_of(platform([one])).pools[0]
    return [
        (p.offer.unit, round(p.memory_gib, 1), round(p.compute_percent), p.is_time_sliced)
        for p in gpu_fractions(found)
    ]


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (pool(), [("", 80, 100, False)]),
        (cut_pool(), [("1g.5gb", 5, 14, False), ("2g.10gb", 10, 29, False), ("3g.20gb", 20, 43, False)]),
        (shared_pool(), [("shared", 6, 25, True)]),
        (shared_pool(sharing={"mps": 4}), [("shared", 6, 25, False)]),
        (cut_pool(sharing={"mig": {"3g.20gb": 2}, "time_slicing": 2}), [("3g.20gb.shared", 10, 21, True)]),
        (pool(machine="g6f.2xlarge"), [("", 6, 25, False)]),
        (
            cut_pool(sharing={"mig": [{"gpus": "0-3", "7g.40gb": 1}]}),
            [("7g.40gb", 40, 100, False), ("", 40, 100, False)],
        ),
        (
            cut_pool(sharing={"mig": [{"gpus": "0-3", "3g.20gb": 2}], "time_slicing": 2}),
            [("3g.20gb.shared", 10, 21, True), ("", 40, 100, False)],
        ),
        (
            pool(machine="g7e.12xlarge", sharing={"mig": {"1g.24gb": 2, "2g.48gb": 1}}),
            [("1g.24gb", 24, 25, False), ("2g.48gb", 48, 50, False)],
        ),
    ],
)  # fmt: skip
def test_what_a_pod_can_have_of_a_gpu(one, expected):
    assert sizes(one) == expected


@pytest.mark.parametrize(
    ("pod", "where", "resource"),
    [
        ({"gpu_memory_gib": 4}, "serve", "nvidia.com/mig-1g.5gb"),
        ({"gpu_memory_gib": 5}, "serve", "nvidia.com/mig-1g.5gb"),
        ({"gpu_memory_gib": 6}, "dev", "nvidia.com/gpu.shared"),
        ({"gpu_memory_gib": 6, "latency": "strict"}, "serve", "nvidia.com/mig-2g.10gb"),
        ({"gpu_memory_gib": 20}, "serve", "nvidia.com/mig-3g.20gb"),
        ({"gpu_memory_gib": 21}, "train", "nvidia.com/gpu"),
        ({"compute_percent": 14.0}, "serve", "nvidia.com/mig-1g.5gb"),
        ({"compute_percent": 20.0}, "dev", "nvidia.com/gpu.shared"),
        ({"compute_percent": 20.0, "latency": "strict"}, "serve", "nvidia.com/mig-2g.10gb"),
        ({"gpu_memory_gib": 4, "compute_percent": 40.0}, "serve", "nvidia.com/mig-3g.20gb"),
        ({"compute_percent": 44.0}, "train", "nvidia.com/gpu"),
    ],
)
def test_the_smallest_piece_of_any_pool_is_taken(pod, where, resource):
    found = start(THREE, **pod)
    assert (found.pool, found.resource) == (where, resource)


def test_of_equal_pieces_the_first_pool_is_taken():
    found = start([cut_pool("b"), cut_pool("a")], gpu_memory_gib=5)
    assert found.pool == "b"


def test_a_named_pool_gives_its_own_smallest():
    raw = platform(THREE, shapes=[shape(pool="train", per_pod={"gpu_memory_gib": 4})])
    assert plan_of(raw).shapes[0].resource == "nvidia.com/gpu"


@pytest.mark.parametrize(
    ("pod", "words"),
    [
        ({"gpu_memory_gib": 6}, "6 GiB of a GPU"),
        ({"compute_percent": 12.5}, "12.5 % of a GPU"),
        ({"gpu_memory_gib": 6, "compute_percent": 20.0}, "6 GiB and 20 % of a GPU"),
        ({"gpu_memory_gib": 6, "latency": "strict"}, "6 GiB of a GPU, with strict latency"),
    ],
)
def test_needs_are_told_in_words(pod, words):
    assert start([pool()], **pod).needs == words
    assert format_needs(PerPod.model_validate(pod)) == words


def test_a_shape_that_names_its_slice_has_no_needs():
    assert start([cut_pool()], slice="3g.20gb").needs == ""


CANNOT = "no pool can start it: "
REFUSED = [
    (
        {"gpu_memory_gib": 21},
        [cut_pool()],
        "serve: 21 GiB of a GPU required, it has at most 20 GiB and 43 % of a GPU",
        "21 GiB of a GPU",
        ("add a slice 7g.40gb to pools[0].sharing.mig, in place of smaller ones", None, None),
    ),
    (
        {"gpu_memory_gib": 48},
        [cut_pool()],
        "serve: 48 GiB of a GPU required, it has at most 20 GiB and 43 % of a GPU",
        "48 GiB of a GPU",
        ("write gpu_memory_gib: 20", (*S0, "per_pod", "gpu_memory_gib"), 20),
    ),
    (
        {"compute_percent": 60.0},
        [cut_pool()],
        "serve: 60 % of a GPU required, it has at most 20 GiB and 43 % of a GPU",
        "60 % of a GPU",
        ("add a slice 7g.40gb to pools[0].sharing.mig, in place of smaller ones", None, None),
    ),
    (
        {"gpu_memory_gib": 4, "latency": "strict"},
        [shared_pool()],
        "dev: its GPUs are time-sliced (time-slicing)",
        "4 GiB of a GPU, with strict latency",
        ("write latency: relaxed", (*S0, "per_pod", "latency"), "relaxed"),
    ),
    (
        {"gpu_memory_gib": 41, "latency": "strict"},
        [cut_pool(sharing={"mig": [{"gpus": "0-3", "3g.20gb": 2}], "time_slicing": 2})],
        "serve: 41 GiB of a GPU, with strict latency required, it has at most 40 GiB and 100 % of a GPU",
        "41 GiB of a GPU, with strict latency",
        ("write gpu_memory_gib: 40", (*S0, "per_pod", "gpu_memory_gib"), 40),
    ),
    (
        {"gpu_memory_gib": 4, "cpu": 99},
        [shared_pool()],
        "dev: a node has 47 CPUs and 171 GiB allocatable, 99 CPUs and 1 GiB required",
        "4 GiB of a GPU",
        ("write cpu: 47", (*S0, "per_pod", "cpu"), 47),
    ),
    (
        {"gpu_memory_gib": 7, "latency": "strict"},
        [shared_pool()],
        "dev: its GPUs are time-sliced (time-slicing)",
        "7 GiB of a GPU, with strict latency",
        (
            "write latency: relaxed, gpu_memory_gib: 6",
            S0,
            {"name": "job", "per_pod": {"gpu_memory_gib": 6, "latency": "relaxed"}},
        ),
    ),
    (
        {"gpu_memory_gib": 2},
        [shared_pool(sharing={"time_slicing": 48})],
        "dev: 2 GiB of a GPU required, it has at most 0.5 GiB and 2 % of a GPU",
        "2 GiB of a GPU",
        None,
    ),
    (
        {"gpu_memory_gib": 2, "cpu": 99},
        [shared_pool(sharing={"time_slicing": 48})],
        "dev: 2 GiB of a GPU required, it has at most 0.5 GiB and 2 % of a GPU",
        "2 GiB of a GPU",
        None,
    ),
]  # fmt: skip


@pytest.mark.parametrize("row", REFUSED, ids=range(len(REFUSED)))
def test_needs_that_nothing_has_are_refused_with_what_the_largest_has(row):
    pod, pools, why, given, fix = row
    raw = platform(pools, shapes=[shape(per_pod=pod)])
    finding = only(raw)
    assert parts(finding) == (
        "shape.cannot_start",
        S0,
        CANNOT + why,
        given,
        "resources that the nodes of a pool have",
    )
    assert (finding.fix and (finding.fix.message, finding.fix.at, finding.fix.value)) == fix
    if fix is None or fix[1]:
        check_fix(raw, finding)


def made_up_pool(rng):
    sharing = rng.choice(
        ["none", CUT, {"time_slicing": rng.randint(2, 9)}, {"mps": rng.randint(2, 9)},
         {**CUT, "time_slicing": rng.randint(2, 4)}, {"mig": [{"gpus": "0-3", "2g.10gb": 3}]}]
    )  # fmt: skip
    return plan_of(platform([cut_pool(sharing=sharing)])).pools[0]


@pytest.mark.repeats("tests/plan/money/test_expected.py")
def test_what_is_picked_is_enough_and_nothing_smaller_is():
    rng = random.Random(11)  # noqa: S311  no secret is made of it
    picked = 0
    for _ in range(300):
        one = made_up_pool(rng)
        needs = {
            "gpu_memory_gib": rng.randint(1, 50),
            "compute_percent": float(rng.randint(1, 100)),
        }
        for name in rng.sample(list(needs), rng.randint(0, 1)):
            del needs[name]
        pod = PerPod.model_validate(needs | {"latency": rng.choice(["relaxed", "strict"])})
        found = smallest_fraction(pod, one)
        good = [p for p in gpu_fractions(one) if fits_fraction(pod, p)]
        assert (found is None) == (good == [])
        if found:
            picked += 1
            assert found.size == min(p.size for p in good)
            assert found.memory_gib >= (pod.gpu_memory_gib or 0)
            assert not (found.is_time_sliced and pod.latency.value == "strict")
    assert picked > 100


# ── how many fit a node ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("one", "rest", "fits", "bound"),
    [
        (pool(), {"gpus_per_node": 8}, 1, ""),
        (pool(), {"gpus_per_node": 3}, 2, ""),
        (shared_pool(), {"per_pod": {"shares": 1}}, 16, ""),
        (shared_pool(), {"per_pod": {"shares": 1, "cpu": 2}}, 16, ""),
        (shared_pool(), {"per_pod": {"shares": 1, "cpu": 4}}, 11, "CPU"),
        (shared_pool(), {"per_pod": {"shares": 1, "memory_gib": 32}}, 5, "memory"),
        (shared_pool(), {"per_pod": {"shares": 1, "cpu": 47, "memory_gib": 171}}, 1, "CPU"),
        (cut_pool(), {"per_pod": {"gpu_memory_gib": 20, "cpu": 8, "memory_gib": 64}}, 8, ""),
    ],
)
def test_how_many_pods_of_a_shape_a_node_holds(one, rest, fits, bound):
    found = plan_of(platform([one], shapes=[shape(**rest)])).shapes[0]
    assert (found.pods_per_node, found.bound_by) == (fits, bound)


# ── from zero ──────────────────────────────────────────────────────────────────────────────────────

GKE = {"machine": "a2-highgpu-8g", "nodes": "0..4"}


def test_a_shape_does_not_start_where_the_autoscaler_cannot_know_of_its_slice():
    wanted = [shape(per_pod={"slice": "3g.20gb"})]
    raw = platform([pool(**GKE, sharing=CUT)], cloud="gcp", shapes=wanted)
    (refused,) = [f for f in findings(raw) if f.id == "shape.cannot_start"]
    assert refused.problem == CANNOT + (
        "train: its autoscaler reads nvidia.com/mig-3g.20gb from a running node, and none runs"
    )
    assert (refused.fix.message, refused.fix.at, refused.fix.value) == (
        "write pools[0].nodes: 1..4",
        ("pools", 0, "nodes"),
        "1..4",
    )
    check_fix(raw, refused)


@pytest.mark.parametrize(
    ("one", "cloud", "rest"),
    [
        (pool(**GKE), "gcp", {"gpus_per_node": 8}),
        (pool(**{**GKE, "nodes": "1..4"}, sharing=CUT), "gcp", {"per_pod": {"slice": "3g.20gb"}}),
        (cut_pool(nodes="0..4"), "aws", {"per_pod": {"slice": "3g.20gb"}}),
        (cut_pool(nodes="0..4", scaling="autoscaler"), "aws", {"per_pod": {"slice": "3g.20gb"}}),
    ],
)
def test_everything_else_starts_from_zero_too(one, cloud, rest):
    assert plan_of(platform([one], cloud=cloud, shapes=[shape(**rest)])).shapes[
        0
    ].scales_from_zero is (one["nodes"] != "1..4")
