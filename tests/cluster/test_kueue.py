"""Real Kueue over fake nodes: a gang of eight GPUs starts as a whole, and the next one waits."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuyard_simulate import cluster, state
from gpuyard_simulate.api import Api
from gpuyard_simulate.kueue import manager as kueue_manager
from kit.cluster import lab as reality
from kit.cluster.queues import starts_kueue_anew

pytestmark = [pytest.mark.cluster, pytest.mark.always]

Until = Callable[..., Any]
QUEUES = "/apis/kueue.x-k8s.io/v1beta2"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAME = "lone-gang"
"""As no platform of another file is called: they may share a cluster, and count nodes by this name."""
SPACE = f"/api/v1/namespaces/{NAME}"
JOBS = f"/apis/batch/v1/namespaces/{NAME}/jobs"


def queue_objects() -> list[tuple[str, dict[str, Any]]]:
    """A flavor, a queue with room for one gang, and its entrance."""
    resources = [
        {"name": "cpu", "nominalQuota": "64"},
        {"name": "nvidia.com/gpu", "nominalQuota": "8"},
    ]
    flavor = {"nodeLabels": {"gpuyard.dev/pool": NAME}}
    cover = {
        "coveredResources": ["cpu", "nvidia.com/gpu"],
        "flavors": [{"name": NAME, "resources": resources}],
    }
    return [
        (f"{QUEUES}/resourceflavors", named("ResourceFlavor", spec=flavor)),
        (
            f"{QUEUES}/clusterqueues",
            named("ClusterQueue", spec={"namespaceSelector": {}, "resourceGroups": [cover]}),
        ),
        (
            f"{QUEUES}/namespaces/{NAME}/localqueues",
            named("LocalQueue", spec={"clusterQueue": NAME}),
        ),
    ]


def named(kind: str, **content: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": kind,
        "metadata": {"name": NAME},
        **content,
    }


def gang(name: str) -> dict[str, Any]:
    """Two pods of four GPUs each that run until they are told how long, see `end`."""
    container = {
        "name": "c",
        "image": "train",
        "resources": {"requests": {"cpu": "8"}, "limits": {"nvidia.com/gpu": "4"}},
    }
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": NAME}},
        "spec": {"parallelism": 2, "completions": 2, "template": template},
    }


def end(api: Api, name: str) -> None:
    """Let the pods of a job be over: while they run, nobody need be quick to see it."""
    for pod in pods(api, name):
        path = f"{SPACE}/pods/{pod['metadata']['name']}"
        api.patch(path, {"metadata": {"annotations": {"sim.gpuyard.dev/duration": "0s"}}})


def test_one_gang_runs_the_next_waits_and_then_runs(api: Api, until: Until):
    status = {"cpu": "64", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": "8"}
    labels = {"gpuyard.dev/pool": NAME}
    api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}})
    node = {"name": f"{NAME}-0", "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}}
    body = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": node,
        "status": {"capacity": status, "allocatable": status},
    }
    reality.create(api, "/api/v1/nodes", body)
    for path, item in queue_objects():
        reality.create(api, path, item)
    until(lambda: condition(api.get(f"{QUEUES}/clusterqueues/{NAME}"), "Active") == "True")
    reality.create(api, JOBS, gang("first"))
    until(lambda: (api.get(f"{JOBS}/first") or {})["status"].get("active") == 2)
    reality.create(api, JOBS, gang("second"))
    until(lambda: waits(api, "second"))
    assert not pods(api, "second"), "no part of a gang that waits may start"
    for name in ("first", "second"):
        until(lambda n=name: (api.get(f"{JOBS}/{n}") or {})["status"].get("active") == 2)
        end(api, name)
        until(lambda n=name: condition(api.get(f"{JOBS}/{n}"), "Complete") == "True")


def test_a_platforms_own_kueue_configuration_is_taken_over(api: Api, started: cluster.Outcome):
    name = started.status.name
    wanted = kueue_manager.default_configuration(["batch/job"]) | {
        "waitForPodsReady": {"timeout": "7m"}
    }
    metadata = {"name": "kueue-manager-config", "namespace": kueue_manager.NAMESPACE}
    data = {kueue_manager.CONFIG_KEY: yaml.safe_dump(wanted)}
    before = state.folder_of(name).read_process("kueue")
    api.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    try:
        starts_kueue_anew(name, before)
        written = Path(started.status.kubeconfig).with_name("kueue") / "configuration.yaml"
        assert yaml.safe_load(written.read_text())["waitForPodsReady"] == {"timeout": "7m"}
        assert not cluster.up(name).changed
    finally:
        api.call("DELETE", kueue_manager.CONFIG_MAP)


def test_every_kind_is_served_in_each_of_its_versions(api: Api, until: Until):
    """The API server keeps what it stores in each version: of one that cannot be made it asks without end."""
    metadata = {"name": "any-version"}
    made = f"{QUEUES}/resourceflavors", {**named("ResourceFlavor", spec={}), "metadata": metadata}
    reality.create(api, *made)
    try:
        served = {}
        for crd in api.call("GET", DEFINITIONS)["items"]:
            if crd["spec"]["group"] == "kueue.x-k8s.io":
                plural = crd["spec"]["names"]["plural"]
                served[plural] = [v["name"] for v in crd["spec"]["versions"] if v["served"]]
        assert min(map(len, served.values())) > 1
        for plural, versions in served.items():
            paths = [f"/apis/kueue.x-k8s.io/{version}/{plural}" for version in versions]
            named_so = until(lambda paths=paths: [names(api, path) for path in paths])
            assert all(each == named_so[0] for each in named_so), plural
            assert plural != "resourceflavors" or metadata["name"] in named_so[0]
    finally:
        reality.delete(api, f"{made[0]}/{metadata['name']}")


def names(api: Api, path: str) -> list[str]:
    return [item["metadata"]["name"] for item in api.call("GET", path)["items"]]


def condition(item: dict[str, Any] | None, kind: str) -> str | None:
    found = (item or {}).get("status", {}).get("conditions", [])
    return next((one["status"] for one in found if one["type"] == kind), None)


def waits(api: Api, job: str) -> bool:
    """Whether Kueue has looked at a job, and lets it wait."""
    found = api.call("GET", f"{QUEUES}/namespaces/{NAME}/workloads")["items"]
    mine = [w for w in found if w["metadata"]["ownerReferences"][0]["name"] == job]
    return [condition(w, "QuotaReserved") for w in mine] == ["False"]


def pods(api: Api, job: str) -> list[Any]:
    query = f"?labelSelector=batch.kubernetes.io/job-name%3D{job}"
    found: list[Any] = api.call("GET", f"{SPACE}/pods{query}")["items"]
    return found
