"""Pods that check fake nodes: which are taken, what they run, and how a kubelet would say that they ended."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from gpuyard.render.validation.expectations import expectations_text
from gpuyard.render.validation.jobs import validation_objects
from gpuyard_core.names import DRIVER_VERSION_LABEL
from gpuyard_simulate.agents.hardware import MACHINE_LABEL
from gpuyard_simulate.api import ApiError, Unreachable
from gpuyard_simulate.validation import pods
from gpuyard_simulate.validation.copies import WarmProcesses
from gpuyard_simulate.validation.machine import FAULTS, machine_text
from gpuyard_simulate.validation.pods import (
    FakeValidator,
    ProgramResult,
    is_running_validator,
    mounted_file,
    run,
    status_of,
)
from kit.stacks import plan_of, platform, pool
from kit.waiting import SHORTER, until

PLAN = plan_of(
    platform([pool(machine="g6.12xlarge")], cloud="simulated", validation={"image": "x"})
)
JOB = validation_objects(PLAN)[-1]
EXPECTED = expectations_text(PLAN, PLAN.pools[0]) or ""
STARTED = {
    "phase": "Running",
    "startTime": "2026-11-23T00:00:00Z",
    "conditions": [
        {"type": "PodScheduled", "status": "True"},
        {"type": "Ready", "status": "True"},
    ],
}


def pod(**status: Any) -> dict[str, Any]:
    metadata = {"name": "check-0", "namespace": "gpu-operator", "uid": "1"}
    spec = JOB["spec"]["template"]["spec"] | {"nodeName": "train-000"}
    return {"metadata": metadata, "spec": json.loads(json.dumps(spec)), "status": STARTED | status}


def node(faults: str = "{}") -> dict[str, Any]:
    labels = {MACHINE_LABEL: "g6.12xlarge", DRIVER_VERSION_LABEL: "595.91.07"}
    return {"metadata": {"name": "train-000", "labels": labels, "annotations": {FAULTS: faults}}}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look is over when it begins."""
    monkeypatch.setattr(pods, "_TAKES_SECONDS", 0.0)


@pytest.fixture
def program() -> Iterator[WarmProcesses]:
    """The validator."""
    made = WarmProcesses(pods.PACKAGE)
    yield made
    made.end()


def test_a_check_is_taken_once_a_kubelet_has_started_it():
    assert is_running_validator(pod())
    assert not is_running_validator(pod(phase="Pending"))
    going = pod()
    going["metadata"]["deletionTimestamp"] = "now"
    assert not is_running_validator(going)
    other = pod()
    other["spec"]["containers"][0]["command"] = ["sleep"]
    assert not is_running_validator(other)


def test_the_expectations_are_where_the_pod_has_mounted_them():
    assert mounted_file(pod(), "--expect") == (JOB["metadata"]["name"], "expectations.json")
    other = pod()
    other["spec"]["volumes"] = []
    assert mounted_file(other, "--expect") is None
    other["spec"]["containers"][0]["args"] = ["--expect"]
    assert mounted_file(other, "--expect") is None


@pytest.mark.parametrize(
    ("machine", "expected", "code", "says"),
    [
        (machine_text(node()), EXPECTED, 0, "passed: node train-000, pool train"),
        (machine_text(node('{"2": {"remap_pending": true}}')), EXPECTED, 1, "memory.remapped_rows"),
        ("none", EXPECTED, 3, "cannot run: the snapshot is not JSON"),
        (machine_text(node()), "", 3, "cannot run: expectations: not JSON"),
    ],
)
def test_the_real_program_says_how_a_pod_ends(
    program: WarmProcesses, machine: str, expected: str, code: int, says: str
):
    ended = run(program, pod(), expected, machine)
    assert ended.code == code
    assert says in ended.message
    assert len(ended.message.encode()) <= pods.MESSAGE_BYTES


def test_a_busy_node_passes_for_its_pods_leave_out_what_only_an_idle_one_can(
    program: WarmProcesses,
):
    busy = machine_text(node('{"0": {"processes": [7], "utilization": 99}}'))
    assert run(program, pod(), EXPECTED, busy).code == 0
    strict = pod()
    strict["spec"]["containers"][0]["args"] = []
    assert run(program, strict, EXPECTED, busy).code == 1


def test_no_argument_of_a_pod_reaches_a_file_of_this_machine(tmp_path, program: WarmProcesses):
    sly = pod()
    target = tmp_path / "written"
    sly["spec"]["containers"][0]["args"] += ["--junit", str(target), "--leave-out", "--record"]
    assert run(program, sly, EXPECTED, machine_text(node())).code == 0
    assert not target.exists()


def test_a_program_that_dies_without_a_word_leaves_the_end_of_its_log():
    none = WarmProcesses("no_such_program")
    ended = run(none, pod(), EXPECTED, "{}")
    assert ended.code == 1
    assert "No module named no_such_program" in ended.message
    quiet = pod()
    quiet["spec"]["containers"][0]["terminationMessagePolicy"] = "File"
    assert run(none, quiet, EXPECTED, "{}").message == ""


@pytest.mark.parametrize(
    ("code", "phase", "reason", "condition"),
    [(0, "Succeeded", "Completed", "PodCompleted"), (1, "Failed", "Error", "PodFailed")],
)
def test_the_status_is_a_kubelets(code: int, phase: str, reason: str, condition: str):
    found = status_of(pod(), ProgramResult(code, "said"))
    assert found["phase"] == phase
    (container,) = found["containerStatuses"]
    ended = container["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"], ended["message"]) == (code, reason, "said")
    assert ended["startedAt"] == STARTED["startTime"]
    conditions = {c["type"]: (c["status"], c.get("reason")) for c in found["conditions"]}
    assert conditions == {
        "PodScheduled": ("True", None),
        "Ready": ("False", condition),
        "ContainersReady": ("False", condition),
    }


class FakeApi:
    def __init__(self, *, maps: dict[str, Any], fails: list[Exception] | None = None) -> None:
        self.maps, self.fails = maps, fails or []
        self.patches: list[tuple[str, Any]] = []

    def get(self, path: str) -> Any:
        if self.fails:
            raise self.fails.pop(0)
        return self.maps.get(path)

    def patch(self, path: str, change: Any) -> None:
        self.patches.append((path, change))


JOB_PATH = f"/apis/batch/v1/namespaces/gpu-operator/jobs/{JOB['metadata']['name']}"
POD_PATH = "/api/v1/namespaces/gpu-operator/pods/check-0"


def job(ready: int = 0, succeeded: int = 0) -> dict[str, Any]:
    return JOB | {"status": {"ready": ready, "succeeded": succeeded}}


MAPS = {
    JOB_PATH: job(ready=4),
    POD_PATH: pod(),
    f"/api/v1/namespaces/gpu-operator/configmaps/{JOB['metadata']['name']}": {
        "data": {"expectations.json": EXPECTED}
    },
}


def validator(api: FakeApi, there: Any = node) -> tuple[FakeValidator, list[str]]:
    said: list[str] = []
    made = FakeValidator(api, lambda _: there(), said.append)  # type: ignore[arg-type]  a stand-in
    return made, said


def test_a_pod_is_checked_once_however_often_it_changes():
    api = FakeApi(maps=MAPS)
    made, said = validator(api)
    made.start()
    for _ in range(3):
        made.take(pod())
    made.take(pod(phase="Pending"))
    until(lambda: api.patches, seconds=SHORTER)
    time.sleep(0.2)
    ((path, change),) = api.patches
    assert path == "/api/v1/namespaces/gpu-operator/pods/check-0/status"
    assert change["status"]["phase"] == "Succeeded"
    assert said == ["validator: gpu-operator/check-0 on train-000 ended with 0"]


@pytest.mark.parametrize("problem", [Unreachable("gone"), ApiError(500, "busy")])
def test_a_server_that_does_not_answer_is_asked_again(problem: Exception, monkeypatch):
    monkeypatch.setattr(pods, "_AGAIN_SECONDS", 0.01)
    api = FakeApi(maps=MAPS, fails=[problem])
    made, said = validator(api)
    made.start()
    made.take(pod())
    until(lambda: api.patches, seconds=SHORTER)
    assert said[0].startswith("validator: again in ")


def test_a_look_takes_a_while_and_others_go_on_beside_it(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(pods.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(pods, "_LOOK_SECONDS", 0.01)
    made, _ = validator(FakeApi(maps=MAPS))
    monkeypatch.setattr(pods, "_TAKES_SECONDS", 4.0)
    first, second = pod(), pod()
    second["metadata"] = {**second["metadata"], "uid": "2"}
    made.take(first)
    assert made._next() is None
    clock[0] = 1.0
    made.take(second)
    assert made._next() is None
    clock[0] = 4.0
    assert made._next() == first
    assert made._next() is None
    clock[0] = 5.0
    assert made._next() == second
    assert made._under_way == []


def test_a_pod_without_its_expectations_cannot_run():
    api = FakeApi(maps={})
    validator(api)[0].check(pod())
    assert api.patches[0][1]["status"]["phase"] == "Failed"
    bare = pod()
    bare["spec"]["volumes"] = []
    validator(api)[0].check(bare)
    assert (
        api.patches[1][1]["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3
    )


def test_a_pod_on_a_node_that_is_not_fake_is_somebody_elses():
    api = FakeApi(maps=MAPS)
    validator(api, lambda: None)[0].check(pod())
    assert api.patches == []


def test_a_pod_that_passed_waits_until_all_others_run_or_have_passed():
    api = FakeApi(maps={**MAPS, JOB_PATH: job(ready=2, succeeded=1)})
    made, _ = validator(api)
    made.check(pod())
    made.look_again()
    assert api.patches == []
    api.maps[JOB_PATH] = job(ready=3, succeeded=1)
    made.look_again()
    assert [change["status"]["phase"] for _, change in api.patches] == ["Succeeded"]
    made.look_again()
    assert len(api.patches) == 1


def test_a_pod_that_failed_waits_for_nobody():
    api = FakeApi(maps={**MAPS, JOB_PATH: job()})
    validator(api, lambda: node('{"0": {"remap_pending": true}}'))[0].check(pod())
    assert [change["status"]["phase"] for _, change in api.patches] == ["Failed"]


def test_a_pod_that_waits_for_nobody_ends_at_once():
    alone = pod()
    alone["spec"]["containers"][0]["args"] = alone["spec"]["containers"][0]["args"][:2]
    api = FakeApi(maps=MAPS)
    validator(api)[0].check(alone)
    assert [change["status"]["phase"] for _, change in api.patches] == ["Succeeded"]


@pytest.mark.parametrize("now", [None, pod(phase="Failed"), pod() | {"metadata": {"uid": "2"}}])
def test_a_pod_that_went_while_it_waited_is_let_go(now: Any):
    api = FakeApi(maps={**MAPS, JOB_PATH: job()})
    made, _ = validator(api)
    made.check(pod())
    api.maps[POD_PATH] = now
    api.maps[JOB_PATH] = job(ready=4)
    made.look_again()
    api.maps[POD_PATH] = pod()
    made.look_again()
    assert api.patches == []


def test_a_server_that_fails_while_pods_wait_loses_none_of_them(monkeypatch):
    monkeypatch.setattr(pods, "_AGAIN_SECONDS", 0.01)
    monkeypatch.setattr(pods, "_LOOK_SECONDS", 0.01)
    api = FakeApi(maps={**MAPS, JOB_PATH: job()})
    made, said = validator(api)
    made.start()
    made.take(pod())
    until(lambda: made._passed, seconds=SHORTER)
    api.fails = [Unreachable("gone"), ApiError(500, "busy")]
    until(lambda: not api.fails, seconds=SHORTER)
    api.maps[JOB_PATH] = job(ready=4)
    until(lambda: api.patches, seconds=SHORTER)
    assert [line for line in said if "again in" in line]


def kept() -> dict[str, Any]:
    """One that a kubelet starts again."""
    found = pod()
    found["spec"]["restartPolicy"] = "Always"
    found["spec"]["containers"][0]["args"] = found["spec"]["containers"][0]["args"][:2]
    return found


def test_a_pod_of_a_daemon_set_is_started_again_and_says_how_it_ended(monkeypatch):
    monkeypatch.setattr(pods, "_BACKOFF_SECONDS", 0.0)
    found = status_of(kept(), ProgramResult(1, "said"))
    (container,) = found["containerStatuses"]
    assert (found["phase"], container["restartCount"]) == ("Running", 1)
    assert container["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert container["lastState"]["terminated"]["message"] == "said"
    api = FakeApi(maps={**MAPS, POD_PATH: kept()})
    bad = [node('{"0": {"remap_pending": true}}')]
    made, _ = validator(api, lambda: bad[0])
    made.start()
    made.take(kept())
    codes: list[int] = []

    def ends(wanted: int) -> bool:
        said = [change["status"]["containerStatuses"][0] for _, change in list(api.patches)]
        codes[:] = [each["lastState"]["terminated"]["exitCode"] for each in said]
        return codes[-1:] == [wanted]

    until(lambda: ends(1), seconds=SHORTER)
    bad[0] = node()
    until(lambda: ends(0), seconds=SHORTER)
    api.maps[POD_PATH] = None
    until(lambda: not made._ended, seconds=SHORTER)


def test_a_pod_is_started_again_no_sooner_than_it_may_be():
    api = FakeApi(maps={**MAPS, POD_PATH: kept() | {"metadata": {"uid": "2"}}})
    made, _ = validator(api)
    made.check(kept())
    made.start_again(0.0)
    assert len(made._ended) == 1
    made.start_again(time.monotonic() + 60)
    assert (made._ended, made._work.empty()) == ([], True), "another one has its name"
