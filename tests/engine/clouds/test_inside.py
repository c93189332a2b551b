"""Stacks of clouds on fake accounts, up to a job that runs on the nodes that they made: `make up STACK=…`."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from testbed.plugins.cloud.account import Account

from gpuyard.simulate.api import Api, ApiError, Unreachable, connect
from kit import waiting
from kit.cluster.lab import condition, create, delete
from kit.levels import require_level

ROOT = Path(__file__).parents[3]
"""Needs the control plane with Kueue beside the engine."""


class Played:
    """A stack that is up."""

    def __init__(self, stack: str, home: Path, said: str) -> None:
        self.stack = stack
        self.said = said
        self.folder = home / "clouds" / stack / "account"
        self.account = Account(self.folder, stack.partition("-")[0])
        self.api: Api = connect(home / "sim" / stack / "kubeconfig")

    def nodes(self, pool: str) -> dict[str, dict[str, Any]]:
        path = f"/api/v1/nodes?labelSelector=gpuyard.dev/pool%3D{pool}"
        return {each["metadata"]["name"]: each for each in self.api.call("GET", path)["items"]}


@pytest.fixture(params=["aws-training", "gcp-training"])
def played(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Played]:
    """A stack as `make up` brings it up, in a home of its own."""
    tools = ROOT / ".testbed" / "bin"
    for level in ("engine", "cluster"):
        require_level(
            level, (tools / "kueue").exists(), "no control plane; `make tools` builds one"
        )
    stack = request.param
    env = {
        **os.environ,
        "STACK": stack,
        "GPUYARD_SIM_HOME": str(tmp_path / "sim"),
        "GPUYARD_YARD_STATE": str(tmp_path / "stacks"),
        "GOGC": "400",
    }
    env.pop("GPUYARD_TOOLS", None)

    def run(script: str) -> str:
        done = subprocess.run(
            [ROOT / "scripts" / script],
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    try:
        yield Played(stack, tmp_path, run("up"))
    finally:
        run("down")


def test_a_gang_runs_on_the_nodes_that_the_fake_cloud_made(played):
    assert "this is a fake of" in played.said.lower()
    nodes = played.nodes("train")
    (ran,) = [line for line in played.said.splitlines() if "all 2 pods run, on" in line]
    assert {each.strip() for each in ran.partition(" on ")[2].split(",")} == set(nodes)
    wanted = {"nvidia.com/gpu": "8", "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
    if played.stack.startswith("aws"):
        wanted["vpc.amazonaws.com/efa"] = "32"

    def has() -> list[dict[str, str]]:
        told = [
            {**each["metadata"]["labels"], **each["status"]["allocatable"]}
            for each in played.nodes("train").values()
        ]
        return [{name: each.get(name, "") for name in wanted} for each in told]

    # agents count devices and write labels one after the other
    waiting.until(has, lambda found: found == [wanted] * len(nodes))
    _a_label_that_is_lost_stops_the_next_gang(played)


def _a_label_that_is_lost_stops_the_next_gang(played: Played) -> None:
    """Somebody takes the pool's label from the group: the queue still admits, and no node fits."""
    kind = (
        "aws:eks/nodeGroup:NodeGroup"
        if played.stack.startswith("aws")
        else "gcp:container/nodePool:NodePool"
    )
    (group,) = [
        each
        for each in played.account.all(kind)
        if "train" in each.id.rpartition(":")[2].rpartition("/")[2]
    ]
    played.account.meddle(kind, group.id, _without_label(group.inputs))
    waiting.until(lambda: not played.nodes("train"))
    # Kueue may have yet to see it: who comes before that is admitted, and comes again.
    waiting.until(lambda: _finds_no_place(played), errors=(ApiError, Unreachable))


def _finds_no_place(played: Played) -> bool:
    """Whether Kueue lets a new job wait for want of a topology; where it does not, the job is gone again."""
    job = _job()
    jobs = "/apis/batch/v1/namespaces/vision/jobs"
    create(played.api, jobs, job)
    said: str = waiting.until(lambda: _verdict(played), lambda found: found is not None)
    if "topology" in said:
        return True
    name = job["metadata"]["name"]
    delete(played.api, f"{jobs}/{name}")
    waiting.until(lambda: _workload(played) is None, what=f"{name} to be gone")
    return False


def _verdict(played: Played) -> str | None:
    found = _workload(played) or {}
    if condition(found, "Admitted").get("status") == "True":
        return ""
    reserved = condition(found, "QuotaReserved")
    return str(reserved["message"]) if reserved.get("status") == "False" else None


def _workload(played: Played) -> dict[str, Any] | None:
    """Kueue's record of the job; others were there before."""
    path = "/apis/kueue.x-k8s.io/v1beta2/namespaces/vision/workloads"
    found: list[dict[str, Any]] = played.api.call("GET", path)["items"]
    late = _job()["metadata"]["name"]
    owned = (w for w in found if late in str(w["metadata"].get("ownerReferences")))
    return next(owned, None)


def _without_label(inputs: dict[str, Any]) -> dict[str, Any]:
    if "labels" in inputs:
        return {"labels": {"gpuyard.dev/platform": "other"}}
    config = {**inputs["nodeConfig"], "labels": {"gpuyard.dev/platform": "other"}}
    return {"nodeConfig": config}


def _job() -> dict[str, Any]:
    limits = {"nvidia.com/gpu": "8", "cpu": "8", "memory": "64Gi"}
    container = {"name": "work", "image": "example.invalid/work", "resources": {"limits": limits}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "late"},
        "spec": {
            "parallelism": 2,
            "completions": 2,
            "suspend": True,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }
