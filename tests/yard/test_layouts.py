"""A layout that changes while jobs run: with consent, node by node, and back where a node fails."""

import re

import pytest

from gpuyard.plan import plan_or_raise
from gpuyard.spec.read import platform_spec
from kit import waiting
from kit.cluster.lab import create, delete
from kit.cluster.yard import QUIET, STACK, Yard

pytestmark = [pytest.mark.engine, pytest.mark.cluster]
PODS = "/api/v1/namespaces/search/pods"
JOBS = "/apis/batch/v1/namespaces/search/jobs"
BROKEN = "sim.gpuyard.dev/mig-fails"
MIG = "nvidia.com/mig.config"
SMALL = {"search": {"serve/1g.5gb": 16}}


def changed(
    yard: Yard, layout: dict[str, int], shares: int = 4, approved_changes: str = ""
) -> dict:
    """Two nodes whose GPUs are cut so, and what the other pool is shared by."""
    spec = yard.spec()
    spec["pools"][1] |= {"nodes": 2, "sharing": {"mig": layout}}
    spec["pools"][2]["sharing"] = {"time_slicing": shares}
    for team in spec["teams"]:
        team["guarantee"] = SMALL.get(team["name"], team["guarantee"])
    spec["budget"] = {"max_usd_per_hour": 300}
    return spec | ({"approved_changes": approved_changes} if approved_changes else {})


OLD, NEW = {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}, {"1g.5gb": 4, "3g.20gb": 1}


def deploy(yard: Yard, spec: dict) -> tuple[int, str]:
    return yard.tried("up", "--stack", STACK, *QUIET, "--config-file", yard.config(spec))


def job(count: int) -> dict:
    """As many pods as one node has slices: they may be on either."""
    resources = {
        "requests": {"cpu": "100m", "memory": "64Mi"},
        "limits": {"nvidia.com/mig-1g.5gb": 1},
    }
    container = {"name": "main", "image": "x", "resources": resources}
    metadata = {
        "name": "long",
        "namespace": "search",
        "labels": {"kueue.x-k8s.io/queue-name": "default"},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {
            "parallelism": count,
            "completions": count,
            "suspend": True,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }


def running(yard: Yard) -> dict[str, str]:
    """Pods of the job that run and are not on their way out, with their nodes."""
    return {
        pod["metadata"]["uid"]: pod["spec"]["nodeName"]
        for pod in yard.api.call("GET", PODS)["items"]
        if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
    }


def node(yard: Yard, name: str) -> dict:
    found = yard.api.get(f"/api/v1/nodes/{name}")
    assert found is not None
    return found


def advertised(yard: Yard, pool: str) -> list[dict[str, str]]:
    nodes = yard.api.call("GET", f"/api/v1/nodes?labelSelector=gpuyard.dev%2Fpool%3D{pool}")[
        "items"
    ]
    return [
        {k: v for k, v in each["status"]["allocatable"].items() if k.startswith("nvidia.com/")}
        for each in nodes
    ]


@pytest.fixture
def two(up: Yard):
    """Two nodes cut alike, and a job over both."""
    code, said = deploy(up, changed(up, OLD))
    assert code == 0, said
    create(up.api, JOBS, job(16))
    waiting.until(lambda: running(up), lambda found: len(found) == 16, what="16 pods that run")
    yield up
    delete(up.api, f"{JOBS}/long")
    up.pulumi("destroy", "--stack", STACK, *QUIET)
    up.run("scripts/yard", "up")


def test_a_layout_changes_with_consent_and_goes_back_where_a_node_fails(two: Yard):
    pods, labels = running(two), node(two, "serve-000")["metadata"]["labels"]
    code, said = deploy(two, changed(two, NEW))
    assert code != 0
    assert "pool serve is repartitioned" in said
    assert running(two) == pods
    consent = re.search(r"sha256:[0-9a-f]{12}", said)
    assert consent

    two.api.patch(
        "/api/v1/nodes/serve-000", {"metadata": {"annotations": {BROKEN: "GPU 3 is lost"}}}
    )
    shared = advertised(two, "dev")
    code, said = deploy(two, changed(two, NEW, shares=8, approved_changes=consent[0]))
    assert code != 0
    assert advertised(two, "dev") == shared, "its turn came after one that failed"
    assert re.search(
        r"the GPUs of node serve-000 were not partitioned into serve\.\w+: GPU 3 is lost", said
    ), said
    for name in ("serve-000", "serve-001"):
        found = node(two, name)
        assert found["metadata"]["labels"][MIG] == labels[MIG]
        assert "unschedulable" not in found["spec"]
    waiting.until(lambda: running(two), lambda found: len(found) == 16, what="the job whole again")

    two.api.patch("/api/v1/nodes/serve-000", {"metadata": {"annotations": {BROKEN: None}}})
    spec = changed(two, NEW, shares=8, approved_changes=consent[0])
    code, said = deploy(two, spec)
    assert code == 0, said
    plan = plan_or_raise(platform_spec(spec))
    for pool in plan.pools[1:]:
        wanted = {each.resource: str(each.per_node) for each in pool.advertised}
        waiting.until(
            lambda name=pool.name: advertised(two, name),
            lambda found, n=pool.start_nodes, w=wanted: found == [w] * n,
            what=f"nodes of {pool.name} that have {wanted}",
        )
    waiting.until(lambda: running(two), lambda found: len(found) == 16, what="the job whole again")
    assert set(running(two)).isdisjoint(pods)
