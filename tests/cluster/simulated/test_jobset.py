"""A JobSet that loses a node, on a real Kueue and a real JobSet: queued again whole, and no restart counted.

A campaign: `GPUYARD_JOBSET` is JobSet's program, and `GPUYARD_JOBSET_CONFIG` its folder `config/components`.
"""

import base64
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.simulated.test_interruption import (
    JOB,
    WAYS,
    Kind,
    asked,
    comes_back,
    container,
    goes,
    notices,
    program_of,
    quota_in_use,
    running_of,
)
from gpuyard.render.kueue.requeue import requeue_objects
from gpuyard.simulate import cluster
from gpuyard.simulate.api import Api, ApiError, connect
from kit import waiting
from kit.cluster import lab as reality
from kit.cluster.karpenter import Beside, place, ports
from kit.cluster.lab import Value, condition
from kit.cluster.queues import DURATION, QueueLab, kueue_as_rendered, soon

PROGRAM, FOLDER = "GPUYARD_JOBSET", "GPUYARD_JOBSET_CONFIG"
pytestmark = [
    pytest.mark.search,
    pytest.mark.timeout(7200),
    pytest.mark.skipif(PROGRAM not in os.environ, reason=f"a campaign: {PROGRAM} names no program"),
]
SET = "flock"
PODS = {"leader": 1, "workers": 2}
"""Two Jobs, one gang."""


def documents(*parts: str) -> list[Value]:
    text = Path(os.environ[FOLDER], *parts).read_text()
    return [each for each in yaml.safe_load_all(text) if each]


def put(api: Api, value: Value) -> bool:
    query = "?fieldManager=test&force=true"
    api.call("PATCH", place(value) + query, value, "application/apply-patch+yaml")
    return True


def hooks(port: int, certificate: bytes) -> Iterator[Value]:
    """Its webhooks by address; those of pods for pods of a JobSet alone, as its own patches say."""
    only = {"matchExpressions": [{"key": "jobset.sigs.k8s.io/jobset-name", "operator": "Exists"}]}
    for each in documents("webhook", "manifests.yaml"):
        each["metadata"] = {"name": f"jobset-{each['metadata']['name']}"}
        for hook in each["webhooks"]:
            url = f"https://127.0.0.1:{port}{hook['clientConfig']['service']['path']}"
            bundle = base64.b64encode(certificate).decode()
            hook["clientConfig"] = {"url": url, "caBundle": bundle}
            if any("pods" in rule["resources"] for rule in hook["rules"]):
                hook["objectSelector"] = only
        yield each


def jobset(kubeconfig: Path, folder: Path, port: int) -> Beside:
    """The program, whose webhooks have the certificate of the API server."""
    for ending in ("crt", "key"):
        shutil.copy(kubeconfig.parent / "pki" / f"apiserver.{ending}", folder / f"tls.{ending}")
    (health, _) = ports()
    written = folder / "jobset.yaml"
    written.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
                "kind": "Configuration",
                "leaderElection": {"leaderElect": False},
                "internalCertManagement": {"enable": False},
                "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
                "metrics": {"bindAddress": "0"},
                "webhook": {"host": "127.0.0.1", "port": port, "certDir": str(folder)},
            }
        )
    )
    words = [os.environ[PROGRAM], f"--config={written}"]
    return Beside(words, folder / "jobset.log", health, {"KUBECONFIG": str(kubeconfig)})


@pytest.fixture(scope="module")
def lab(started: cluster.Outcome, tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueueLab]:
    """The platform with its program. Kueue starts after JobSet's kinds are there."""
    raw, kubeconfig = goes(), Path(started.status.kubeconfig)
    outer, folder, (port, _) = connect(kubeconfig), tmp_path_factory.mktemp("jobset"), ports()
    for each in documents("crd", "bases", "jobset.x-k8s.io_jobsets.yaml"):
        waiting.until(lambda each=each: put(outer, each), errors=(ApiError,))
    with ExitStack() as held:
        held.enter_context(jobset(kubeconfig, folder, port))
        for each in hooks(port, (folder / "tls.crt").read_bytes()):
            put(outer, each)
            held.callback(reality.delete, outer, place(each))
        api = held.enter_context(kueue_as_rendered(started.status.name, raw))
        found = held.enter_context(QueueLab(api, raw))
        for value in requeue_objects(found.plan):
            reality.apply(api, value)
        soon(lambda: program_of(api), "the program's pod to run")
        yield found
        for value in requeue_objects(found.plan):
            if value["kind"].startswith("ValidatingAdmissionPolicy"):
                reality.delete(api, reality.path_of(value))


def made(space: str, name: str = SET) -> Value:
    """Without a single restart to spend, and Jobs without a failure."""
    template = {
        "metadata": {"labels": {"job": name}},
        "spec": {"restartPolicy": "Never", "containers": [container()]},
    }

    def of(count: int) -> Value:
        spec = {"parallelism": count, "completions": count, "backoffLimit": 0, "template": template}
        return {"spec": spec}

    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": space},
        "spec": {
            "failurePolicy": {"maxRestarts": 0},
            "replicatedJobs": [
                {"name": part, "replicas": 1, "template": of(count)} for part, count in PODS.items()
            ],
        },
    }


def whole(lab: QueueLab, before: set[str]) -> list[Value]:
    """Its pods where all run and none is of those before."""
    pods = [p for p in lab.pods("t", SET) if p["status"].get("phase") == "Running"]
    new = {p["metadata"]["uid"] for p in pods} - before
    return pods if len(new) == len(pods) == sum(PODS.values()) and lab.ready("t", SET) else []


@pytest.mark.parametrize("way", WAYS)
def test_a_jobset_that_loses_a_node_is_queued_again_whole_and_counts_no_restart(
    lab: QueueLab, way: Any
):
    api, value = lab.api, made(lab.namespace("t"))
    put(api, value)
    pods = soon(lambda: whole(lab, set()), "all pods to run")
    node = next(p["spec"]["nodeName"] for p in pods if "workers" in p["metadata"]["name"])
    before = {p["metadata"]["uid"] for p in pods}
    began = time.monotonic()
    way(api, node, [p for p in pods if p["spec"]["nodeName"] == node])
    soon(lambda: not before & running_of(lab, SET), f"all to stop ({way.__name__})")
    stopped = time.monotonic() - began
    after = soon(lambda: whole(lab, before), f"all to run again ({way.__name__})")
    whole_again = time.monotonic() - began
    print(f"\n{way.__name__}: {stopped:.1f} s, whole {whole_again:.1f} s")  # noqa: T201  figures
    assert node not in {p["spec"]["nodeName"] for p in after}
    assert asked(after) == asked(pods)
    comes_back(api, node)
    for pod in after:
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
        api.patch(path, {"metadata": {"annotations": {DURATION: "10ms"}}})
    lab.expect("t", SET, "finished")
    soon(lambda: completed(lab, SET), "its end")
    assert quota_in_use(lab) == 0
    taken(lab, SET)


def completed(lab: QueueLab, name: str, pods: int = sum(PODS.values())) -> bool:
    """Whether all its pods have succeeded, and without a restart."""
    assert pods == sum(PODS.values())
    found = lab.api.call("GET", place(made(lab.namespace("t"), name)))
    assert found["status"].get("restarts", 0) == 0
    jobs = found["status"].get("replicatedJobsStatus", [])
    assert not any(each["failed"] for each in jobs), jobs
    return bool(condition(found, "Completed").get("status") == "True")


def taken(lab: QueueLab, name: str) -> None:
    reality.delete(lab.api, place(made(lab.namespace("t"), name)))
    soon(lambda: lab.workload("t", name) is None and not lab.pods("t", name), "it to be gone")


JOBSET = Kind(lambda lab, name, _: put(lab.api, made(lab.namespace("t"), name)), completed, taken)


def test_jobsets_and_jobs_at_random_moments_stop_whole_and_end_complete(lab: QueueLab):
    notices(lab, {"two": JOB, "three": JOBSET})
