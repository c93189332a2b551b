"""Three teams that try everything at random, and a referee who counts: nobody runs what is not counted.

`GPUYARD_HOSTILE` says how many seconds they try, with which seed after a colon; a campaign takes an hour.
With `GPUYARD_JOBSET=1` they make JobSets too; `scripts/tools workloads` builds the controller.
"""

import contextlib
import os
import random
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from testbed.controllers import controllers

from gpuyard_simulate import cluster
from gpuyard_simulate.api import Api, ApiError
from kit.cluster import lab as reality
from kit.cluster.hostile import Hostile, Picture, Referee
from kit.cluster.queues import job
from kit.cluster.tenants import acting, cleared, tenants
from kit.generated.hostile import MERGE, WHOLES, Member
from kit.stacks import Raw, cut_pool, platform, pool, team
from kit.waiting import PATIENCE

pytestmark = [pytest.mark.cluster]

Value = dict[str, Any]
SECONDS, _, SEED = (os.environ.get("GPUYARD_HOSTILE") or "15:4").partition(":")
LEAST = 60
"""Moves, on however slow a machine."""
ROUND = 45.0
"""Seconds after which a team begins anew: what it left fills its quota, and nothing happens any more."""
SLICES = ("nvidia.com/mig-1g.5gb", "nvidia.com/mig-3g.20gb", "nvidia.com/gpu.shared")
DEVICES = "deviceclass.resource.kubernetes.io/gpu.nvidia.com"
MADE_OF_OTHERS = tuple(WHOLES) if os.environ.get("GPUYARD_JOBSET") else ()
OTHERS = tuple(WHOLES[kind] for kind in MADE_OF_OTHERS)
QUEUES = {"hos-a": "default", "hos-b": "batch", "hos-c": "work"}


def three_teams() -> Raw:
    """One with a queue that is the default, one with two pools, and one with borrowing and a slice."""
    pools = [
        pool("hos-open", nodes=3),
        pool("hos-vip", nodes=1, owners=["hos-b"]),
        cut_pool("hos-cut"),
    ]
    teams = [
        team("hos-a", guarantee={"hos-open": 8}, borrow={"hos-open": 8}, groups=["hos-a"]),
        team(
            "hos-b",
            guarantee={"hos-open": 8, "hos-vip": 8},
            queues={"batch": 1.0},
            groups=["hos-b"],
        ),
        team(
            "hos-c",
            guarantee={"hos-open": 8, "hos-cut/2g.10gb": 2},
            borrow={"hos-open": 8},
            queues={"work": 1.0},
            groups=["hos-c"],
            isolation="slice",
        ),
    ]
    return platform(
        pools,
        teams,
        name="hos",
        cloud="simulated",
        kubernetes="1.36",
        priorities={"hos-high": 100},
    )


@pytest.fixture(scope="module")
def lab(
    started: cluster.Outcome, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[reality.Lab]:
    """The platform with its policies in force, and JobSets where there is a program for them."""
    kubeconfig = Path(started.status.kubeconfig)
    with ExitStack() as held:
        if MADE_OF_OTHERS:
            folder = tmp_path_factory.mktemp("jobset")
            held.enter_context(controllers(kubeconfig, folder, "jobset"))
        found = held.enter_context(tenants(started.status.name, three_teams()))
        try:
            yield found
        finally:
            for namespace in QUEUES:
                cleared(found.api, namespace, OTHERS)


# ── the referee ───────────────────────────────────────────────────────────────────────────────────


def pod(name: str, gpus: int = 8, **metadata: Any) -> Value:
    requests = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    containers = [{"name": "a", "resources": {"requests": requests}}]
    return {
        "metadata": {"name": name, "namespace": "hos-a", "uid": name, **metadata},
        "spec": {"nodeName": "hos-open-0", "containers": containers},
        "status": {"phase": "Running"},
    }


def counted(name: str, gpus: int, owner: str, *, pods: int = 2, over: int = 0) -> Value:
    """So many GPUs of two pods, of which by now there may be fewer, or some are over."""
    usage = {"resourceUsage": {"nvidia.com/gpu": str(gpus), "cpu": "1"}}
    return {
        "metadata": {"name": name, "namespace": "hos-a", "ownerReferences": [{"uid": owner}]},
        "spec": {"podSets": [{"name": "main", "count": pods}]},
        "status": {
            "admission": {"podSetAssignments": [{"name": "main", "count": 2, **usage}]},
            "reclaimablePods": [{"name": "main", "count": over}] if over else [],
            "conditions": [{"type": "QuotaReserved", "status": "True"}],
        },
    }


def made_by(uid: str) -> list[Value]:
    return [{"kind": "Job", "name": uid, "uid": uid}]


@pytest.mark.parametrize(
    ("pods", "wrong"),
    [
        ([pod("x", ownerReferences=made_by("j"))], []),
        ([pod("j", 4), pod("x", 4, ownerReferences=made_by("j"))], []),
        (
            [pod("x", ownerReferences=made_by("j")), pod("y", ownerReferences=made_by("j"))],
            ["workload hos-a/w nvidia.com/gpu", "team hos-a nvidia.com/gpu"],
        ),
        ([pod("lost", 1)], ["stranger hos-a/lost"]),
        ([pod("cores", 0)], ["stranger hos-a/cores"]),
        (
            [pod("x", ownerReferences=made_by("j")), pod("lost")],
            ["team hos-a nvidia.com/gpu", "stranger hos-a/lost"],
        ),
    ],
)
def test_the_referee_sees_what_is_not_counted(pods: list[Value], wrong: list[str]):
    assert [each.what for each in Picture(pods, [counted("w", 8, "j")]).wrongs()] == wrong


def test_what_is_over_or_was_taken_away_counts_no_more():
    pods = [pod("x", 4, ownerReferences=made_by("j")), pod("y", 4, ownerReferences=made_by("j"))]
    for some in ({}, {"over": 1}, {"pods": 1}, {"pods": 3}):
        wrong = list(Picture(pods, [counted("w", 8, "j", **some)]).wrongs())
        assert bool(wrong) == (some in ({"over": 1}, {"pods": 1}))
        assert not wrong or "8 nvidia.com/gpu run, 4 counted" in wrong[0].about


def test_pods_of_a_counted_job_that_name_a_group_are_counted_with_their_job():
    label = {"kueue.x-k8s.io/pod-group-name": "g"}
    of_job = pod("x", 4, ownerReferences=made_by("j"), labels=label)
    alone = pod("y", 1, labels=label)
    job, group = counted("w", 4, "j"), counted("g", 1, "y")
    assert list(Picture([of_job, alone], [job, group]).wrongs()) == []
    without_its_job = [each.what for each in Picture([of_job, alone], [group]).wrongs()]
    assert without_its_job == ["workload hos-a/g nvidia.com/gpu", "team hos-a nvidia.com/gpu"]


def late(name: str, gpus: int) -> Value:
    """A pod of a workload that waits for its node."""
    found = pod(name, gpus, ownerReferences=made_by("j"))
    return {**found, "spec": {**found["spec"], "nodeName": ""}}


def admitted() -> Value:
    found = counted("w", 8, "j")
    conditions = [{"type": each, "status": "True"} for each in ("QuotaReserved", "Admitted")]
    return {**found, "status": {**found["status"], "conditions": conditions}}


def test_the_referee_minds_who_waits_behind_strangers_and_nobody_else():
    waits, plain, stranger = late("x", 8), late("y", 0), pod("cores", 0)
    another = pod("others", 0)
    seen = Referee(Api("", "", ""), {"hos-a"})
    for now, strangers in ((0, [stranger]), (300, []), (301, [another]), (320, [stranger])):
        seen.judge(Picture([waits, plain, *strangers], [admitted()]), now, 1)
    assert seen.late == 320
    with pytest.raises(AssertionError, match="hos-a/x"):
        seen.judge(Picture([waits, another], [admitted()]), 322, 1)
    seen = Referee(Api("", "", ""), {"hos-a"})
    for now in range(0, 400, 3):  # whoever asks for no GPU waits for no such node
        strangers = [pod(f"cores-{now}", 0)]
        seen.judge(Picture([plain, *strangers], [admitted()]), now, 1)
    assert seen.late == 0


# ── the game ──────────────────────────────────────────────────────────────────────────────────────


def test_a_job_that_grows_while_it_is_counted_is_admitted_as_it_is(lab: reality.Lab):
    """Kueue's scheduler writes what it had counted, whatever stands there by then: one in twelve ran more."""
    team, path = acting(lab.api, "hos-b"), "/apis/batch/v1/namespaces/hos-b/jobs"
    value = job("hos-b", "grows", pods=6, gpus=1, queue="batch")
    value["spec"]["parallelism"] = 1
    taken = 0
    for lag in (0.0, 0.002, 0.005, 0.01, 0.02, 0.05) * 2:
        team.call("POST", path, value)
        time.sleep(lag)
        with contextlib.suppress(ApiError):  # it runs by then
            team.call("PATCH", f"{path}/grows", {"spec": {"parallelism": 6}}, MERGE)
            taken += 1
        (workload,) = reality.wait(lambda: reserved(lab.api), "a count")
        (counted,) = workload["status"]["admission"]["podSetAssignments"]
        assert counted["count"] == workload["spec"]["podSets"][0]["count"]
        cleared(lab.api, "hos-b")
        reality.wait(lambda: not workloads(lab.api), "no workload")
    assert taken, "none of them grew"


def workloads(api: Api) -> list[Value]:
    return list(api.call("GET", f"{reality.KUEUE}/namespaces/hos-b/workloads")["items"])


def reserved(api: Api) -> list[Value]:
    found = workloads(api)
    return [w for w in found if reality.condition(w, "QuotaReserved").get("status") == "True"]


@pytest.mark.timeout(7200)
def test_whatever_hostile_teams_do_no_gpu_runs_that_is_not_counted(lab: reality.Lab):
    seed, seconds = SEED or "0", float(SECONDS)
    others = (*SLICES, DEVICES)
    members = {
        n: Member(f"{seed}/{n}", n, queue, others, MADE_OF_OTHERS) for n, queue in QUEUES.items()
    }
    teams = Hostile(lab.api, members, {n: n for n in QUEUES}, wholes=OTHERS)
    referee = Referee(lab.api, set(QUEUES))
    turns = random.Random(seed)  # noqa: S311  dice, not keys
    began = cleared = time.monotonic()

    def goes_on(lasted: float) -> bool:
        """Nothing may be wrong while nothing runs: a slow machine takes longer until something does."""
        return (
            lasted < seconds or len(teams.log) < LEAST or (not referee.most and lasted < PATIENCE)
        )

    try:
        while goes_on((now := time.monotonic()) - began):
            for namespace in turns.choices(sorted(QUEUES), k=4):
                teams.act(namespace)
            referee.look()
            if now - cleared > ROUND:
                cleared = now
                teams.clears(turns.choice(sorted(QUEUES)))
    except AssertionError as found:
        found.add_note("\n".join(teams.log[-300:]))
        found.add_note(teams.left())
        raise
    finally:
        print(  # noqa: T201  the figures of a campaign
            f"seed {seed}, {seconds:.0f} s: {len(teams.log)} moves {dict(teams.answers)},"
            f" {referee.looks} looks, {referee.most} GPUs at once,"
            f" wrong for {referee.longest:.1f} s at most, waited {referee.late:.1f} s at most"
        )
    assert teams.answers["taken"] > len(teams.log) / 10, teams.answers
    assert teams.answers["policy"], teams.answers
    assert referee.most, "nothing ran"
