"""A platform that only queues: where jobs go, what is refused, and that nothing is made or billed twice."""

import pytest

from gpuyard.plan.queueing.multikueue import FRAMEWORKS
from gpuyard_advisor.explain import Verdict
from gpuyard_advisor.explain.running import read_running
from gpuyard_core.catalogue.kubernetes.kueue import ALL_AT_ONCE, IN_STEPS, STEP
from gpuyard_core.errors import SpecError
from kit.cases.explain import job, said
from kit.fixes import check_fix
from kit.stacks import cut_pool, findings, ids, plan_of, platform, pool, shape, team

TWO = [{"name": "west", "secret": "west-key"}, {"name": "east", "secret": "east-key"}]
SENT = "dispatched to one of west, east"


def hub(pools=None, teams=None, clusters=TWO, **rest):
    queueing = {"clusters": clusters, **rest.pop("queueing", {})}
    teams = [team(guarantee={"train": 16}, borrow={"train": 8})] if teams is None else teams
    return platform(pools, teams, name="hub", queueing=queueing, **rest)


def many(count):
    return [{"name": f"c{i}", "secret": f"s{i}"} for i in range(count)]


def found(raw, kind):
    return [f for f in findings(raw) if f.id == kind]


# ── where jobs go ─────────────────────────────────────────────────────────────────────────────────
def test_a_cluster_has_a_name_in_kueue_that_no_other_platform_takes():
    dispatch = plan_of(hub()).queueing.dispatch
    assert [(w.name, w.title, w.secret) for w in dispatch.clusters] == [
        ("west", "hub-west", "west-key"),
        ("east", "hub-east", "east-key"),
    ]
    assert (dispatch.config, dispatch.check, dispatch.names) == (
        "hub",
        "hub-clusters",
        ("west", "east"),
    )


@pytest.mark.parametrize(
    ("count", "dispatcher"),
    [(1, ALL_AT_ONCE), (STEP, ALL_AT_ONCE), (STEP + 1, IN_STEPS), (20, IN_STEPS)],
)
def test_up_to_three_clusters_are_asked_at_once(count, dispatcher):
    assert plan_of(hub(clusters=many(count))).queueing.dispatch.dispatcher == dispatcher


def test_a_platform_without_clusters_sends_nothing():
    made = plan_of(platform())
    assert made.queueing.dispatch is None
    assert made.operator is not None


def test_only_what_every_cluster_has_is_watched_there():
    """Kueue has no connection to a cluster that lacks one of the kinds."""
    assert all("/" not in f or f.startswith("batch/") for f in FRAMEWORKS)


# ── what is said ──────────────────────────────────────────────────────────────────────────────────
def test_what_is_not_seen_from_here_is_said_once():
    (note,) = findings(hub())
    assert (note.id, note.where, note.given) == (
        "clusters.workers",
        "queueing.clusters",
        "west, east",
    )
    assert "vision (default)" in note.problem
    assert "none, without teams" in found(hub(teams=[]), "clusters.workers")[0].problem


def test_a_name_is_of_one_cluster():
    raw = hub(clusters=[*TWO, {"name": "west", "secret": "third"}])
    (finding,) = found(raw, "clusters.duplicate")
    assert (finding.where, finding.fix.value) == ("queueing.clusters[2].name", "west-2")
    check_fix(raw, finding)
    taken = [*TWO, {"name": "west-2", "secret": "x"}, {"name": "west", "secret": "third"}]
    assert found(hub(clusters=taken), "clusters.duplicate")[0].fix.value == "west-3"


def test_a_secret_leads_to_one_cluster():
    raw = hub(clusters=[*TWO, {"name": "north", "secret": "east-key"}])
    (finding,) = found(raw, "clusters.secret")
    assert finding.where == "queueing.clusters[2].secret"
    assert finding.problem.startswith("east uses this Secret too")
    assert finding.fix.value == "north-kubeconfig"
    check_fix(raw, finding)


def test_more_clusters_than_kueue_takes_are_no_stack_file():
    with pytest.raises(SpecError, match="at most 20"):
        plan_of(hub(clusters=many(21)))


@pytest.mark.parametrize(
    ("wanted", "where", "given"),
    [
        ({"topology": True, "zones": ["a", "b"]}, "pools[0].topology", "topology"),
        ({"sharing": "dra"}, "pools[0].sharing", "dra"),
        ({"idle": {}}, "teams[0].idle", "idle"),
    ],
)
def test_what_is_decided_where_pods_run_is_refused(wanted, where, given):
    pools = [pool(**wanted)] if where.startswith("pools") else None
    raw = hub(pools, [team(**wanted)] if where.startswith("teams") else None)
    (finding,) = found(raw, "clusters.pool")
    assert (finding.where, finding.given) == (where, given)
    check_fix(raw, finding)


def test_a_limit_that_nothing_can_break_is_no_limit():
    raw = hub(
        teams=[team(guarantee={"train": 16}, budget_usd_per_month=1), team("b")],
        budget={"max_usd_per_hour": 1},
    )
    limits = found(raw, "clusters.budget")
    assert [f.where for f in limits] == ["budget", "teams[0].budget_usd_per_month"]
    assert {"budget.team", "budget.worst"}.isdisjoint(ids(raw))
    for finding in limits:
        check_fix(raw, finding)


# ── what it costs ─────────────────────────────────────────────────────────────────────────────────
PRICED = {
    "cloud": "aws",
    "prices": {"commitments": [{"machine": "p5.48xlarge", "nodes": 1, "usd_per_hour": 20.0}]},
}
RESERVED = pool(
    nodes="1..4",
    zones=["us-east-1a"],
    capacity=[{"reserved": "cr-1", "nodes": 4}],
    keep_warm=[{"cron": "0 7 * * *", "hours": 2.0, "nodes": 1}],
)


def test_what_stands_elsewhere_is_billed_there():
    bill = plan_of(hub([pool(nodes="1..4"), cut_pool()], cloud="aws")).bill
    system = next(line for line in bill.lines if line.pool == "system")
    (fee,) = bill.fees  # of the cluster that the queues are in
    assert bill.maximum.usd == pytest.approx(system.maximum_usd_per_hour + fee.maximum_usd_per_hour)
    for line in (one for one in bill.lines if one.pool != "system"):
        assert (
            line.minimum_usd_per_hour,
            line.expected_usd_per_hour,
            line.maximum_usd_per_hour,
        ) == (
            0,
            0,
            0,
        )
        assert line.note == "billed in the stacks of west, east"
    assert [s.maximum.usd for s in bill.shares][:-1] == [0]
    assert bill.unknown == ()


def test_neither_reservations_nor_warm_hours_nor_commitments_are_used_here():
    raw = hub([RESERVED], **PRICED)
    bill = plan_of(raw).bill
    (line,) = [one for one in bill.lines if one.pool == "train"]
    assert (line.running_nodes, line.minimum_usd_per_hour, line.maximum_usd_per_hour) == (0, 0, 0)
    assert bill.commitments[0].idle_maximum == 1, "who commits here commits to nothing"


# ── explain ───────────────────────────────────────────────────────────────────────────────────────
def test_a_job_with_quota_is_sent():
    answer = said(plan_of(hub()), job(pods=2, gpus=8))
    assert (answer.verdict, answer.message, answer.pools) == (Verdict.STARTS, SENT, ("train",))
    assert (answer.pods_started, answer.nodes, answer.admitted) == (2, 0, True)
    (condition,) = answer.conditions
    assert condition.startswith("when its queue on one of them admits it, where it then stays")


def test_one_cluster_is_named():
    answer = said(plan_of(hub(clusters=TWO[:1])), job(pods=2, gpus=8))
    assert answer.message == "dispatched to west"
    assert answer.conditions[0].startswith("when its queue on west admits it")


def test_more_than_the_quota_is_never_sent_and_what_runs_counts():
    made = plan_of(hub())
    assert said(made, job(pods=4, gpus=8)).verdict is Verdict.NEVER
    row = {"team": "vision", "pool": "train", "pods": 2, "gpus": 8}
    state, problems = read_running(made, [row])
    assert problems == []
    assert said(made, job(pods=2, gpus=8), state).verdict is Verdict.WAITS


def test_nodes_are_not_looked_at():
    """Four nodes hold four pods of five GPUs, and quota for six: what is free is decided there."""
    teams = [team(guarantee={"train": 32})]
    gang = job(pods=6, gpus=5)
    assert said(plan_of(platform(teams=teams)), gang).verdict is Verdict.NEVER
    assert said(plan_of(hub(teams=teams)), gang).verdict is Verdict.STARTS


def test_pods_of_a_deployment_are_sent_one_by_one():
    made = plan_of(hub())
    answer = said(made, job(pods=3, gpus=8, kind="Deployment"))
    assert (answer.verdict, answer.message, answer.pods_started) == (Verdict.STARTS, SENT, 3)
    assert answer.pools == ("train",)
    more = said(made, job(pods=4, gpus=8, kind="Deployment"))
    assert (more.verdict, more.pods_started) == (Verdict.NEVER, 3)


@pytest.mark.parametrize("kind", ["JobSet", "TrainJob"])
def test_kinds_that_no_dispatcher_knows_stay(kind):
    value = {
        "kind": kind,
        "metadata": {"name": "x", "namespace": "vision"},
        "spec": {
            "replicatedJobs": [
                {"name": "w", "template": {"spec": {"template": {"spec": {"containers": []}}}}}
            ]
        },
    }
    answer = said(plan_of(hub()), value)
    assert answer.verdict is Verdict.NEVER
    assert (
        answer.message
        == f"a {kind} is not dispatched to other clusters (only Jobs and pods are), and this cluster has no nodes"
    )


def test_a_namespace_without_a_queue_keeps_its_jobs():
    answer = said(plan_of(hub()), job(namespace="elsewhere"))
    assert answer.verdict is Verdict.NEVER
    assert answer.message.startswith("namespace elsewhere belongs to no team: it is not dispatched")


def test_shapes_are_held_against_quotas_as_everywhere():
    raw = hub(shapes=[shape(nodes=2, gpus_per_node=8)])
    assert plan_of(raw).shapes[0].guaranteed == ("vision",)
    assert "shape.no_quota" in ids(hub(shapes=[shape(nodes=4, gpus_per_node=8)]))
