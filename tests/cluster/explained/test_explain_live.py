"""`gpuyard explain --live` asks a real cluster with the real kubectl, and is right about nodes that fail."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuyard_simulate import cluster
from kit.cluster import lab as reality
from kit.cluster.lab import Lab
from kit.cluster.queues import kueue_as_rendered
from kit.inprocess import run_together
from kit.levels import require_level
from kit.stacks import plan_of, platform, pool, team

pytestmark = [pytest.mark.cluster, pytest.mark.always]


def job(name: str) -> dict[str, Any]:
    limits = {"limits": {"nvidia.com/gpu": 8}}
    container = {"name": "main", "image": "example.invalid/x:1", "resources": limits}
    spec = {"restartPolicy": "Never", "containers": [container]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "live-a"},
        "spec": {"template": {"metadata": {"labels": {"job": name}}, "spec": spec}},
    }


def runs_on(lab: Lab, name: str, node: str) -> bool:
    """Submit a job that runs; the scheduler may have yet to see what was done to the other nodes."""
    assert lab.submitted(job(name)).what == "runs"
    (pod,) = lab.listed(f"/api/v1/namespaces/live-a/pods?labelSelector=job%3D{name}")
    if pod["spec"]["nodeName"] == node:
        return True
    lab.remove("live-a", name)
    return False


def test_nodes_that_are_cordoned_or_gone_decide_as_in_the_cluster(
    started: cluster.Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_level("cluster", available=bool(shutil.which("kubectl")), why="no kubectl in PATH")
    monkeypatch.setenv("KUBECONFIG", started.status.kubeconfig)
    raw = platform(
        [pool("live", nodes=2)],
        [team("live-a", borrow={"live": 16})],
        name="live",
        cloud="simulated",
    )
    stack, file = tmp_path / "live.yaml", tmp_path / "job.yaml"
    stack.write_text(yaml.safe_dump({"config": {"gpuyard:platform": raw}}), encoding="utf-8")
    file.write_text(yaml.safe_dump(job("third")), encoding="utf-8")

    def says() -> str:
        code, text = run_together("explain", str(stack), str(file), "--live")
        assert code == 0, text
        return " ".join(text.split())

    with kueue_as_rendered(started.status.name, raw) as api, Lab(api, plan_of(raw)) as lab:
        assert "starts in live on 1 node of live, running already" in says()
        node = "/api/v1/nodes/live-000"
        api.patch(node, {"spec": {"unschedulable": True}})
        assert "starts in live" in says(), "the other node takes it"
        reality.wait(lambda: runs_on(lab, "first", "live-001"), "the other node to take it")
        assert "no node of live has any nvidia.com/gpu left" in says()
        assert "count as without capacity: live-000 is cordoned" in says()
        lab.remove("live-a", "first")
        api.call("DELETE", "/api/v1/nodes/live-001")
        told = says()
        assert "live-000 is cordoned; 1 of 2 nodes is present (live-001 is missing)" in told
        assert "for example when live-000 is uncordoned" in told
        assert lab.submitted(job("third")).what == "stuck"
        lab.remove("live-a", "third")
        api.patch(node, {"spec": {"unschedulable": None}})
        # a controller takes the taint away a moment later, and until then it keeps pods off
        reality.wait(lambda: not reality.kept_off(api.get(node) or {}), "the node to be let go")
        assert "starts in live on 1 node of live, running already" in says()
        assert lab.submitted(job("third")).what == "runs"
        lab.remove("live-a", "third")
