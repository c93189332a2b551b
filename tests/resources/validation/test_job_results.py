"""What pods of a check said last, and whether each had a node of its own."""

import asyncio
import json
from types import SimpleNamespace

import pulumi
import pytest

from gpuyard.render.validation.jobs import check_name, validation_objects
from gpuyard.render.validation.work import work_objects
from gpuyard.resources.diagnosis.hooks import explain_error
from gpuyard.resources.validation import job_results
from gpuyard.resources.validation.job_results import (
    CheckFailed,
    all_nodes_validated_hook,
    format_failures,
)
from kit.cases.figures import figures_line
from kit.every import every
from kit.stacks import plan_of, platform, pool, shared_pool

PLAN = plan_of(platform([pool(nodes=2)], cloud="simulated", validation={"image": "x"}))
JOB = validation_objects(PLAN)[-1]
NAME = check_name(PLAN, PLAN.pools[0])
LOOK = f"kubectl get pods -n gpu-operator -l batch.kubernetes.io/job-name={NAME} -o wide"
WORDS = (
    "failed: node train-001, pool train: 183 checks ran, 1 failed\n"
    "fail: memory.remapped_rows on gpu 3: no spare rows are left; value True, threshold False (NVML's own"
    " verdict); needs: replace\n"
)
FIX = (
    f"  fix: repair or replace the node, then deploy again: failed validations are repeated. {LOOK}"
)
WHOLE = "kubectl get nodes -l gpuyard.dev/pool=train -L nvidia.com/gpu.count"


def pod(node, phase="Succeeded", message=None, **status):
    ended = {"exitCode": 1, **({"message": message} if message is not None else {})}
    containers = [{"state": {"terminated": ended}}]
    return {
        "spec": {"nodeName": node},
        "status": {"phase": phase, "containerStatuses": containers, **status},
    }


EVICTED = {"phase": "Failed", "reason": "Evicted", "message": "no room"}


class Cluster:
    """Knows the pods of one Job."""

    command = staticmethod(lambda *what: " ".join(("kubectl", *what)))

    def __init__(self, *pods, blind=False):
        self.pods, self.blind = list(pods), blind

    async def get(self, *what):
        asked = ("pods", "-n", "gpu-operator", "-l", f"batch.kubernetes.io/job-name={NAME}")
        assert what == asked
        return None if self.blind else {"items": self.pods}


def said(*pods, nodes=2):
    return format_failures("", pods, nodes, LOOK, WHOLE).splitlines()


def test_a_failure_is_told_with_node_check_value_and_floor():
    bad, good = pod("train-001", "Failed", WORDS), pod("train-000")
    assert said(good, bad) == [
        "Not every node is confirmed to match the plan:",
        "  failed: node train-001, pool train: 183 checks ran, 1 failed",
        f"  {WORDS.splitlines()[1]}",
        FIX,
    ]


def test_nodes_without_a_verdict_are_counted_and_where_to_look_is_said():
    (line,) = [each for each in said(pod("train-000")) if "no verdict" in each]
    assert line.startswith(
        "  1 of 2 nodes have no verdict: the first failure or the deadline stops"
    )
    assert line.endswith(WHOLE)
    waits = {"spec": {}, "status": {"phase": "Pending"}}
    assert any("2 of 2 nodes" in each for each in said(waits, {"spec": {}}))


@every(
    "broken, line",
    [
        (pod("a", "Failed"), "  node a: the validator exited with 1 and no message"),
        (pod("a", "Failed", " \n"), "  node a: the validator exited with 1 and no message"),
        (
            {"spec": {"nodeName": "a"}, "status": EVICTED},
            "  node a: Evicted: no room",
        ),
        (
            pod("a", "Failed", containerStatuses=[{"state": {"waiting": {}}}]),
            "  node a: Failed: ",
        ),
    ],
)
def test_a_pod_that_said_nothing_is_told_by_what_is_known(broken, line):
    assert said(broken, nodes=1)[1] == line


def explanation(cluster, operation="create", job=JOB):
    args = pulumi.ErrorHookArgs(
        "urn", "", "n", "t", failed_operation=operation, errors=["it failed"], new_inputs=job
    )
    return asyncio.run(explain_error(cluster, args))


def test_a_deployment_that_waited_in_vain_is_told_why():
    text = explanation(Cluster(pod("train-001", "Failed", WORDS), pod("train-000")))
    assert text == "\n".join(said(pod("train-001", "Failed", WORDS), pod("train-000")))
    assert explanation(Cluster(), "update") is not None
    blind = explanation(Cluster(blind=True))
    assert blind == f"The termination messages of the pods of {NAME} have the results: {LOOK}"


def test_jobs_of_others_are_left_to_the_engine():
    other = {"kind": "Job", "metadata": JOB["metadata"], "spec": {"template": {"spec": {}}}}
    assert explanation(Cluster(), job=other) is None
    assert explanation(Cluster(), "delete") is None


def test_figures_are_of_pods_that_passed_and_no_line_for_people():
    row = {"min": 1, "max": 2, "floor": 0, "unit": "u", "source": 0}
    numbers = figures_line({"a.b": row}, ["s"])
    good = pod("train-000", message=f"passed\n{numbers}")
    bad = pod("train-001", "Failed", WORDS + numbers)

    def read(looks):
        async def known():
            job = SimpleNamespace(id=pulumi.Output.from_input("job"))
            return await job_results.job_measurements(job, looks, NAME, "gpu-operator").future()

        return json.loads(asyncio.run(known()))

    assert read(Cluster(good, bad)) == {
        "a.b": {"least": 1, "most": 2, "floor": 0, "unit": "u", "source": "s", "nodes": 1}
    }
    assert read(None) == read(Cluster(blind=True)) == {}
    assert said(good, bad) == said(pod("train-000"), pod("train-001", "Failed", WORDS))


def test_nodes_that_are_not_alike_are_kept_and_warned_of(monkeypatch):
    def words(version):
        return "passed\n" + figures_line({}, parts={"vbios": [version]})

    warned = []
    monkeypatch.setattr(pulumi.log, "warn", warned.append)

    def read(looks):
        async def known():
            job = SimpleNamespace(id=pulumi.Output.from_input("job"))
            pool = PLAN.pools[0]
            return await job_results.wait_for_job(
                job, looks, lambda one: job_results.pool_inconsistencies(one, PLAN, pool)
            ).future()

        return json.loads(asyncio.run(known()))

    one, other = pod("train-000", message=words("A")), pod("train-001", message=words("B"))
    gone = pod("train-002", "Failed", words("C"))
    assert read(Cluster(one, other, gone)) == {"vbios": {"A": ["train-000"], "B": ["train-001"]}}
    (said,) = warned
    assert said.startswith("The nodes of pool train are not identical:\n  VBIOS A: train-000\n")
    assert read(None) == read(Cluster(one)) == read(Cluster(blind=True)) == {}
    assert len(warned) == 1


def stand_in(made):
    """The engine's part of hooks: those that are asked for go into the list."""
    return SimpleNamespace(
        ResourceHook=lambda name, call: made.append((name, call)),
        ResourceHookBinding=lambda **hooks: hooks,
        ResourceHookArgs=None,
        RunError=pulumi.RunError,
    )


def before(cluster, monkeypatch):
    """The hook, called as the engine does before it writes the verdict down."""
    made = []
    monkeypatch.setattr(job_results, "pulumi", stand_in(made))
    hooks = all_nodes_validated_hook(
        "checked", cluster, PLAN.pools[0], NAME, nodes=2, space="gpu-operator"
    )
    assert sorted(hooks) == ["before_create", "before_update"]
    ((name, call),) = made
    assert name == "checked"
    asyncio.run(call(None))


def test_a_verdict_stands_when_every_node_was_looked_at(monkeypatch):
    drained = pod("train-002", "Failed", reason="Evicted")
    before(Cluster(pod("train-000"), pod("train-001"), drained), monkeypatch)


def test_two_looks_at_one_node_are_no_verdict(monkeypatch):
    with pytest.raises(CheckFailed) as caught:
        before(Cluster(pod("train-000"), pod("train-000")), monkeypatch)
    assert str(caught.value) == (
        "pool train: 1 of 2 nodes were validated (train-000): the others were not ready in time\n "
        f" fix: wait for its nodes, then run kubectl delete job {NAME} -n gpu-operator and pulumi "
        "up --refresh"
    )


def test_without_a_look_nobody_knows(monkeypatch):
    with pytest.raises(CheckFailed, match="does not know which nodes were validated"):
        before(Cluster(blind=True), monkeypatch)


def test_a_check_that_its_queue_never_let_begin_says_so():
    """It has no pod: nobody's last words, and no node that is to blame."""
    full = {"image": "x", "profile": "full"}
    plan = plan_of(platform([pool(nodes=2)], cloud="simulated", validation=full))
    job = work_objects(plan)[-1]
    name = job["metadata"]["name"]

    class Waiting(Cluster):
        async def get(self, *_):
            return {"items": self.pods}

    def explained_by(*pods):
        return asyncio.run(job_results.failed_check_message(Waiting(*pods), job)).splitlines()

    workloads = "kubectl get workloads -n gpuyard-lab"
    assert explained_by() == [
        f"No GPU was tested: Kueue has not admitted {name}, and no queue was seen using its pool.",
        "  The condition QuotaReserved of its Workload names what is missing.",
        (
            f"  fix: deploy again when it is available, or set validation.profile: quick. {workloads} "
            "-o yaml"
        ),
    ]
    assert explained_by(pod("train-001", "Failed", WORDS))[1] == f"  {WORDS.splitlines()[0]}"


def test_a_share_that_is_wrong_is_told_once_however_many_pods_say_it():
    full = {"image": "x", "profile": "full"}
    plan = plan_of(platform([shared_pool()], cloud="simulated", validation=full))
    job = work_objects(plan)[-1]
    name = job["metadata"]["name"]
    look = f"kubectl get pods -n gpuyard-lab -l batch.kubernetes.io/job-name={name} -o wide"
    words = "failed: node dev-000, pool dev: 4 checks ran, 1 failed\nfail: share.together\n"

    class Shares(Cluster):
        async def get(self, *_):
            return {"items": self.pods}

    bad = pod("dev-000", "Failed", words)
    pods = [bad, bad, pod("dev-000"), {"spec": {}, "status": {"phase": "Pending"}}]
    said = asyncio.run(job_results.failed_check_message(Shares(*pods), job)).splitlines()
    assert said == [
        "GPU sharing does not match the plan:",
        "  failed: node dev-000, pool dev: 4 checks ran, 1 failed",
        "  fail: share.together",
        f"  14 of 17 pods have no verdict: {job_results.NO_VERDICT_REASON}",
        f"  fix: compare the node's advertised resources with the plan, then deploy again. {look}",
    ]
    seen = format_failures("shares", [pod("dev-000")] * 17, 17, look, WHOLE)
    assert "no verdict" not in seen


def test_a_dataset_that_is_read_too_slowly_is_told_with_what_to_do():
    data = [{"name": "corpus", "kind": "bucket", "bucket": "our-corpus"}]
    full = {"image": "x", "profile": "full"}
    raw = platform([pool(nodes=2)], cloud="simulated", validation=full, storage={"datasets": data})
    job = work_objects(plan_of(raw))[-1]
    name = job["metadata"]["name"]
    look = f"kubectl get pods -n gpuyard-lab -l batch.kubernetes.io/job-name={name} -o wide"
    words = (
        "failed: node train-000, pool train: 1 checks ran, 1 failed\nfail: storage.read on corpus\n"
    )

    class Volumes(Cluster):
        async def get(self, *_):
            return {"items": self.pods}

    def told(*pods):
        return asyncio.run(job_results.failed_check_message(Volumes(*pods), job)).splitlines()

    fix = (
        "  fix: check the store and the network path from the node to it, then deploy again. "
        f"{look}"
    )
    assert told(pod("train-000", "Failed", words)) == [
        "Reading data does not match the plan:", *(f"  {line}" for line in words.splitlines()), fix,
    ]  # fmt: skip
    assert told()[1:] == [
        "  No pod has a verdict: a pod whose volume cannot be mounted never starts.", fix,
    ]  # fmt: skip


def test_the_figures_of_a_job_are_those_of_its_pods_that_passed():
    row = {"min": 1, "max": 1, "floor": 1, "unit": "devices", "source": 0}
    line = figures_line({"share.devices": row}).strip()
    looks = Cluster(pod("dev-000", message=f"passed\n{line}\n"), pod("dev-000", "Failed", line))
    kept = json.loads(asyncio.run(job_results.read_measurements(looks, NAME, "gpu-operator")))
    assert (kept["share.devices"]["most"], kept["share.devices"]["nodes"]) == (1, 1)


class Made:
    """A Job that the engine has made."""

    id = SimpleNamespace(apply=lambda read: asyncio.run(read("job")))


@every("looks, kept", [(None, "{}"), (Cluster(), "{}")])
def test_figures_are_read_when_the_job_is_there(looks, kept):
    assert job_results.job_measurements(Made(), looks, NAME, "gpu-operator") == kept


def test_the_verdict_of_work_is_that_of_its_own_job(monkeypatch):
    asked, made = [], []

    async def get(*what):
        asked.append(what)
        return {"items": []}

    monkeypatch.setattr(job_results, "pulumi", stand_in(made))
    looks = SimpleNamespace(get=get, command=lambda *what: " ".join(what))
    all_nodes_validated_hook(
        "worked", looks, PLAN.pools[0], "work-of-train", nodes=2, space="gpuyard-lab"
    )
    ((_, call),) = made
    with pytest.raises(CheckFailed, match="0 of 2 nodes were validated"):
        asyncio.run(call(None))
    whose = "batch.kubernetes.io/job-name=work-of-train"
    assert asked == [("pods", "-n", "gpuyard-lab", "-l", whose)]
