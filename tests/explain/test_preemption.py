"""Jobs that go for want of a place, though there is quota: who, by which right, and when nobody does."""

import pytest

from gpuyard_advisor.explain import Verdict, explain, workload
from gpuyard_advisor.explain.running import read_running
from gpuyard_advisor.scheduler.topology import REQUIRED
from gpuyard_advisor.workloads import read_job
from gpuyard_core.names import PRIORITY_LABEL, ZONE_LABEL
from kit.cases.explain import GPU, pod_spec
from kit.stacks import plan_of, platform, pool, team

STARTS, WAITS, NEVER = Verdict.STARTS, Verdict.WAITS, Verdict.NEVER
PRIORITIES = {"low": -100, "normal": 0, "high": 100}


def zoned(*, spare=(), teams=None, **rest):
    """Seven nodes of eight GPUs: four in zone a, three in b."""
    queueing = {"fair_sharing": rest.pop("fair", True), **rest.pop("queueing", {})}
    pools = [pool(nodes=7, zones=["a", "b"], topology=True, **rest), *spare]
    most = {p["name"]: 8 * p["nodes"] for p in pools}
    return plan_of(
        platform(
            pools,
            teams or [team("vision", guarantee=most)],
            cloud="simulated",
            priorities=PRIORITIES,
            queueing=queueing,
        )
    )


def gang(pods=4, gpus=8, priority="", name="job", **notes):
    metadata = {"name": name, "namespace": "vision", "labels": {}}
    if priority:
        metadata["labels"][PRIORITY_LABEL] = priority
    template = {"metadata": {"annotations": notes or {REQUIRED: ZONE_LABEL}}}
    template["spec"] = pod_spec(gpus)
    spec = {"parallelism": pods, "template": template}
    return {"kind": "Job", "metadata": metadata, "spec": spec}


def row(name, *nodes, gpus=8, whose="vision", priority=0):
    return {
        "team": whose,
        "pool": "train",
        "pods": len(nodes),
        "gpus": gpus * len(nodes),
        "nodes": [f"train-{n:03}" for n in nodes],
        "name": name,
        "priority": priority,
    }


def asked(plan, value, *rows):
    state, problems = read_running(plan, [dict(r) for r in rows])
    assert not problems, problems
    return explain(plan, read_job(value), state)


def evicted(found):
    return [p.name for p in found.preempts]


# ── by priority ───────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("fair", [True, False])
def test_a_lower_priority_makes_a_place(fair):
    found = asked(zoned(fair=fair), gang(priority="high"), row("old", 0))
    assert (found.verdict, found.admitted, evicted(found)) == (STARTS, True, ["old"])
    (gone,) = found.preempts
    assert gone.why == (
        "it is in the same queue with a lower priority; quota is available, but its nodes are needed"
    )


@pytest.mark.parametrize("fair", [True, False])
@pytest.mark.parametrize("priority", ["normal", "low"])
def test_the_same_or_a_higher_priority_keeps_its_place(fair, priority):
    found = asked(zoned(fair=fair), gang(priority=priority), row("old", 0))
    assert (found.verdict, found.admitted, evicted(found)) == (WAITS, False, [])
    assert found.message.startswith("its quota is available, but it requires all pods within one")
    assert found.message.endswith("; preemption cannot free enough capacity there")
    assert found.cautions == ()


@pytest.mark.parametrize("fair", [True, False])
def test_whoever_stands_elsewhere_is_spared(fair):
    """The newest goes first; once there is a place, those are let stay that do not stand in it."""
    rows = [row("in a", 0), row("in b", 1), row("too", 3)]
    found = asked(zoned(fair=fair), gang(priority="high"), *rows)
    assert (found.verdict, evicted(found)) == (STARTS, ["in a"])


@pytest.mark.parametrize("fair", [True, False])
def test_as_many_go_as_stand_in_the_way(fair):
    rows = [row("one", 0), row("two", 2), row("three", 1)]
    found = asked(zoned(fair=fair), gang(priority="high"), *rows)
    assert set(evicted(found)) == {"one", "two"}


@pytest.mark.parametrize("fair", [True, False])
def test_too_few_may_go(fair):
    rows = [row("one", 0), row("two", 2, priority=100)]
    found = asked(zoned(fair=fair), gang(priority="high"), *rows)
    assert (found.verdict, evicted(found)) == (WAITS, [])


def test_what_no_zone_ever_holds_evicts_nobody():
    found = asked(zoned(), gang(5, priority="high"), row("old", 0))
    assert (found.verdict, evicted(found)) == (NEVER, [])


def test_a_place_that_is_there_evicts_nobody():
    found = asked(zoned(), gang(3, priority="high"), row("old", 0))
    assert (found.verdict, evicted(found)) == (STARTS, [])


def test_fragments_are_put_together_for_a_job_that_says_nothing():
    """Each node has three GPUs free: the quota would do for six, no node does."""
    rows = [row(f"n{n}", n, gpus=5) for n in range(7)]
    value = gang(1, 6, priority="high")
    value["spec"]["template"]["metadata"] = {}
    found = asked(zoned(), value, *rows)
    assert (found.verdict, len(found.preempts)) == (STARTS, 1)


def test_where_nobody_is_evicted_a_place_is_waited_for():
    plan = zoned(queueing={"preemption": "never"})
    found = asked(plan, gang(priority="high"), row("old", 0))
    assert (found.verdict, evicted(found)) == (WAITS, [])
    assert "give way" not in found.message


def test_quota_and_place_are_wanted_at_once():
    """Quota alone would be had from the newest, in zone b: its place is of no use."""
    teams = [team("vision", guarantee={"train": 40}, borrow={"train": 0})]
    teams.append(team("speech", guarantee={"train": 16}))
    rows = [row("in a", 0), row("in b", 1)]
    found = asked(zoned(teams=teams), gang(priority="high"), *rows)
    assert (found.verdict, evicted(found)) == (STARTS, ["in a"])
    assert found.preempts[0].why == "it is in the same queue with a lower priority"


def test_quota_that_could_be_had_is_of_no_use_without_a_place():
    teams = [team("vision", guarantee={"train": 48}), team("speech", guarantee={"train": 8})]
    found = asked(zoned(teams=teams), gang(5, priority="high"), row("old", 0, 2))
    assert (found.verdict, found.admitted, evicted(found)) == (NEVER, False, [])


# ── from borrowers ────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("fair", [True, False])
def test_a_borrower_makes_a_place_for_who_is_entitled(fair):
    teams = [team("vision", guarantee={"train": 56}), team("speech", borrow={"train": 56})]
    found = asked(zoned(fair=fair, teams=teams), gang(), row("loan", 0, whose="speech"))
    assert (found.verdict, evicted(found)) == (STARTS, ["loan"])
    assert "it borrows from the team's guarantee" in found.preempts[0].why


@pytest.mark.parametrize("fair", [True, False])
def test_who_has_only_its_guarantee_keeps_its_place(fair):
    teams = [team("vision", guarantee={"train": 48}), team("speech", guarantee={"train": 8})]
    found = asked(zoned(fair=fair, teams=teams), gang(), row("own", 0, whose="speech"))
    assert (found.verdict, evicted(found)) == (WAITS, [])


# ── where it is not judged, or not asked ──────────────────────────────────────────────────────────
def test_among_too_many_it_is_said_that_nobody_tried(monkeypatch):
    monkeypatch.setattr(workload, "MAX_JOBS", 1)
    found = asked(zoned(), gang(priority="high"), row("one", 0), row("two", 1))
    assert (found.verdict, evicted(found)) == (WAITS, [])
    (caution,) = found.cautions
    assert caution.endswith("to free a place: not simulated with 2 jobs running")


def test_a_place_is_made_in_the_first_pool_before_the_next_is_tried():
    spare = pool("spare", nodes=4, zones=["a"], topology=True)
    plan = zoned(spare=[spare])
    found = asked(plan, gang(priority="high"), row("old", 0))
    assert (found.pools, evicted(found)) == (("train",), ["old"])
    polite = asked(plan, gang(), row("old", 0))
    assert (polite.verdict, polite.pools, evicted(polite)) == (STARTS, ("spare",), [])


def test_where_an_autoscaler_is_asked_first_nobody_goes_for_a_place():
    plan = zoned(provisioning="check-capacity")
    found = asked(plan, gang(priority="high"), row("old", 0))
    assert evicted(found) == []


def test_the_sum_is_in_the_answer():
    found = asked(zoned(), gang(priority="high"), row("old", 0))
    assert [r.reason for r in found.reasons] == [f"32 {GPU} of 48 free, within its guarantee"]
