"""GPUs work and data are read before a deployment ends: through a queue, on whole nodes, by claims."""

import json
import re

import pytest

from gpuyard_core.names import CHECKS_LABEL, QUEUE_LABEL, WORK_LABEL
from gpuyard_simulate.validation.machine import FAULTS
from gpuyard_simulate.validation.volumes import READS
from kit.cluster.lab import create, delete, wait
from kit.cluster.yard import QUIET, STACK, Yard

pytestmark = [pytest.mark.engine, pytest.mark.cluster]
QUEUE = "gpuyard-local-work"
VOLUME = "/api/v1/persistentvolumes/local.gpuyard-local.corpus"
CLAIM = "/api/v1/namespaces/gpuyard-local/persistentvolumeclaims/corpus"
READING = (
    f"/api/v1/namespaces/gpuyard-local/pods?labelSelector={WORK_LABEL}%3Dgpuyard-local-volumes"
)
SHARES = f"/api/v1/namespaces/gpuyard-local/pods?labelSelector={WORK_LABEL}%3Dgpuyard-local-shares"
OF_QUEUE = f"labelSelector={QUEUE_LABEL}%3D{QUEUE}"
JOBS = f"/apis/batch/v1/namespaces/gpuyard-local/jobs?{OF_QUEUE}"
PODS = f"/api/v1/namespaces/gpuyard-local/pods?labelSelector={WORK_LABEL}%3D{QUEUE}"
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/gpuyard-local/workloads"
CROWDED = '{"share": {"devices": 2}}'
SLOW = '{"3": {"work": {"product": 100000000000000}}}'


def deploy(yard: Yard, image: str = "1", mb_per_s: int = 160, **asked) -> tuple[int, str]:
    validation = {
        "image": f"registry.example.org/ml/full:{image}",
        "profile": "full",
        "deadline_minutes": 5,
        **asked,
    }
    data = {"name": "corpus", "kind": "efs", "read_mb_per_s": mb_per_s}
    storage = {"datasets": [data], "protect": False}
    given = yard.config(yard.spec() | {"validation": validation, "storage": storage})
    return yard.tried("up", "--stack", STACK, *QUIET, "--config-file", given)


def jobs(yard: Yard) -> dict[str, str]:
    found = yard.api.call("GET", JOBS)["items"]
    return {job["metadata"]["name"]: job["metadata"]["uid"] for job in found}


def worked(yard: Yard) -> list[str]:
    """The node of each pod that has ended well; each held all of a node's GPUs."""
    pods = yard.api.call("GET", PODS)["items"]
    for pod in pods:
        assert pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "8"
        assert CHECKS_LABEL in pod["metadata"]["labels"]
    return sorted(p["spec"]["nodeName"] for p in pods if p["status"]["phase"] == "Succeeded")


def shared(yard: Yard, what: str) -> list[bool]:
    """Of each pod that tried shares of this whether it has ended well."""
    pods = yard.api.call("GET", SHARES)["items"]
    (job,) = {name for name in jobs(yard) if f"-share-{what}" in name}
    mine = [pod for pod in pods if pod["metadata"]["labels"][CHECKS_LABEL] == job]
    return [pod["status"]["phase"] == "Succeeded" for pod in mine]


def hold_shares(yard: Yard, shares: int) -> str:
    """A team's Job that uses so many shares of `dev`; its path, once its pods run."""
    container = {
        "name": "main",
        "image": "registry.example.org/notebook:1",
        "resources": {
            "requests": {"cpu": "100m", "memory": "64Mi"},
            "limits": {"nvidia.com/gpu.shared": "1"},
        },
    }
    pod = {"restartPolicy": "Never", "containers": [container]}
    count = {"parallelism": shares, "completions": shares, "suspend": True}
    metadata = {"name": "notebooks", "namespace": "vision", "labels": {QUEUE_LABEL: "default"}}
    spec = count | {"template": {"spec": pod}}
    jobs = "/apis/batch/v1/namespaces/vision/jobs"
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
    create(yard.api, jobs, job)
    pods = "/api/v1/namespaces/vision/pods?fieldSelector=status.phase%3DRunning"
    wait(lambda: len(yard.api.call("GET", pods)["items"]) == shares, "pods that use shares")
    return f"{jobs}/notebooks"


def outcome(yard: Yard) -> dict[str, dict[str, object]]:
    return json.loads(yard.pulumi("stack", "output", "validation", "--stack", STACK, "--json"))


@pytest.mark.timeout(900)  # three deployments, and that of the fixture
def test_shares_that_a_team_uses_are_deferred_and_tried_by_the_next_deployment(own: Yard):
    held = hold_shares(own, 3)
    code, said = deploy(own)
    assert code == 0, said
    used = "queue local-vision uses 3 nvidia.com/gpu.shared"
    deferred = f"deferred: {used}; the next deployment retries it"
    assert outcome(own)["dev"]["shares"] == deferred
    assert outcome(own)["serve"]["shares"] == outcome(own)["train"]["work"] == "passed"
    assert re.search(
        rf"pool dev: validation gpuyard-local-share-dev-shared-\w+ waits: {used}\.", said
    )
    assert "GPU sharing does not match the plan" not in said

    delete(own.api, held)
    code, said = deploy(own)
    assert code == 0, said
    dev = outcome(own)["dev"]
    assert dev["shares"] == "passed"
    assert dev["figures"]["share.together"]["least"] == 16
    tried = jobs(own)
    code, said = deploy(own)
    assert (code, jobs(own)) == (0, tried), said


@pytest.fixture
def live(own: Yard):
    """The platform, and its nodes for others when this is over."""
    yield own
    for node in ("train-001", "dev-000"):
        own.api.patch(f"/api/v1/nodes/{node}", {"metadata": {"annotations": {FAULTS: None}}})


def read_by(yard: Yard) -> list[tuple[str, str]]:
    """The pool of each node that has read, and how its pod ended."""
    pods = yard.api.call("GET", READING)["items"]
    return sorted((p["spec"]["nodeName"].rpartition("-")[0], p["status"]["phase"]) for p in pods)


@pytest.mark.timeout(900)  # four deployments, and that of the fixture
def test_gpus_work_through_a_queue_that_borrows_and_a_slow_one_ends_the_deployment(live: Yard):
    code, said = deploy(live)
    assert code == 0, said
    found = json.loads(live.pulumi("stack", "output", "validation", "--stack", STACK, "--json"))
    assert found["train"]["work"] == "passed"
    assert found["train"]["figures"]["work.product"]["nodes"] == 4
    assert "partitioned or shared" in found["serve"]["work"]
    assert {name: each["shares"] for name, each in found.items()} == {
        "train": "its GPUs are not shared", "serve": "passed", "dev": "passed",
    }  # fmt: skip
    at_once = found["dev"]["figures"]["share.together"]
    assert (at_once["least"], at_once["floor"]) == (16, 16)
    assert shared(live, "dev-shared") == [True] * 17, "one has waited"
    assert shared(live, "serve-3g-20gb") == [True] * 9
    assert worked(live) == [f"train-{n:03d}" for n in range(4)]
    assert {each["volumes"] for each in found.values()} == {"passed"}
    read = found["train"]["figures"]["storage.read.corpus"]
    assert (read["floor"], read["unit"], read["nodes"]) == (160, "MB/s", 1)
    assert read_by(live) == [(name, "Succeeded") for name in ("dev", "serve", "train")]
    claim = live.api.call("GET", CLAIM)
    assert (claim["status"]["phase"], claim["spec"]["volumeName"]) == (
        "Bound",
        VOLUME.rpartition("/")[2],
    )
    first = jobs(live)
    workloads = live.api.call("GET", WORKLOADS)["items"]
    assert len(workloads) == len(first) == 5, "one for whole GPUs, four for shares"
    assert {each["status"]["admission"]["clusterQueue"] for each in workloads} == {QUEUE}
    token = live.api.call("GET", f"/api/v1/namespaces/gpuyard-local/secrets/{QUEUE}")["data"][
        "token"
    ]
    assert len(token) > 100, "the cluster has drawn it"
    assert token not in live.pulumi("stack", "export", "--stack", STACK)

    code, said = deploy(live)
    assert code == 0, said
    assert jobs(live) == first, "nothing works again"

    live.api.patch("/api/v1/nodes/train-001", {"metadata": {"annotations": {FAULTS: SLOW}}})
    live.api.patch("/api/v1/nodes/dev-000", {"metadata": {"annotations": {FAULTS: CROWDED}}})
    code, said = deploy(live, image="2")
    assert code != 0
    assert re.search(r"  failed: node dev-000, pool dev: .*\n +fail: share\.devices on .*", said), (
        said
    )
    facts = (
        r"fail: work\.product on gpu 3: .*; value 100\.0, threshold 596\.2 TFLOPS .*; needs: look"
    )
    assert re.search(rf"  failed: node train-001, pool train: .*\n +{facts}\n", said), said

    for node in ("train-001", "dev-000"):
        live.api.patch(f"/api/v1/nodes/{node}", {"metadata": {"annotations": {FAULTS: None}}})
    live.api.patch(VOLUME, {"metadata": {"annotations": {READS: "120"}}})
    code, said = deploy(live, image="2", mb_per_s=150)
    assert code != 0
    facts = r"fail: storage\.read on corpus: .*; value 120\.0, threshold 150\.0 MB/s \(the stack file, .*"
    assert re.search(rf"  failed: node \S+, pool \S+: .*\n +{facts}\n", said), said
