"""Pods of one Job wait for each other, so that each has looked at a node of its own."""

import json
import ssl
import urllib.error

import pytest

from gpuyard_validator import command, rendezvous
from gpuyard_validator.rendezvous import PATIENCE, all_pods_ready, job_of, wait_for_others
from gpuyard_validator.snapshot import CannotRead, snapshot_json
from gpuyard_validator.values import encode
from kit.cases.hardware import altered, expected, machine
from kit.every import every


def job(**status):
    return {"spec": {"completions": 3}, "status": status}


@every(
    "status, there",
    [
        ({}, False),
        ({"ready": 2}, False),
        ({"ready": 2, "failed": 1}, False),
        ({"ready": 3}, True),
        ({"ready": 1, "succeeded": 2}, True),
        ({"succeeded": 3, "ready": None}, True),
    ],
)
def test_all_are_there_when_each_runs_or_has_passed(status, there):
    assert all_pods_ready(job(**status)) is there
    assert all_pods_ready({"spec": {"completions": 0}}) is True


def waited(*answers):
    """The pauses, while the API server answers so."""
    left, pauses = list(answers), []

    def ask():
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    wait_for_others(ask, pauses.append)
    assert left == []
    return len(pauses)


def test_it_asks_until_they_are():
    assert waited(job(ready=3)) == 0
    assert waited(job(ready=1), job(ready=2), job(ready=3)) == 2


def test_an_api_server_may_be_away_for_a_while_and_not_for_ever():
    away = urllib.error.URLError("connection refused")
    assert waited(away, ValueError("not JSON"), job(ready=3)) == 2
    almost = [away] * (PATIENCE - 1)
    assert waited(*almost, job(), *almost, job(ready=3)) == 2 * PATIENCE - 1
    with pytest.raises(
        CannotRead, match=r"cannot read the Job to see whether all pods run: .*refused"
    ):
        waited(*[away] * PATIENCE)


class Answer:
    def __init__(self, text):
        self.text = text

    def read(self):
        return self.text

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


@pytest.mark.parametrize(("host", "shown"), [("10.96.0.1", "10.96.0.1"), ("fd00::1", "[fd00::1]")])
def test_it_asks_as_the_pods_own_account(monkeypatch, tmp_path, host, shown):
    for name, text in {"namespace": "gpu-operator\n", "token": "secret\n", "ca.crt": ""}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    trusted = []
    monkeypatch.setattr(ssl, "create_default_context", lambda **given: trusted.append(given))

    def urlopen(request, timeout, context):
        assert request.full_url == (
            f"https://{shown}:443/apis/batch/v1/namespaces/gpu-operator/jobs/check-train"
        )
        assert request.get_header("Authorization") == "Bearer secret"
        assert timeout == rendezvous.ANSWER_SECONDS
        return Answer(json.dumps(job(ready=3)).encode())

    monkeypatch.setattr(rendezvous.urllib.request, "urlopen", urlopen)
    assert job_of("check-train", tmp_path)() == job(ready=3)
    assert trusted == [{"cafile": str(tmp_path / "ca.crt")}]


@pytest.fixture
def files(tmp_path):
    def write(snapshot):
        (tmp_path / "machine").write_text(snapshot_json(snapshot))
        (tmp_path / "wanted").write_text(json.dumps(encode(expected("H100", network=None))))
        found = [str(tmp_path / name) for name in ("machine", "wanted", "said")]
        return ["--snapshot", found[0], "--expect", found[1], "--termination-log", found[2]]

    return write


@pytest.fixture
def asked(monkeypatch):
    names = []
    monkeypatch.setattr(command, "wait_for_others", names.append)
    monkeypatch.setattr(command, "job_of", lambda name: name)
    return names


def test_who_has_passed_waits_and_who_has_not_does_not(files, asked):
    good = files(machine("H100"))
    assert command.main(good) == 0
    assert asked == []
    assert command.main([*good, "--together", "check-train"]) == 0
    assert asked == ["check-train"]
    bad = files(altered(machine("H100"), 0, ecc_current=False))
    assert command.main([*bad, "--together", "check-train"]) == 1
    assert asked == ["check-train"]


def test_who_cannot_ask_has_not_passed(files, monkeypatch, tmp_path):
    def away(_):
        raise CannotRead("cannot read the Job to see whether all pods run: forbidden")

    monkeypatch.setattr(command, "wait_for_others", away)
    assert command.main([*files(machine("H100")), "--together", "check-train"]) == 3
    assert (tmp_path / "said").read_text().startswith("cannot run: cannot read the Job")


def test_a_check_that_is_left_out_is_not_in_the_report(files, capsys):
    busy = files(altered(machine("H100"), 0, processes=(7,)))
    assert command.main(busy) == 1
    capsys.readouterr()
    assert command.main([*busy, "--leave-out", "load.processes"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "load.processes" not in {each["id"] for each in found["checks"]}
