"""A check that waits for what teams use is deferred, and replaced by the next deployment."""

import asyncio
import copy
import json
from types import SimpleNamespace

import pulumi
import pytest

from gpuyard.render.validation.work import deferred_jobs
from gpuyard.resources.validation import deferral, job_results
from gpuyard.resources.validation.deferral import (
    QueuedJobWatch,
    used_by_teams,
    verdict_fields,
    with_attempt_annotation,
)
from gpuyard.resources.validation.job_results import all_nodes_validated_hook
from kit.cases.figures import figures_line
from kit.stacks import plan_of, platform, shared_pool

FULL = {"image": "x", "profile": "full"}
PLAN = plan_of(platform([shared_pool()], cloud="simulated", validation=FULL))
(JOB,) = deferred_jobs(PLAN)
SPACE = "gpuyard-lab"
SHARED = "nvidia.com/gpu.shared"
WORKLOADS = "workloads.kueue.x-k8s.io"
USED = f"queue lab-vision uses 3 {SHARED}"
WHY = f"deferred: {USED}; the next deployment retries it"
ROW = {"min": 1, "max": 1, "floor": 1, "unit": "devices", "source": 0}
FIGURES = figures_line({"share.devices": ROW}).strip()


def queue(name, total="3", flavor="dev", resource=SHARED):
    used = {"name": flavor, "resources": [{"name": resource, "total": total, "borrowed": "0"}]}
    return {"metadata": {"name": name}, "status": {"flavorsReservation": [used]}}


def waiting(count, node=None):
    return [{"spec": {"nodeName": node} if node else {}, "status": {}}] * count


class Cluster:
    """One Job with its pods and Workload, and the queues; a Job with no pods to run is complete."""

    def __init__(self, *, suspended=True, pods=(), queues=None, refuses=()):
        self.job = {
            "metadata": {"uid": "u1", "annotations": {}, "labels": {}},
            "spec": {"suspend": suspended, "template": {"metadata": {}}},
            "status": {},
        }
        self.pods, self.queues, self.refuses = (
            list(pods),
            queues or [queue("lab-vision")],
            list(refuses),
        )
        self.changed, self.kept, self.again = [], None, 0
        self.fails = []  # kinds of which the next look fails

    async def get(self, kind, *rest):
        if kind in self.fails:
            self.fails.remove(kind)
            return None
        if kind == "job":
            return copy.deepcopy(self.job)
        if kind == "configmap":
            return self.kept
        found = {"pods": self.pods, WORKLOADS: [{"metadata": {"name": "w"}}]}
        return {"items": found.get(kind, self.queues)}

    async def run_mutating(self, verb, kind, name, *rest):
        assert (verb, rest[:3]) == ("patch", ("-n", SPACE, "--type=merge"))
        given = json.loads(rest[-1])
        self.changed.append((kind, name, given))
        if self.refuses:
            return self.refuses.pop(0)
        if kind == "job" and given.get("spec"):
            self.job["metadata"]["annotations"] |= given["metadata"]["annotations"]
            if self.again:  # Kueue suspends it once more
                self.again -= 1
                self.job["spec"]["suspend"] = True
            else:
                self.job["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}
        return ""


@pytest.fixture
def said(monkeypatch):
    """What is logged; the clock goes on by 20 s whenever it is read."""
    lines, clock = [], iter(range(0, 10_000, 20))
    monkeypatch.setattr(deferral, "PAUSE_SECONDS", 0)
    monkeypatch.setattr(deferral, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(pulumi.log, "info", lines.append)
    monkeypatch.setattr(pulumi.log, "warn", lambda line: lines.append(f"warning: {line}"))
    return lines


async def until(done):
    while not done():  # noqa: ASYNC110  a fake cluster sends no events
        await asyncio.sleep(0)


def watched(cluster):
    """The watch of a Job, until it ends; a cluster may end its Job after so many looks."""
    one = QueuedJobWatch(cluster, PLAN, JOB, SPACE)
    asyncio.run(asyncio.wait_for(one.watch(), 5))
    return one


WAITS = (
    f"pool dev: validation {JOB.name} waits: {USED}. gpuyard defers it in 60 s if they are still "
    "in use"
)
WARNS = f"warning: pool dev: validation {JOB.name} is {WHY}"
ENDED = {
    "metadata": {"annotations": {"gpuyard.dev/deferred": WHY}},
    "spec": {"completions": 0, "parallelism": 0, "suspend": False},
}
UNQUEUED = [
    (WORKLOADS, "w", {"spec": {"active": False}}),
    ("job", JOB.name, {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": None}}}),
]


def test_a_job_that_its_queue_does_not_admit_leaves_the_queue_and_ends_without_pods(said):
    cluster = Cluster()
    watched(cluster)
    assert said == [WAITS, WARNS]
    assert cluster.changed == [*UNQUEUED, ("job", JOB.name, ENDED)]


def test_a_job_whose_pods_find_too_few_shares_ends_where_it_is(said):
    cluster = Cluster(suspended=False, pods=[*waiting(14, "dev-000"), *waiting(3)])
    watched(cluster)
    assert said == [WAITS, WARNS]
    assert cluster.changed == [("job", JOB.name, ENDED)]


def test_a_job_that_kueue_suspends_once_more_is_ended_again_and_said_once(said):
    cluster = Cluster(suspended=False, pods=waiting(3))
    cluster.again = 1
    watched(cluster)
    assert said == [WAITS, WARNS]
    assert cluster.changed == [("job", JOB.name, ENDED), *UNQUEUED, ("job", JOB.name, ENDED)]


def freed(cluster, after):
    """The teams' workloads end once the watch has changed so many objects."""
    change = cluster.run_mutating

    async def changed(*what):
        problem = await change(*what)
        if len(cluster.changed) == after:
            cluster.queues = [queue("lab-vision", "0")]
        return problem

    cluster.change = changed
    return cluster


@pytest.mark.parametrize(
    "refuses", [["", "no"], ["", "", "no"]], ids=["with an inactive workload", "without its label"]
)
def test_a_job_that_has_begun_to_leave_its_queue_is_deferred_even_if_its_pool_is_free(
    said, refuses
):
    cluster = freed(Cluster(refuses=refuses), len(refuses))
    watched(cluster)
    assert said == [
        WAITS,
        f"gpuyard cannot defer validation {JOB.name} yet and tries again: no",
        WARNS,
    ]
    assert cluster.changed[-3:] == [*UNQUEUED, ("job", JOB.name, ENDED)]


def test_a_deferred_job_that_kueue_suspends_once_more_ends_even_if_its_pool_is_free(said):
    cluster = freed(Cluster(suspended=False, pods=waiting(3)), 1)
    cluster.again = 1
    watched(cluster)
    assert said == [WAITS, WARNS]
    assert cluster.changed[-3:] == [*UNQUEUED, ("job", JOB.name, ENDED)]


@pytest.mark.parametrize("kind", ["job", "pods", "clusterqueues.kueue.x-k8s.io"])
def test_a_look_that_fails_does_not_begin_the_patience_again(said, kind):
    cluster = Cluster(suspended=False, pods=waiting(3))
    one = QueuedJobWatch(cluster, PLAN, JOB, SPACE)

    async def run():
        watch = asyncio.create_task(one.watch())
        await until(lambda: said)
        cluster.fails = [kind]
        await asyncio.wait_for(watch, 5)

    asyncio.run(run())
    assert (said, cluster.fails) == ([WAITS, WARNS], [])


def test_what_the_server_refuses_is_said_and_tried_again(said):
    cluster = Cluster(refuses=["no"])
    watched(cluster)
    assert said == [
        WAITS,
        f"gpuyard cannot defer validation {JOB.name} yet and tries again: no",
        WARNS,
    ]


@pytest.mark.parametrize(
    "cluster",
    [
        Cluster(suspended=False, pods=[*waiting(16, "dev-000"), *waiting(1)]),
        Cluster(queues=[queue("gpuyard-lab-work"), queue("lab-vision", "0")]),
        Cluster(
            queues=[
                queue("lab-vision", flavor="train"),
                queue("b", resource="cpu"),
                {"metadata": {"name": "c"}},
            ]
        ),
    ],
    ids=["only the spare pod waits", "nothing is used", "other resources are used"],
)
def test_a_job_that_no_team_is_in_the_way_of_is_left_to_the_engine(said, cluster):
    async def run():
        watch = asyncio.create_task(QueuedJobWatch(cluster, PLAN, JOB, SPACE).watch())
        for _ in range(20):
            await asyncio.sleep(0)
        cluster.job["status"] = {"conditions": [{"type": "Failed", "status": "True"}]}
        await asyncio.wait_for(watch, 5)

    asyncio.run(run())
    assert (said, cluster.changed) == ([], [])


def test_a_job_that_is_not_made_yet_is_waited_for(said):
    cluster = Cluster()
    made, cluster.job = cluster.job, None

    async def run():
        watch = asyncio.create_task(QueuedJobWatch(cluster, PLAN, JOB, SPACE).watch())
        await asyncio.sleep(0)
        assert not watch.done()
        cluster.job = made
        await asyncio.wait_for(watch, 5)

    asyncio.run(run())
    assert said == [WAITS, WARNS]


def test_what_a_cluster_does_not_show_is_not_used():
    assert used_by_teams([{"metadata": {"name": "a"}, "status": None}], "x", JOB.pool) == ""


def attempt(job):
    cluster = Cluster()
    cluster.job = job
    return asyncio.run(QueuedJobWatch(cluster, PLAN, JOB, SPACE).previous_deferrals())


def test_a_deferred_job_is_replaced_by_the_next_deployment_and_one_that_passed_is_not():
    def job(times=None, **annotations):
        marks = {"annotations": {"gpuyard.dev/attempt": times}} if times else {}
        spec = {"template": {"metadata": marks}}
        return {"metadata": {"annotations": annotations}, "spec": spec}

    deferred = {"gpuyard.dev/deferred": WHY}
    found = [
        attempt(each) for each in (None, job(), job(**deferred), job("1"), job("1", **deferred))
    ]
    assert found == [0, 0, 1, 1, 2]

    async def template(times):
        async def known():
            return times

        manifest = {"kind": "Job", "spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}
        made = with_attempt_annotation(manifest, known())
        return await made["spec"]["template"]["metadata"].future()

    assert asyncio.run(template(0)) == {"labels": {"a": "b"}}
    again = {"labels": {"a": "b"}, "annotations": {"gpuyard.dev/attempt": "2"}}
    assert asyncio.run(template(2)) == again


def words(cluster):
    async def known():
        made = SimpleNamespace(id=pulumi.Output.from_input("job"))
        late, stays = verdict_fields(
            JOB, made, cluster, QueuedJobWatch(cluster, PLAN, JOB, SPACE), SPACE
        )
        return [await each.future() for each in late.values()], stays

    (figures, verdict), stays = asyncio.run(known())
    assert stays == []
    return json.loads(figures), verdict


def test_verdict_and_figures_are_those_of_the_job_unless_an_earlier_one_has_passed():
    ended = {"terminated": {"message": f"passed\n{FIGURES}\n"}}
    pod = {"spec": {}, "status": {"phase": "Succeeded", "containerStatuses": [{"state": ended}]}}
    cluster = Cluster(pods=[pod])
    figures, verdict = words(cluster)
    assert (figures["share.devices"]["most"], verdict) == (1, "passed")
    cluster.kept = {"data": {"verdict": WHY, "figures": "{}"}}
    assert words(cluster)[0] == figures
    cluster.kept = {"data": {"verdict": "passed", "figures": '{"a": 2}'}}
    assert words(cluster)[0] == {"a": 2}
    cluster.job["metadata"]["annotations"]["gpuyard.dev/deferred"] = WHY
    assert words(cluster)[1] == WHY


def test_a_job_that_was_deferred_has_not_passed_when_the_last_look_fails(said):
    cluster = Cluster()
    one = watched(cluster)
    cluster.fails = ["job"]
    assert asyncio.run(one.verdict()) == WHY


def test_a_watch_that_cannot_look_ends_when_the_engine_has_seen_the_job_succeed(said, monkeypatch):
    cluster, made = Cluster(), hooked(monkeypatch)
    cluster.job = None
    one = QueuedJobWatch(cluster, PLAN, JOB, SPACE)
    one.hook("lab")
    ((_, begin),) = made

    async def run():
        await begin(None)
        await asyncio.sleep(0)
        return await asyncio.wait_for(one.verdict(), 5)

    assert asyncio.run(run()) == "passed"


def hooked(monkeypatch):
    made = []
    hooks = SimpleNamespace(
        ResourceHook=lambda name, call: made.append((name, call)),
        ResourceHookBinding=lambda **given: given,
        ResourceHookArgs=None,
        log=pulumi.log,
        Output=pulumi.Output,
    )
    monkeypatch.setattr(deferral, "pulumi", hooks)
    monkeypatch.setattr(job_results, "pulumi", hooks)
    return made


def test_the_watch_begins_before_the_job_is_made_and_the_verdict_waits_for_it(said, monkeypatch):
    made, cluster = hooked(monkeypatch), Cluster()
    one = QueuedJobWatch(cluster, PLAN, JOB, SPACE)
    assert list(one.hook("lab")) == ["before_create"]
    all_nodes_validated_hook(
        "worked", cluster, JOB.pool, JOB.name, nodes=JOB.nodes, space=SPACE, deferrable=True
    )
    (name, begin), (_, checked) = made
    assert name == f"gpuyard:lab:{JOB.name}:watched"

    async def run():
        await begin(None)
        await until(lambda: cluster.job["status"])
        verdict = await asyncio.wait_for(one.verdict(), 5)
        await checked(None)  # no node was looked at, and that is no failure
        return verdict

    assert asyncio.run(run()) == WHY
