"""Nodes are checked before a deployment ends: passed, failed, not run again, run anew, too late."""

import json
import time

import pytest

from gpuyard.names import CHECKS_LABEL
from gpuyard.simulate.validation.machine import FAULTS
from kit.cluster.yard import QUIET, STACK, Yard

pytestmark = [pytest.mark.engine, pytest.mark.cluster]
JOBS = "/apis/batch/v1/namespaces/gpu-operator/jobs"
PODS = f"/api/v1/namespaces/gpu-operator/pods?labelSelector={CHECKS_LABEL}"
IMAGE = "registry.example.org/ml/base"
NODES = {"train": 2, "serve": 1}


def spec(yard: Yard, image: str = "1", **more) -> dict:
    """Two pools whose nodes are checked, and nobody on them."""
    found = yard.spec()
    pools = {pool["name"]: pool for pool in found["pools"]}
    small = [pools[name] | {"nodes": count} for name, count in NODES.items()]
    asked = {"image": f"{IMAGE}:{image}", "deadline_minutes": more.pop("deadline_minutes", 5)}
    gone = {"teams": [], "shapes": [], "pools": small, "validation": asked}
    return found | gone | more


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
def small(up: Yard):
    """The platform for others when this is over."""
    yield up
    up.pulumi("destroy", "--stack", STACK, *QUIET)
    up.run("scripts/up")


@pytest.mark.timeout(900)  # seven deployments, with those of the fixture
def test_a_deployment_waits_for_a_verdict_and_asks_again_only_what_changed(small: Yard):
    code, said = deploy(small, spec(small))
    assert code == 0, said
    assert verdicts(small) == {"train": "passed", "serve": "passed"}
    assert looked_at(small) == ["serve-000", "train-000", "train-001"]
    first = jobs(small)

    code, said = deploy(small, spec(small))
    assert code == 0, said
    assert jobs(small) == first

    code, said = deploy(small, spec(small, software={"driver": "580.173.02"}))
    assert code == 0, said
    assert jobs(small).keys().isdisjoint(first)
    second = jobs(small)

    annotate(small, "train-001", '{"3": {"remap_failure": true}}')
    code, said = deploy(small, spec(small, image="2"))
    print(said)
    assert code != 0
    for fact in ("train-001", "memory.remapped_rows on gpu 3", "value True", "floor False"):
        assert fact in said
    assert second.keys() & jobs(small).keys() == set()

    annotate(small, "train-001", None)
    code, said = deploy(small, spec(small, image="2"))
    assert code == 0, said
    assert verdicts(small) == {"train": "passed", "serve": "passed"}


@pytest.mark.timeout(900)
def test_a_node_that_takes_no_pod_fails_the_deployment_at_its_deadline(small: Yard):
    small.api.merge("/api/v1/nodes/train-001", {"spec": {"unschedulable": True}})
    began = time.monotonic()
    code, said = deploy(small, spec(small, image="3", deadline_minutes=1))
    print(said)
    assert code != 0
    assert 60 <= time.monotonic() - began < 240
