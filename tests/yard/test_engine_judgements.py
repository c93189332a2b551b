"""What the real engine does to a platform that lives: how quickly it is up, what a move disturbs, its end."""

import os
import signal
import time

import pytest
from testbed.yard.jobs import Gang, look, remove, submit

from gpuyard_simulate import state
from kit import waiting
from kit.cases.records import objects_of
from kit.cluster.lab import slack
from kit.cluster.yard import QUIET, STACK

pytestmark = [pytest.mark.engine, pytest.mark.cluster]
WORK = Gang("vision", "works", pods=2, gpus=4)
UP = ("up", "--stack", STACK, *QUIET)


def pods(api):
    """The pods of the job, by name: who each is, and that it runs."""
    found = api.call("GET", "/api/v1/namespaces/vision/pods?labelSelector=job=works")["items"]
    return {p["metadata"]["name"]: (p["metadata"]["uid"], p["status"]["phase"]) for p in found}


def killed(folder):
    """Whether Kueue ran and was killed: a moment before it may just have been started anew."""
    kueue = folder.read_process("kueue")
    if kueue is None or not kueue.alive:
        return False
    os.kill(kueue.pid, signal.SIGKILL)
    return True


@pytest.fixture
def working(up):
    """A gang that runs in the platform, as it is in the stack file."""
    submit(up.api, WORK)
    waiting.until(lambda: look(up.api, WORK).running == WORK.pods, what="the gang to run")
    yield pods(up.api)
    up.run("scripts/yard", "up")
    if up.api.get("/apis/batch/v1/namespaces/vision/jobs/works"):
        remove(up.api, WORK)


def test_up_takes_a_minute_at_most(first_up):
    """Tools are built already; cluster, Kueue, policy pack and every object are in it."""
    _, seconds = first_up
    assert seconds <= 60


def test_a_team_that_moves_to_another_cohort_keeps_what_runs(up, working):
    spec = up.spec()
    spec["queueing"]["cohorts"] = [{"name": "labs"}]
    for team in spec["teams"][:2]:
        team["cohort"] = "labs"
    ops = up.changes(spec)
    assert {ops[name] for name in ops if "ClusterQueue:" in name} == {"update"}
    assert {name.partition(":")[2] for name, op in ops.items() if op == "create"} == {
        "Cohort:local.labs"
    }
    assert set(ops.values()) == {"update", "create"}
    up.pulumi(*UP, "--config-file", up.config(spec))
    queue = up.api.get("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/local-vision")
    assert queue["spec"]["cohortName"] == "local.labs"
    assert pods(up.api) == working
    up.run("scripts/yard", "up")
    assert pods(up.api) == working


def test_kueue_killed_while_up_runs_loses_nothing(up, working):
    """The run that met no webhook fails, or needed none any more; the next one converges."""
    spec = up.spec()
    for team in spec["teams"]:
        team["weight"] = 5
    folder = state.Folder(STACK, up.home / STACK)
    with up.started(*UP, "--config-file", up.config(spec)) as run:
        time.sleep(2)
        waiting.until(lambda: killed(folder), what="a Kueue that runs, to kill it")
        said, _ = run.communicate(timeout=900)
    assert run.returncode == 0 or "webhook" in said, said[-3000:]
    up.run("scripts/yard", "up")
    assert pods(up.api) == working
    assert look(up.api, WORK).admitted
    assert len(up.owned()) == len(objects_of(up.plan()))
    up.pulumi("preview", "--stack", STACK, "--expect-no-changes", "--non-interactive")


def test_a_destroy_with_live_jobs_ends_clean(up, working):
    waiting = Gang("speech", "waits", pods=64, gpus=8)
    submit(up.api, waiting)
    began = time.monotonic()
    up.pulumi("destroy", "--stack", STACK, *QUIET)
    took = time.monotonic() - began
    assert up.owned() == []
    for kind in ("clusterqueues", "resourceflavors", "workloads"):
        assert up.api.call("GET", f"/apis/kueue.x-k8s.io/v1beta2/{kind}")["items"] == []
    assert took < 300 * slack()
