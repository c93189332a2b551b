"""Nodes are checked before a deployment ends: passed, failed, not run again, run anew, too late."""

import json
import re
import time

import pytest

from gpuyard.names import CHECKS_LABEL
from gpuyard.simulate.validation.machine import FAULTS
from kit.cluster.yard import QUIET, STACK, Yard
from kit.waiting import PATIENCE

pytestmark = [pytest.mark.engine, pytest.mark.cluster]
JOBS = "/apis/batch/v1/namespaces/gpu-operator/jobs"
PODS = f"/api/v1/namespaces/gpu-operator/pods?labelSelector={CHECKS_LABEL}"
IMAGE = "registry.example.org/ml/base"
NODES = ["dev-000", "serve-000", *(f"train-{n:03d}" for n in range(4))]
PASSED = {"train": "passed", "serve": "passed", "dev": "passed"}


def spec(yard: Yard, image: str = "1", minutes: int = 5, **more) -> dict:
    """The platform as it is, with its nodes checked."""
    asked = {"image": f"{IMAGE}:{image}", "deadline_minutes": minutes}
    return yard.spec() | {"validation": asked} | more


def deploy(yard: Yard, platform: dict) -> tuple[int, str]:
    return yard.tried("up", "--stack", STACK, *QUIET, "--config-file", yard.config(platform))


def jobs(yard: Yard) -> dict[str, str]:
    """Their names and who they are."""
    found = yard.api.call("GET", JOBS)["items"]
    return {job["metadata"]["name"]: job["metadata"]["uid"] for job in found}


def looked_at(yard: Yard) -> list[str]:
    """The node of each pod that passed."""
    pods = yard.api.call("GET", PODS)["items"]
    return sorted(pod["spec"]["nodeName"] for pod in pods if pod["status"]["phase"] == "Succeeded")


def verdicts(yard: Yard) -> dict[str, str]:
    said = yard.pulumi("stack", "output", "validation", "--stack", STACK, "--json")
    return {pool: found["verdict"] for pool, found in json.loads(said).items()}


def annotate(yard: Yard, node: str, value: str | None) -> None:
    yard.api.merge(f"/api/v1/nodes/{node}", {"metadata": {"annotations": {FAULTS: value}}})


@pytest.fixture
def live(up: Yard):
    """The platform for others when this is over."""
    yield up
    up.api.merge("/api/v1/nodes/train-001", {"spec": {"unschedulable": None}})
    up.run("scripts/up")


@pytest.mark.timeout(900)  # eight deployments, with that of the fixture
def test_a_deployment_waits_for_a_verdict_and_asks_again_only_what_changed(live: Yard):
    code, said = deploy(live, spec(live))
    assert code == 0, said
    assert verdicts(live) == PASSED
    assert looked_at(live) == NODES
    first = jobs(live)

    code, said = deploy(live, spec(live))
    assert code == 0, said
    assert jobs(live) == first, "nothing runs again"

    pinned = {"software": {"driver": "580.173.02"}}
    code, said = deploy(live, spec(live, **pinned))
    assert code == 0, said
    assert len(jobs(live)) == len(first)
    assert jobs(live).keys().isdisjoint(first), "another driver, another check"

    annotate(live, "train-001", '{"3": {"remap_failure": true}}')
    code, said = deploy(live, spec(live, image="2", **pinned))
    assert code != 0
    facts = r"fail: memory\.remapped_rows on gpu 3: .*; value True, floor False .*; needs: replace"
    assert re.search(rf"  failed: node train-001, pool train: .*\n +{facts}\n", said), said

    annotate(live, "train-001", None)
    code, said = deploy(live, spec(live, image="2", **pinned))
    assert code == 0, said
    assert verdicts(live) == PASSED
    assert looked_at(live) == NODES

    live.api.merge("/api/v1/nodes/train-001", {"spec": {"unschedulable": True}})
    began = time.monotonic()
    code, said = deploy(live, spec(live, image="3", minutes=1, **pinned))
    assert code != 0
    assert "[DeadlineExceeded]" in said, said
    assert "  4 of 4 nodes have no verdict" in said, said
    assert 60 <= time.monotonic() - began < PATIENCE
