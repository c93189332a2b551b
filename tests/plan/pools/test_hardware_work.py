"""Whose GPUs a deployment puts to work, and what it says of the others."""

from gpuyard_core.findings import Severity
from kit.every import every
from kit.stacks import cut_pool, findings, plan_of, platform, pool, shared_pool, team

FULL = {"image": "registry.example.org/ml/full:1", "profile": "full"}
OURS = {"cloud": "aws"}


def asked(*pools, **more):
    more = {"cloud": "simulated", "validation": FULL, **more}
    return platform(list(pools) or [pool()], **more)


def told(raw):
    """What is noted of pools."""
    found = [f for f in findings(raw) if f.id == "validation.deferred" and f.path[0] == "pools"]
    assert all(f.severity is Severity.INFO for f in found)
    return [(f.path[1], f.problem) for f in found]


def check(raw, name="train"):
    return next(c for c in plan_of(raw).validation.pools if c.pool == name)


@every("profile, works", [("quick", False), ("full", True), ("soak", True)])
def test_only_full_and_soak_put_gpus_to_work(profile, works):
    raw = asked(validation=FULL | {"profile": profile})
    assert (check(raw).runs_load_checks, told(raw)) == (works, [])


CUT = "its GPUs are partitioned or shared, and a share does not represent the whole GPU"
KEEPS = "can be borrowed: the teams do not lend the rest"
HOLD = {"train": 32}
# A stack file, which of its pools, and why its GPUs do nothing.
IDLE = [
    (asked(pool(), cut_pool()), "serve", CUT),
    (asked(pool(), shared_pool()), "dev", CUT),
    (asked(pool(stop_policy="hold")), "train", "its queues are stopped"),
    (asked(queueing={"stop_policy": "hold"}), "train", "its queues are stopped"),
    (
        asked(pool(provisioning="check-capacity")),
        "train",
        "its autoscaler receives a request before each job, and would add nodes for the check",
    ),
    (asked(teams=[team(guarantee=HOLD, lend={"train": 0})]), "train", f"of its 32 GPUs 0 {KEEPS}"),
    (asked(teams=[team(guarantee=HOLD, lend={"train": 8})]), "train", f"of its 32 GPUs 8 {KEEPS}"),
]


@every("raw, name, why", IDLE)
def test_a_pool_whose_gpus_do_nothing_says_why(raw, name, why):
    found = check(raw, name)
    assert (found.checks_any_node, found.runs_load_checks, found.idle) == (True, False, why)
    said = f"GPUs of {name} are not tested under load: {why}"
    assert said in [problem for _, problem in told(raw)]


@every(
    "teams",
    [
        [],
        [team()],
        [team(guarantee=HOLD)],
        [team(guarantee={"train": 16}), team("speech", guarantee={"train": 8})],
        [team(guarantee={"train": 16}, lend={"train": 16})],
    ],
)
def test_what_teams_lend_and_what_nobody_is_guaranteed_can_be_borrowed(teams):
    assert check(asked(teams=teams)).runs_load_checks


def test_a_cohort_that_lends_less_keeps_its_gpus_to_itself():
    cohorts = [{"name": "east", "lend": {"train": 8}}]
    raw = asked(teams=[team(guarantee=HOLD, cohort="east")], queueing={"cohorts": cohorts})
    assert check(raw).idle == f"of its 32 GPUs 0 {KEEPS}"


INFINIBAND = {"kind": "infiniband", "hcas": ["mlx5_0"], "gbps": 400}
YOURS = {"plugin": "network-operator"}
SAYS = "pods cannot request infiniband adapters: fabric.plugin names no device plugin"
# A stack file, the way between its nodes, and why they run each for itself.
WAYS = [
    (asked(), "tcp", ""),
    (asked(**OURS), "efa", ""),
    (asked(pool(machine="g6.12xlarge"), **OURS), "efa", ""),
    (asked(pool(fabric=INFINIBAND), cloud="none"), "infiniband", ""),
    (asked(pool(fabric=INFINIBAND | {"kind": "roce"}), cloud="none"), "roce", ""),
    (asked(pool(fabric=INFINIBAND | YOURS), cloud="none"), "tcp", SAYS),
    (asked(pool(fabric=INFINIBAND | YOURS, nodes=1), cloud="none"), "tcp", ""),
    (asked(pool(fabric={"kind": "ethernet", "gbps": 100}), cloud="none"), "tcp", ""),
    (
        asked(pool(machine="a3-megagpu-8g", zones=["us-central1-a"]), cloud="gcp"),
        "tcp",
        "GPUDirect-TCPXO needs Google's sidecar programs in the pod",
    ),
    (
        asked(pool(machine="p6e-gb200.36xlarge", nodes=2)),
        "tcp",
        "NVLink across a rack needs a ComputeDomain, which the check does not create",
    ),
]


@every("raw, between, apart", WAYS)
def test_nodes_run_together_where_a_pod_can_take_their_way(raw, between, apart):
    found = check(raw)
    assert (found.runs_load_checks, found.transport, found.single_node_reason) == (
        True,
        between,
        apart,
    )
    said = [problem for _, problem in told(raw) if "within a node only" in problem]
    assert said == (
        [f"nodes of train run collectives within a node only: {apart}"] if apart else []
    )


HOLDS, LEND = {"dev/shared": 16}, {"dev/shared": 4}
QUICK = "the profile quick tests no share of a GPU"
# A stack file and why no share of its pool dev is tried; empty where all are.
SHARES = [
    (asked(shared_pool()), ""),
    (asked(shared_pool(), teams=[team(guarantee=HOLDS)]), ""),
    (asked(shared_pool(), validation=FULL | {"profile": "quick"}), QUICK),
    (asked(pool("dev")), "its GPUs are not shared"),
    (asked(shared_pool(stop_policy="hold")), "its queues are stopped"),
    (asked(shared_pool(), teams=[team(guarantee=HOLDS, lend=LEND)]), f"of its 16 shared 4 {KEEPS}"),
]  # fmt: skip


@every("raw, why", SHARES)
def test_shares_are_tried_where_all_of_them_can_be_had(raw, why):
    found = check(raw, "dev")
    assert (found.runs_share_checks, found.shares_skip_reason) == (not why, why)
    said = [problem for _, problem in told(raw) if "shares of" in problem]
    silent = why.startswith(("the profile", "its GPUs"))
    assert len(said) == (1 if why and not silent else 0), "one note a pool, whatever it leaves out"
    assert all(each.endswith(f"; GPU shares of dev are not tested: {why}") for each in said)


@every(
    "raw, spare",
    [
        (asked(shared_pool()), 1),
        (asked(shared_pool(nodes="1..2"), **OURS), 0),
        (asked(cut_pool("dev"), queueing={"mig_quota": "slices"}), 0),
        (asked(shared_pool(topology=True)), 0),
    ],
)
def test_one_pod_too_many_is_made_only_where_it_has_to_wait(raw, spare):
    assert check(raw, "dev").spare == spare


def test_shares_of_nodes_that_come_later_are_not_tried_and_that_is_said():
    said = [problem for _, problem in told(asked(shared_pool(nodes="1..2"), **OURS))]
    assert "later nodes of dev are not tested share by share" in said


def test_nodes_that_come_later_are_not_put_to_work_and_that_is_said():
    raw = asked(pool(nodes="1..4"), **OURS)
    assert told(raw) == [(0, "later nodes of train are not tested under load")]
    raw = asked(pool(nodes="0..4"), **OURS)
    assert told(raw) == []
    assert not check(raw).runs_load_checks
