"""The program that opens nodes, run where its pod runs, as the account of its pod."""

import itertools
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from gpuyard.render.kueue.requeue import requeue_objects
from gpuyard.render.validation.gate import gate_objects
from gpuyard_simulate.api import ApiError
from gpuyard_simulate.validation import gate
from gpuyard_simulate.validation.copies import Run, WarmProcesses
from gpuyard_simulate.validation.gate import FakeGate, is_gate
from kit.stacks import plan_of, platform, pool, team
from kit.waiting import SHORTER, until

OBJECTS = gate_objects(
    plan_of(platform([pool()], cloud="simulated", validation={"image": "x"})),
)
DEPLOYMENT = next(o for o in OBJECTS if o["kind"] == "Deployment")
MAP = next(o for o in OBJECTS if o["kind"] == "ConfigMap")
SPACE = "/api/v1/namespaces/gpu-operator"
PLACE = f"{SPACE}/configmaps/{MAP['metadata']['name']}"


def pod(**more: Any) -> dict[str, Any]:
    metadata = {"name": "gate-0", "namespace": "gpu-operator", "uid": "1", **more}
    spec = DEPLOYMENT["spec"]["template"]["spec"]
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


class FakeApi:
    server, certificate = "http://127.0.0.1:1", "pem"

    def __init__(self, fails: int = 0) -> None:
        self.fails = fails
        self.tokens: list[str] = []

    def get(self, path: str) -> Any:
        return MAP if path == PLACE else None

    def call(self, method: str, path: str, body: Any) -> Any:
        self.tokens.append(f"{method} {path} {body['kind']}")
        if len(self.tokens) <= self.fails:
            raise ApiError(500, "busy")
        return {"status": {"token": "t"}}


def made(fails: int = 0) -> tuple[FakeGate, FakeApi, list[str]]:
    api, said = FakeApi(fails), []
    return FakeGate(api, said.append), api, said  # type: ignore[arg-type]  a stand-in


def test_the_program_is_a_pod_that_runs():
    assert is_gate(pod())
    assert not is_gate(pod(deletionTimestamp="now"))
    assert not is_gate(pod() | {"status": {"phase": "Pending"}})
    other = {"containers": [{"command": ["sleep"]}, {}]}
    assert not is_gate(pod() | {"spec": other})


def test_what_requeues_gangs_is_run_as_well(monkeypatch: pytest.MonkeyPatch):
    stack = platform([pool(capacity=["spot"])], [team()], cloud="simulated")
    objects = {each["kind"]: each for each in requeue_objects(plan_of(stack))}
    spec = objects["Deployment"]["spec"]["template"]["spec"]
    running = pod() | {"spec": spec}
    assert is_gate(running)
    found, api, said = made()
    monkeypatch.setattr(api, "get", lambda _: objects["ConfigMap"])
    assert found.look(running | {"metadata": {**running["metadata"], "namespace": "gpuyard-lab"}})
    assert api.tokens == [
        "POST /api/v1/namespaces/gpuyard-lab/serviceaccounts/gpuyard-lab-requeue/token TokenRequest"
    ]
    (line,) = said
    assert line.startswith("requeue: skipped: Unreachable("), "with what it carries, it begins"


def test_a_run_that_sends_nodes_to_be_checked_again_ends_when_none_is_left(
    monkeypatch: pytest.MonkeyPatch,
):
    asked = {"image": "x", "recurring": {"cron": "0 3 * * 0"}}
    objects = gate_objects(plan_of(platform([pool()], cloud="simulated", validation=asked)))
    (cron,) = (o for o in objects if o["kind"] == "CronJob")
    maps = {o["metadata"]["name"]: o for o in objects if o["kind"] == "ConfigMap"}
    running = pod(labels={"batch.kubernetes.io/job-name": "run-1"})
    running["spec"] = cron["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert is_gate(running)
    codes, seen, written = [1, 3, 0], [], []

    def run(program: WarmProcesses, words: Sequence[str], _: Mapping[str, str]) -> Run:
        seen.append((program.package, words[words.index("--run") + 1]))
        return Run(codes.pop(0), "one\n")

    monkeypatch.setattr(WarmProcesses, "run", run)
    monkeypatch.setattr(gate, "merge_if_exists", lambda _, path, body: written.append((path, body)))
    found, api, said = made()
    monkeypatch.setattr(api, "get", lambda path: maps.get(path.rpartition("/")[2]))
    for left in (2, 1, 0):
        found.look(running)
        assert (len(codes), bool(written)) == (left, left == 0)
    assert seen == [("gpuyard_agents.gate.recurring", "run-1")] * 3
    ((path, body),) = written
    assert (path, body["status"]["phase"]) == (f"{SPACE}/pods/gate-0/status", "Succeeded")
    assert said == ["gate.recurring: one"] * 3


def test_a_look_is_the_real_program_as_the_account_of_the_pod():
    found, api, said = made()
    found.look(pod())
    assert api.tokens == [f"POST {SPACE}/serviceaccounts/gpuyard-lab-gate/token TokenRequest"]
    (line,) = said
    assert line.startswith("gate: skipped: Unreachable(")
    bare = pod(uid="2")
    bare["spec"] = bare["spec"] | {"volumes": []}
    assert not found.look(bare)
    assert len(said) == 1


def test_no_container_starts_before_its_map_is_there(monkeypatch: pytest.MonkeyPatch):
    found, api, said = made()
    with monkeypatch.context() as none:
        none.setattr(api, "get", lambda _: None)
        assert not found.look(pod())
    assert api.tokens == []
    assert found.look(pod())
    assert len(said) == 1


MISSING = "ValueError('Settings: missing or unknown every_seconds, max_unavailable_percent, names, namespace, pools')"


def test_who_edits_a_program_or_its_map_edits_that_of_the_next_pod(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    shutil.copytree(gate.INSTALLED / "gpuyard_agents", tmp_path / "gpuyard_agents")
    monkeypatch.setattr(gate, "INSTALLED", tmp_path)
    found, api, said = made()
    started = "gate: skipped: Unreachable("
    found.look(pod())
    program = tmp_path / "gpuyard_agents" / "agent.py"
    text = program.read_text(encoding="utf-8")
    program.write_text(text.replace("cannot start", "EDITED"), encoding="utf-8")
    changed = {**MAP, "data": {"settings.json": "{}"}}
    monkeypatch.setattr(api, "get", lambda _: changed)
    found.look(pod())
    found.wake({"a": pod()})
    found.look(pod())
    assert len(said) == 3
    assert all(line.startswith(started) for line in said)
    found.look(pod(uid="2"))
    later = ["gate: EDITED: invalid settings: " + MISSING]
    assert said[3:] == later, "its text and its settings, both"
    old = found._mounted["1"]._process
    found.wake({"b": pod(uid="2")})
    found.look(pod())
    assert said[4:] == later, "who has gone is forgotten"
    assert old is not None
    assert old.poll() == 0, "and so is its program"


def test_it_has_what_its_pod_carries_and_no_text_of_the_cluster():
    running = pod()
    running["spec"] = {**running["spec"]}
    (volume,) = running["spec"]["volumes"]
    strange = (
        "gpuyard_agents/../x.py",
        "other/x.py",
        "gpuyard_agents/none.py",
        "gpuyard_agents/__init__.py",
    )
    items = [{"key": "k", "path": path} for path in strange]
    running["spec"]["volumes"] = [
        {"name": "program", "configMap": {**volume["configMap"], "items": items}}
    ]
    found, _, _ = made()
    assert found._files(running) == {
        "program/gpuyard_agents/__init__.py": (
            gate.INSTALLED / "gpuyard_agents/__init__.py"
        ).read_text(),
        "settings.json": MAP["data"]["settings.json"],
    }


def test_it_is_told_what_its_pod_has_mounted(monkeypatch: pytest.MonkeyPatch):
    seen: dict[str, str] = {}

    def run(program: WarmProcesses, words: Sequence[str], files: Mapping[str, str]) -> Run:
        given = dict(itertools.pairwise(words))
        assert (given["--account"], given["--settings"]) == ("..", "../settings.json")
        seen.update(files, settings=program.carried["settings.json"])
        return Run(0, "one\ntwo\n")

    monkeypatch.setattr(WarmProcesses, "run", run)
    found, _, said = made()
    found.look(pod())
    assert seen == {"token": "t", "ca.crt": "pem", "settings": MAP["data"]["settings.json"]}
    assert said == ["gate: one", "gate: two"]


def test_it_looks_after_a_change_and_where_a_look_has_failed_once_more(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(gate, "_LOOK_SECONDS", 0.05)
    monkeypatch.setattr(gate, "_PAUSE_SECONDS", 0.01)
    found, api, said = made(fails=1)
    found.wake()
    assert not found._changed.is_set(), "nobody is there to look"
    found.start()
    found.wake({"a": pod(), "b": pod() | {"status": {}}})
    until(lambda: len(api.tokens) >= 3, seconds=SHORTER)
    assert said[0] == "gate: 500: busy"
    found.wake({})
    assert found._pods == []
