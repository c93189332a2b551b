"""`python -m gpuyard_simulate` says what it did, in text and in JSON, and ends with the house's exit codes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gpuyard_core.errors import EnvironmentMissing
from gpuyard_simulate import Outcome, PartStatus, Status
from gpuyard_simulate import __main__ as sim
from gpuyard_simulate.state import PORT_NAMES, ClusterSettings, folder_of, home

RUNNING = PartStatus("etcd", 7, True, "/log/etcd.log", 20000, 60, "running")
DEAD = PartStatus("kwok", 8, False, "/log/kwok.log", 20001, 0, "dead")
NOTE = PartStatus("cluster-policy", None, None, None, None, 0, "absent (no CRD source)")
READY = Status("local", True, "/x/kubeconfig", (RUNNING, NOTE), 60)
BROKEN = Status("local", False, "/x/kubeconfig", (RUNNING, DEAD), 60)
NEVER = Status(
    "local", False, "/x", (PartStatus("etcd", None, False, "/l", None, 0, "not started"),), 0
)
SETTINGS = ClusterSettings("secret", {name: 20000 + i for i, name in enumerate(PORT_NAMES)})


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GPUYARD_SIM_HOME", str(tmp_path / "sim"))
    monkeypatch.setenv("GPUYARD_TOOLS", str(tmp_path / "none"))


def run(*arguments: str):
    return CliRunner().invoke(sim.app, list(arguments))


def test_the_status_of_a_ready_cluster():
    assert sim.status_text(READY).splitlines() == [
        "cluster local: ready, 60 MiB",
        "  etcd                     running, pid 7, 60 MiB, port 20000",
        "  cluster-policy           absent (no CRD source)",
        "  export KUBECONFIG=/x/kubeconfig",
    ]


def test_the_status_of_a_cluster_names_the_checkout_that_deploys_to_it():
    assert sim.status_text(replace(READY, checkout="/clone")).splitlines()[1] == (
        "  deployed by `make up` in /clone"
    )


def test_the_status_of_a_broken_cluster_names_log_and_cure():
    assert sim.status_text(BROKEN).splitlines()[2:] == [
        "  kwok                     dead, log /log/kwok.log",
        "  `python -m gpuyard_simulate up --name local` repairs it",
    ]


def test_the_status_of_no_cluster():
    assert (
        sim.status_text(NEVER)
        == "cluster local: not running; `python -m gpuyard_simulate up --name local` starts it"
    )


def test_status_of_a_cluster_that_is_not_up_ends_with_4():
    result = run("status", "--format", "json")
    assert result.exit_code == 4
    said = json.loads(result.stdout)
    assert said["ready"] is False
    assert {part["state"] for part in said["parts"]} == {"not started"}


def test_status_of_a_ready_cluster_ends_with_0(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sim, "sim_status", lambda _name: READY)
    result = run("status", "--format", "json")
    assert result.exit_code == 0
    said = json.loads(result.stdout)
    assert {"name", "ready", "kubeconfig", "parts", "rss_mib"} <= set(said)
    assert {"name", "pid", "alive", "log", "port"} <= set(said["parts"][0])


def test_status_without_a_name_lists_the_other_clusters():
    for name in ("ci", "local"):
        folder_of(name).write_settings(SETTINGS)
    (home() / "empty").mkdir()
    assert run("status").stdout.splitlines() == [
        "cluster local: not running; `python -m gpuyard_simulate up --name local` starts it",
        "cluster ci: not running; `python -m gpuyard_simulate up --name ci` starts it",
    ]
    said = json.loads(run("status", "--format", "json").stdout)
    assert (said["name"], [each["name"] for each in said["others"]]) == ("local", ["ci"])


def test_status_with_a_name_is_of_that_cluster_alone():
    folder_of("ci").write_settings(SETTINGS)
    assert run("status", "--name", "local").stdout == (
        "cluster local: not running; `python -m gpuyard_simulate up --name local` starts it\n"
    )
    assert "others" not in json.loads(run("status", "--name", "ci", "--format", "json").stdout)


@pytest.mark.parametrize("command", ["up", "reset"])
def test_up_and_reset_show_outcome_and_status(command: str, monkeypatch: pytest.MonkeyPatch):
    outcome = Outcome("done", True, 3.0, READY)
    monkeypatch.setattr(sim, f"sim_{command}", lambda _name, _say: outcome)
    assert run(command).stdout.splitlines()[:2] == ["done", "cluster local: ready, 60 MiB"]
    said = json.loads(run(command, "--format", "json").stdout)
    assert said["says"] == "done"
    assert said["status"]["ready"] is True


def test_without_tools_up_says_how_to_get_them_and_ends_with_4():
    result = run("up")
    assert result.exit_code == EnvironmentMissing.exit_code
    assert "run `make tools` to build them" in result.stderr
    assert "Traceback" not in result.output


def test_a_bad_name_ends_with_2():
    result = run("up", "--name", "Not A Name")
    assert result.exit_code == 2
    assert "lowercase letters, digits" in result.stderr


def test_down_where_nothing_is():
    assert run("down").stdout == "there is no cluster local\n"
    assert json.loads(run("down", "--format", "json").stdout) == {"name": "local", "removed": False}
    assert run("reset").exit_code == 4
