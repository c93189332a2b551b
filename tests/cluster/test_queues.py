"""What the queues of a plan do on a real Kueue: gangs, borrowing, lending, reclaim, priorities, fairness."""

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from gpuyard_advisor.explain import Verdict
from gpuyard_simulate import cluster
from gpuyard_simulate.api import Api
from kit.cases import shares as share_cases
from kit.cluster.lab import condition, create, disagreement, path_of
from kit.cluster.queues import QueueLab, job, kill, kueue_as_rendered, one_pool, soon
from kit.stacks import Raw, findings, platform, pool, shape, team

pytestmark = [pytest.mark.cluster]


@pytest.fixture(scope="module")
def kueue(started: cluster.Outcome) -> Iterator[Api]:
    """The cluster with Kueue set up as these platforms set it up."""
    with kueue_as_rendered(started.status.name, one_pool("any", 1)) as api:
        yield api


def test_a_gang_starts_whole_or_not_at_all(kueue: Api):
    raw = one_pool("gang", 8, a={"guarantee": 64})
    with QueueLab(kueue, raw) as lab:
        lab.submit("a", "blocker")
        lab.expect("a", "blocker", "admitted")
        lab.submit("a", "gang", pods=8)
        lab.expect("a", "gang", "waits")
        assert lab.pods("a", "gang") == [], "seven nodes are free, and no pod of eight starts"
        lab.withdraw("a", "blocker")
        lab.expect("a", "gang", "admitted")
        soon(lambda: lab.running("a", "gang") == 8, "eight running pods")


def test_a_job_that_is_suspended_and_enlarged_in_one_change_is_is_recounted(kueue: Api):
    """What admission asks for more pods of a job that runs: nothing runs before it is counted."""
    with QueueLab(kueue, one_pool("more", 1, a={"guarantee": 8})) as lab:
        made = job(lab.namespace("a"), "some", gpus=2)
        made["spec"]["completions"] = 4
        lab.noted(made)
        create(lab.api, path_of(made).rpartition("/")[0], made)
        lab.expect("a", "some", "admitted")
        soon(lambda: lab.running("a", "some") == 1, "a running pod")
        lab.api.patch(path_of(made), {"spec": {"suspend": True, "parallelism": 3}})
        soon(lambda: lab.used()["a"] == 6, "three pods counted")
        lab.expect("a", "some", "admitted")
        soon(lambda: lab.running("a", "some") == 3, "three running pods")
        counted = lab.workload("a", "some")
        assert counted is not None
        assert counted["spec"]["podSets"][0]["count"] == 3


def test_borrowing_goes_to_the_limit_and_not_one_further(kueue: Api):
    with QueueLab(kueue, one_pool("borrow", 4, a={"guarantee": 8, "borrow": 7})) as lab:
        for index in range(16):
            lab.submit("a", f"one-{index}", gpus=1)
        lab.comes_to(a=15)  # 32 GPUs are there, 8 guaranteed, 7 to borrow


def test_what_is_not_lent_is_there_at_once_and_what_is_lent_comes_back(kueue: Api):
    raw = one_pool("lend", 3, a={"guarantee": 8, "borrow": 8}, b={"guarantee": 16, "lend": 8})
    with QueueLab(kueue, raw) as lab:
        for index in range(4):
            lab.submit("a", f"a{index}", gpus=4)
        lab.comes_to(a=16, b=0)
        lab.submit("b", "kept")
        lab.expect("b", "kept", "admitted")
        assert lab.used() == {"a": 16, "b": 8}, "nobody had to go"
        lab.submit("b", "back")
        lab.expect("b", "back", "admitted")
        lab.comes_to(a=8, b=16)
        gone = {name: lab.evicted("a", name) for name in ("a0", "a1", "a2", "a3")}
        assert sorted(gone.values()) == ["", "", "InCohortReclamation", "InCohortReclamation"]


def test_a_priority_takes_from_its_own_team_and_never_means_never(kueue: Api):
    names = {"low": 10, "high": 100}
    raw = one_pool("order", 1, a={"guarantee": 8}, priorities=names)
    with QueueLab(kueue, raw) as lab:
        lab.submit("a", "low", priority="low")
        lab.expect("a", "low", "admitted")
        lab.submit("a", "high", priority="high")
        lab.expect("a", "high", "admitted")
        lab.expect("a", "low", "waits")
        assert lab.evicted("a", "low") == "InClusterQueue"
    never = one_pool(
        "polite", 1, a={"guarantee": 8}, priorities=names, queueing={"preemption": "never"}
    )
    with QueueLab(kueue, never) as lab:
        lab.submit("a", "low", priority="low")
        lab.expect("a", "low", "admitted")
        lab.submit("a", "high", priority="high")
        lab.submit("a", "later", priority="low")
        lab.comes_to(a=8)
        assert lab.evicted("a", "low") == ""
        lab.withdraw("a", "low")
        lab.expect("a", "high", "admitted")
        lab.expect("a", "later", "waits")


@pytest.mark.parametrize("name", share_cases.WEIGHTS)
def test_shares_of_what_is_borrowed_differ_by_one_largest_job_at_most(kueue: Api, name: str):
    weights, sizes = share_cases.WEIGHTS[name], share_cases.SIZES
    with QueueLab(kueue, one_pool(name, share_cases.NODES, **share_cases.teams(weights))) as lab:
        asks = {f"{t}/{t}{n}": gpus for t in weights for n, gpus in enumerate(sizes)}

        def nothing_is_left_that_a_waiting_job_could_use() -> bool:
            waiting = [asks[job] for job, state in lab.settle().items() if state == "waits"]
            return share_cases.GPUS - sum(lab.used().values()) < min(waiting)

        for index, gpus in enumerate(sizes):
            lab.submit("a", f"a{index}", gpus=gpus)
        soon(nothing_is_left_that_a_waiting_job_could_use, "the first to have it all before others")
        for (index, gpus), letter in itertools.product(enumerate(sizes), "bc"):
            lab.submit(letter, f"{letter}{index}", gpus=gpus)
        soon(nothing_is_left_that_a_waiting_job_could_use, "all of it to be shared out")
        # One eviction leads to the next; at rest it has to be so, and to stay so.
        with contextlib.suppress(TimeoutError):
            soon(
                lambda: share_cases.behind(lab.used(), weights) <= share_cases.LARGEST,
                "what the assertion below shows better",
            )
        lab.settle()
        used = lab.used()
        assert share_cases.behind(used, weights) <= share_cases.LARGEST, used


def test_where_only_large_jobs_wait_one_team_may_be_further_behind(kueue: Api):
    """Kueue would evict the last job of the team ahead and no other; that one is too small for who waits."""
    weights = share_cases.WEIGHTS["apart"]
    with QueueLab(kueue, one_pool("large", share_cases.NODES, **share_cases.teams(weights))) as lab:
        for index, (team, gpus) in enumerate(share_cases.HELD):
            if (team, gpus) == share_cases.HELD[-1]:
                lab.settle()  # Kueue tells who came last by whole seconds
            lab.submit(team, f"{team}{index}", gpus=gpus)
            lab.expect(team, f"{team}{index}", "admitted")
        for index, (team, gpus) in enumerate(share_cases.LARGE):
            lab.submit(team, f"{team}-waits-{index}", gpus=gpus)
        lab.comes_to(a=8, b=19, c=20)
        assert share_cases.behind(lab.used(), weights) > share_cases.LARGEST
        lab.submit("c", "small", gpus=share_cases.SMALLEST)
        lab.expect("c", "small", "admitted")
        lab.comes_to(a=8, b=16, c=23)


def test_free_gpus_on_two_nodes_do_not_make_a_pod_of_eight(kueue: Api):
    with QueueLab(kueue, one_pool("halves", 2, a={"guarantee": 16})) as lab:
        apart = {"topologyKey": "kubernetes.io/hostname"}
        apart["labelSelector"] = {"matchLabels": {"job": "halves"}}
        rule = {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}
        affinity = {"affinity": {"podAntiAffinity": rule}}
        lab.submit("a", "halves", pods=2, gpus=4, spec=affinity)
        soon(lambda: lab.running("a", "halves") == 2, "4 + 4 GPUs in use")
        wanted = job(lab.namespace("a"), "whole", gpus=8)
        said = lab.explained(wanted)
        assert (said.verdict, said.admitted) == (Verdict.WAITS, True), said
        lab.noted(wanted)
        assert disagreement(said, lab.submitted(wanted), lab.plan) == ""
        assert lab.state("a", "whole") == "admitted"
        assert lab.running("a", "whole") == 0


def test_a_gang_without_nodes_gives_its_quota_back_when_its_time_is_up(
    kueue: Api, started: cluster.Outcome
):
    raw = one_pool("late", 2, a={"guarantee": 16})
    # as long as the pod that finds its node may take to be ready on a busy machine
    patience = {"timeout": "20s", "recoveryTimeout": "20s", "blockAdmission": False}
    with (
        kueue_as_rendered(started.status.name, raw, waitForPodsReady=patience) as api,
        QueueLab(api, raw) as lab,
    ):
        node = {"nodeSelector": {"kubernetes.io/hostname": lab.node(0)}}
        lab.submit("a", "half", gpus=4, spec=node)
        soon(lambda: lab.ready("a", "half"), "Kueue to know that its pod is ready")
        lab.submit("a", "gang", pods=2, gpus=6)
        soon(lambda: lab.evicted("a", "gang") == "PodsReadyTimeout", "the gang to be evicted")
        soon(lambda: not lab.pods("a", "gang"), "no pod of the gang to be left")
        soon(lambda: lab.used() == {"a": 4}, "its quota to be free")


def test_a_queue_that_can_never_admit_is_found_before_kueue_finds_it(kueue: Api):
    wanted = [shape("big", nodes=4, gpus_per_node=8)]
    teams: dict[str, Any] = {"a": {"guarantee": 8, "borrow": 16}, "b": {"guarantee": 0}}
    found = {f.id: f.problem for f in findings(one_pool("never", 4, wanted, **teams))}
    assert "none of its jobs can ever start" in found["team.nothing"]
    assert "which no team can get" in found["shape.no_quota"]
    with QueueLab(kueue, one_pool("never", 4, **teams)) as lab:
        for letter, pods, says in (("a", 4, "maximum capacity"), ("b", 1, "unavailable")):
            asked = job(lab.namespace(letter), "never", pods=pods)
            assert lab.explained(asked).verdict is Verdict.NEVER
            lab.submit(letter, "never", pods=pods)
            lab.expect(letter, "never", "waits")
            soon(lambda le=letter, s=says: s in lab.says(le, "never"), f"Kueue to say {says}")
        assert lab.used() == {"a": 0, "b": 0}


def test_hold_keeps_what_runs_and_drain_ends_it(kueue: Api):
    def stopped(**stop: str) -> Raw:
        """`queueing=`, `b=` or `pool=` says where the brake is pulled."""
        raw = one_pool("brake", 3, a={"guarantee": 8}, b={"guarantee": 16, **_stop(stop, "b")})
        raw["pools"][0] |= _stop(stop, "pool")
        return raw | {"queueing": _stop(stop, "queueing")}

    with QueueLab(kueue, stopped()) as lab:
        lab.submit("b", "early")
        lab.expect("b", "early", "admitted")
        lab.becomes(stopped(b="hold"))
        soon(lambda: lab.stopped("b"), "the queue to be stopped")
        lab.submit("b", "late")
        lab.submit("a", "free")
        lab.expect("a", "free", "admitted")
        assert lab.used() == {"a": 8, "b": 8}, "what runs goes on, others are not concerned"
        assert lab.state("b", "late") != "admitted"
        lab.becomes(stopped(b="drain"))
        soon(lambda: lab.used() == {"a": 8, "b": 0}, "the team's queue to be empty")
        lab.becomes(stopped(queueing="drain"))
        soon(lambda: lab.used() == {"a": 0, "b": 0}, "every queue to be empty")
        lab.becomes(stopped(pool="hold"))
        soon(lambda: not lab.stopped("b"), "the queue to go again")
        lab.expect("b", "late", "waits")
        # the two look alike, and Kueue tells one of them why it waits
        soon(
            lambda: any("untolerated taint" in lab.says("b", name) for name in ("early", "late")),
            "Kueue to say why they wait",
        )
        lab.becomes(stopped())
        for letter, name in (("a", "free"), ("b", "early"), ("b", "late")):
            lab.expect(letter, name, "admitted")


def _stop(given: dict[str, str], where: str) -> Raw:
    return {"stop_policy": given[where]} if where in given else {}


def test_kueue_killed_midway_loses_nothing(kueue: Api, started: cluster.Outcome):
    name = started.status.name
    with QueueLab(kueue, one_pool("killed", 3, a={"guarantee": 24})) as lab:
        lab.submit("a", "stays")
        lab.expect("a", "stays", "admitted")
        soon(lambda: lab.running("a", "stays"), "its pod")
        for index in range(6):
            lab.submit("a", f"short-{index}", seconds=2)
        soon(lambda: lab.state("a", "short-0") == "finished", "the first to be over")
        before = (lab.workload("a", "stays"), lab.pods("a", "stays"))
        kill(name, "kueue")
        assert cluster.up(name).says == f"repaired cluster {name}: started kueue"
        for index in range(6):
            lab.expect("a", f"short-{index}", "finished")
            made = [p["status"]["phase"] for p in lab.pods("a", f"short-{index}")]
            assert made == ["Succeeded"], "each ran once"
        after = (lab.workload("a", "stays"), lab.pods("a", "stays"))
        for was, now in zip(before, after, strict=True):
            assert admission_and_uid(was) == admission_and_uid(now)


def admission_and_uid(found: Any) -> object:
    """What must not change while Kueue is away: who it is, since when it has its quota, where it runs."""
    if isinstance(found, list):
        return [(p["metadata"]["uid"], p["spec"]["nodeName"]) for p in found]
    since = condition(found, "Admitted")["lastTransitionTime"]
    return found["metadata"]["uid"], found["status"]["admission"], since


def two_pools(name: str, **queueing: Any) -> Raw:
    """Team a is at home in the second pool and may borrow in the first, which is b's."""
    pools = [pool(f"{name}-big", nodes=1), pool(f"{name}-own", nodes=1)]
    big, own = (each["name"] for each in pools)
    teams = [
        team(f"{name}-a", guarantee={own: 8}, borrow={big: 8}),
        team(f"{name}-b", guarantee={big: 8}),
    ]
    rest = {"queueing": {"engine": "kueue", **queueing}} if queueing else {}
    return platform(name=name, cloud="simulated", pools=pools, teams=teams, **rest)


@pytest.mark.parametrize(("said", "first"), [(None, "own"), ("order", "big")])
def test_an_own_guarantee_comes_before_borrowing_unless_order_decides(
    kueue: Api, said: str | None, first: str
):
    name = f"own-{said or 'default'}"
    with QueueLab(kueue, two_pools(name, **({"pool_choice": said} if said else {}))) as lab:
        then = "big" if first == "own" else "own"
        for job_name, where in (("one", first), ("two", then)):
            made = job(lab.namespace("a"), job_name)
            told = lab.explained(made)
            assert (told.verdict, told.pools) == (Verdict.STARTS, (f"{name}-{where}",))
            lab.submit("a", job_name)
            lab.expect("a", job_name, "admitted")
            assert lab.pool_of("a", job_name) == f"{name}-{where}"
        assert lab.used() == {"a": 16, "b": 0}
