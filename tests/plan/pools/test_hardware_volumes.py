"""Which datasets a node of each pool reads before a deployment ends, and against which floor."""

import pytest

from gpuyard_core.findings import Severity
from kit.every import every
from kit.stacks import findings, plan_of, platform, pool, team

FULL = {"image": "registry.example.org/ml/full:1", "profile": "full"}
ON = {
    "aws": pool(zones=["us-east-1a"]),
    "gcp": pool(machine="a3-highgpu-8g", zones=["us-central1-a"]),
    "simulated": pool(),
}
SMALL = {"name": "small", "machine": "g6.xlarge", "zones": ["us-east-1a"], "nodes": 1}


def asked(*datasets, cloud="aws", pools=(), validation=FULL):
    named = [{"name": f"d{n}", **each} for n, each in enumerate(datasets)]
    teams = [team("vision")]
    more = {"validation": validation} if validation else {}
    return platform(
        [*(pools or [ON[cloud]])], teams, cloud=cloud, storage={"datasets": named}, **more
    )


def readings(*datasets, **more):
    return plan_of(asked(*datasets, **more)).validation.readings


def floor(data, cloud="aws", **more):
    (found,) = readings(data, cloud=cloud, **more)
    return found


def told(raw):
    return [
        (f.path, f.problem)
        for f in findings(raw)
        if f.id == "validation.deferred" and "read speed" in f.problem
    ]


FILLED = {"bucket": "our-corpus"}
DERIVED = [
    ({"kind": "bucket", **FILLED}, "aws", 340.0, "0.5 of 680 MB/s, S3 user guide"),
    ({"kind": "bucket", **FILLED}, "gcp", 340.0, "0.5 of 680 MB/s, S3 user guide"),
    ({"kind": "fsx-lustre", **FILLED}, "aws", 73.2, "0.5 of 146 MB/s, FSx for Lustre"),
    ({"kind": "fsx-lustre", "tier": "scratch", **FILLED}, "aws", 117.2, "0.5 of 234 MB/s, FSx"),
    ({"kind": "fsx-lustre", "size_gib": 24000, **FILLED}, "aws", 625.0, "0.5 of 1250 MB/s, Read"),
]


@every("data, cloud, mb, said", DERIVED)
def test_what_has_data_from_the_beginning_is_held_to_half_of_what_is_sold(data, cloud, mb, said):
    found = floor(data, cloud)
    assert found.mb_per_s == mb
    assert found.source.startswith(f"derived, not measured: {said}")


def test_what_the_stack_file_asks_for_counts():
    found = floor({"kind": "efs", "read_mb_per_s": 300})
    assert (found.name, found.mb_per_s, found.source) == (
        "d0", 300.0, "the stack file, read_mb_per_s",
    )  # fmt: skip


def test_nodes_of_several_pools_read_at_once_and_share_what_is_sold():
    found = floor({"kind": "fsx-lustre", **FILLED}, pools=[ON["aws"], SMALL])
    assert found.mb_per_s == pytest.approx(36.6)
    assert "0.5 of 73 MB/s for 2 nodes at once, FSx" in found.source


def test_a_node_is_asked_for_no_more_than_its_network_carries():
    t4 = {**SMALL, "machine": "g4dn.xlarge"}
    gbps = plan_of(platform([t4], cloud="aws")).pools[0].machine.network_gbps
    found = floor({"kind": "fsx-lustre", "size_gib": 24000, **FILLED}, pools=[t4])
    assert gbps < 10
    assert found.mb_per_s == pytest.approx(0.5 * gbps * 125)


EMPTY = "it is created empty; write read_mb_per_s once it has data"
OWN = "each namespace has its own volume, and the volume of the check is empty"


@every(
    "data, why",
    [
        ({"kind": "efs"}, EMPTY),
        ({"kind": "bucket"}, EMPTY),
        ({"kind": "fsx-lustre"}, EMPTY),
        ({"kind": "class", "class_name": "fast"}, OWN),
    ],
)
def test_what_is_not_read_is_told(data, why):
    assert readings(data) == ()
    assert told(asked(data)) == [
        (("storage", "datasets", 0), f"validation does not measure the read speed of d0: {why}")
    ]
    assert not plan_of(asked(data)).validation.pools[0].runs_read_checks


def test_what_is_read_is_not_told():
    raw = asked({"kind": "bucket", **FILLED}, {"kind": "efs", "read_mb_per_s": 100})
    assert [each.name for each in plan_of(raw).validation.readings] == ["d0", "d1"]
    assert [each.name for each in plan_of(raw).datasets_read_by_validation] == ["d0", "d1"]
    assert told(raw) == []
    assert plan_of(raw).validation.pools[0].runs_read_checks


QUICK = FULL | {"profile": "quick"}
NOBODY = "no check with profile full or soak runs on a node"


@every(
    "more",
    [
        {"validation": None},
        {"validation": QUICK},
        {"validation": {"profile": "full", "required": False}},
        {"pools": [pool(nodes="0..2", zones=["us-east-1a"])]},
    ],
)
def test_a_floor_that_nobody_tries_is_told_and_no_other_word_is_lost_on_it(more):
    asks = asked({"kind": "efs", "read_mb_per_s": 100}, **more)
    at = ("storage", "datasets", 0, "read_mb_per_s")
    assert told(asks) == [(at, f"validation does not measure the read speed of d0: {NOBODY}")]
    plan = plan_of(asks)
    assert plan.datasets_read_by_validation == ()
    assert told(asked({"kind": "efs"}, **more)) == []


@every(
    "data, cloud, most",
    [
        ({"kind": "efs"}, "aws", 524),
        ({"kind": "efs", "throughput": 100}, "aws", 104),
        ({"kind": "fsx-lustre"}, "aws", 146),
        ({"kind": "filestore"}, "gcp", 98),
        ({"kind": "filestore", "size_gib": 9984}, "gcp", 471),
        ({"kind": "filestore", "size_gib": 10240}, "gcp", 471),
        ({"kind": "filestore", "tier": "basic-ssd", "size_gib": 2560}, "gcp", 1250),
        ({"kind": "filestore", "tier": "basic-hdd"}, "gcp", 104),
        ({"kind": "filestore", "tier": "basic-hdd", "size_gib": 20000}, "gcp", 188),
        ({"kind": "managed-lustre"}, "gcp", 1250),
        ({"kind": "bucket"}, "gcp", 680),
    ],
)
def test_more_than_is_sold_is_refused_and_as_much_is_not(data, cloud, most):
    """The physics of floors: no floor is above what a node can read."""

    def refused(mb):
        raw = asked(data | {"read_mb_per_s": mb}, cloud=cloud)
        return [f for f in findings(raw) if f.id == "storage.read"]

    assert refused(most) == []
    (found,) = refused(most + 1)
    assert found.severity is Severity.ERROR
    assert found.allowed.startswith(f"at most {most} MB/s (")
    assert found.fix.value == pytest.approx(most / 2, abs=1)


def test_with_several_readers_the_refusal_says_how_many():
    raw = asked({"kind": "efs", "read_mb_per_s": 400}, pools=[ON["aws"], SMALL])
    (found,) = [f for f in findings(raw) if f.id == "storage.read"]
    assert found.problem == "no node can read d0 at this speed while 2 nodes read at once"


def test_a_simulated_platform_reads_as_its_cloud_would():
    assert floor({"kind": "efs", "read_mb_per_s": 300}, "simulated").mb_per_s == 300.0
