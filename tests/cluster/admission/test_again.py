"""What is done of a JobSet runs once more when that starts again: our Kueue has kept its quota till then.

Nobody runs the controller of JobSets here: the test writes what it would write.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gpuyard_core.names import QUEUE_LABEL
from gpuyard_simulate import cluster, tools
from gpuyard_simulate.api import Api, ApiError, connect
from gpuyard_simulate.definitions import read_manifests
from kit.cluster import lab as reality
from kit.cluster.queues import KUEUE, QueueLab, condition, kueue_as_rendered, one_pool
from kit.generated.hostile import MERGE
from kit.generated.small_platforms import pod_spec

pytestmark = [pytest.mark.cluster]

Value = dict[str, Any]
RAW = one_pool("again", 1, a={"guarantee": 8})
SPACE = "again-a"
SETS = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{SPACE}/jobsets"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@contextmanager
def defined(name: str) -> Iterator[None]:
    """The cluster with the definition of JobSets, before its Kueue starts."""
    api = connect(Path(cluster.status(name).kubeconfig))
    folder = tools.find_tools(Path(__file__).parent).share / "jobset" / "crds"
    (crd,) = read_manifests(folder, "*.y*ml")
    path = f"{DEFINITIONS}/{crd['metadata']['name']}"
    api.apply(crd)
    try:
        reality.wait(lambda: api.get("/apis/jobset.x-k8s.io/v1alpha2"), "the kind")
        yield
    finally:
        api.call("DELETE", path)
        reality.wait(lambda: api.get(path) is None, "no such kind")
        cluster.up(name)


def jobset() -> Value:
    """Two jobs of four GPUs each."""
    amounts = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "4"}
    pods = {"spec": pod_spec(amounts)}
    jobs = [
        {"name": name, "template": {"spec": {"parallelism": 1, "template": pods}}}
        for name in ("short", "long")
    ]
    metadata = {"name": "set", "namespace": SPACE, "labels": {QUEUE_LABEL: "default"}}
    version = "jobset.x-k8s.io/v1alpha2"
    spec = {"replicatedJobs": jobs}
    return {"apiVersion": version, "kind": "JobSet", "metadata": metadata, "spec": spec}


def says(api: Api, succeeded: int) -> None:
    """As its controller writes it: one of the two is done, or runs again."""
    each = {"failed": 0, "suspended": 0}
    short = {"succeeded": succeeded, "active": 1 - succeeded, "ready": 1 - succeeded}
    long = {"succeeded": 0, "active": 1, "ready": 1}
    found = [{"name": "short", **each, **short}, {"name": "long", **each, **long}]
    body = {"status": {"replicatedJobsStatus": found}}
    api.call("PATCH", f"{SETS}/set/status", body, MERGE)


def workload(api: Api) -> Value:
    found = api.call("GET", f"{KUEUE}/namespaces/{SPACE}/workloads")["items"]
    return found[0] if found else {}


def holds(api: Api, what: str) -> bool:
    return condition(workload(api), what).get("status") == "True"


def given_back(api: Api) -> list[Value]:
    return list(workload(api).get("status", {}).get("reclaimablePods", []))


@pytest.mark.parametrize("ours", [True, False])
def test_what_is_done_of_a_jobset_keeps_its_quota(started: cluster.Outcome, ours: bool):
    name = started.status.name
    changes = {} if ours else {"featureGates": {}}
    with defined(name), kueue_as_rendered(name, RAW, **changes) as api, QueueLab(api, RAW):
        reality.wait(lambda: made(api), "a Kueue that answers")
        try:
            reality.wait(lambda: holds(api, "Admitted"), "a JobSet that is admitted")
            says(api, succeeded=1)
            if ours:
                # Kueue writes this after it has looked at what is done
                reality.wait(lambda: holds(api, "PodsReady"), "pods that are ready")
                assert given_back(api) == []
            else:
                reality.wait(lambda: given_back(api), "quota that is given back")
                says(api, succeeded=0)
                taken = f"{KUEUE}/namespaces/{SPACE}/workloads/{workload(api)['metadata']['name']}"
                back = {"status": {"reclaimablePods": [{"name": "short", "count": 0}]}}
                with pytest.raises(ApiError, match="cannot be less than 1"):
                    api.call("PATCH", f"{taken}/status", back, MERGE)
        finally:
            api.call("DELETE", f"{SETS}/set", {"propagationPolicy": "Background"})
            reality.wait(lambda: not workload(api), "no workload")


def made(api: Api) -> bool:
    """Whether the set is there; webhooks answer a moment after Kueue has started."""
    try:
        api.call("POST", SETS, jobset())
    except ApiError as problem:
        if "already exists" not in str(problem):
            return False
    return True
