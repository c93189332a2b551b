"""GPUs that pods claim: fakes say what nodes have, the real scheduler allocates, Kueue counts."""

from collections.abc import Iterator
from typing import Any

import pytest

from gpuyard_simulate import cluster
from gpuyard_simulate.api import Api, ApiError
from kit.cluster import lab as reality
from kit.cluster.queues import QueueLab, kueue_as_rendered
from kit.generated.small_platforms import pod_spec
from kit.stacks import Raw, platform, pool, shape, team

pytestmark = [pytest.mark.cluster, pytest.mark.always]

RESOURCES = "/apis/resource.k8s.io/v1"
QUIET = "/api/v1/namespaces/default/pods"


def claiming() -> Raw:
    """A node of eight H100, and a rack whose NVLink goes from node to node."""
    pools = [
        pool("claims-h100", nodes=1, sharing="dra"),
        pool("claims-rack", machine="a4x-highgpu-4g", nodes=2, sharing="dra"),
    ]
    shapes = [
        shape("half", pool="claims-h100", gpus_per_node=4),
        shape("rack", pool="claims-rack", nodes=2, gpus_per_node=4),
    ]
    teams = [team("claims-a", guarantee={"claims-h100": 8, "claims-rack": 8})]
    return platform(pools, teams, name="claims", cloud="simulated", shapes=shapes)


@pytest.fixture(scope="module")
def lab(started: cluster.Outcome) -> Iterator[QueueLab]:
    with (
        kueue_as_rendered(started.status.name, claiming()) as api,
        QueueLab(api, claiming()) as lab,
    ):
        reality.wait(lambda: len(slices(api)) == 5, "slices of all nodes")
        yield lab


def slices(api: Api) -> list[dict[str, Any]]:
    found = api.call("GET", f"{RESOURCES}/resourceslices")["items"]
    return [each for each in found if each["spec"]["nodeName"].startswith("claims-")]


def claim(count: int = 1, of: str = "gpu.nvidia.com") -> dict[str, Any]:
    exactly = {"deviceClassName": of, "count": count}
    return {"spec": {"devices": {"requests": [{"name": "gpus", "exactly": exactly}]}}}


def pod(name: str, template: str, *more: str, space: str = "default") -> dict[str, Any]:
    names = [template, *more]
    spec = pod_spec({"cpu": "1", "memory": "1Gi"})
    spec["containers"][0]["resources"]["claims"] = [{"name": each} for each in names]
    spec["resourceClaims"] = [{"name": n, "resourceClaimTemplateName": n} for n in names]
    spec["tolerations"] = [{"operator": "Exists"}]
    meta = {"name": name, "namespace": space, "labels": {"job": name}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def submit(lab: QueueLab, name: str, template: str) -> None:
    """A job of one pod that claims by a template of its team."""
    job: dict[str, Any] = pod(name, template, space=lab.plan.teams[0].default_namespace.name)
    made = {
        "metadata": {"labels": {"job": name}},
        "spec": {**job["spec"], "restartPolicy": "Never"},
    }
    made["spec"]["tolerations"] = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    made["spec"]["nodeSelector"] = {"gpuyard.dev/pool": "claims-h100"}  # else the rack may do it
    body = {"parallelism": 1, "completions": 1, "suspend": True, "template": made}
    meta = {**job["metadata"], "labels": {"kueue.x-k8s.io/queue-name": "default"}}
    value = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": body}
    lab.noted(value)
    reality.create(lab.api, reality.path_of(value).rpartition("/")[0], value)


def unschedulable(api: Api, name: str) -> str:
    found = api.get(f"{QUIET}/{name}") or {}
    of = [c for c in found.get("status", {}).get("conditions", []) if c["type"] == "PodScheduled"]
    return next((c.get("message", "") for c in of if c["status"] == "False"), "")


def running(api: Api, path: str, job: str) -> list[dict[str, Any]]:
    found = api.call("GET", f"{path}?labelSelector=job%3D{job}")["items"]
    return [each for each in found if each["status"].get("phase") == "Running"]


def test_slices_say_what_each_node_has(lab: QueueLab):
    has = {s["metadata"]["name"]: s["spec"]["devices"] for s in slices(lab.api)}
    assert {name: len(devices) for name, devices in has.items()} == {
        "claims-h100-000-gpu.nvidia.com": 8,
        **{f"claims-rack-00{n}-gpu.nvidia.com": 4 for n in (0, 1)},
        **{f"claims-rack-00{n}-compute-domain.nvidia.com": 2 for n in (0, 1)},
    }
    first = has["claims-h100-000-gpu.nvidia.com"][0]
    assert first["attributes"]["architecture"] == {"string": "Hopper"}
    assert first["capacity"]["memory"]["value"] == "80Gi"
    node = lab.api.call("GET", "/api/v1/nodes/claims-h100-000")
    assert not [r for r in node["status"]["allocatable"] if r.startswith("nvidia.com/")]


def test_who_claims_what_is_there_runs_and_who_claims_more_waits(lab: QueueLab):
    home = lab.plan.teams[0].default_namespace.name
    # One after the other: Kueue takes jobs of the same second in any order.
    for name in ("first", "second"):
        submit(lab, name, "half")
        lab.expect("a", name, "admitted")
        reality.wait(
            lambda name=name: running(lab.api, f"/api/v1/namespaces/{home}/pods", name),
            f"a pod of {name} that runs",
        )
    submit(lab, "third", "half")
    lab.expect("a", "third", "waits")
    claims = lab.api.call("GET", f"{RESOURCES}/namespaces/{home}/resourceclaims")["items"]
    given = [c["status"]["allocation"]["devices"]["results"] for c in claims if c.get("status")]
    devices = [(r["pool"], r["device"]) for results in given for r in results]
    assert sorted(devices) == [("claims-h100-000", f"gpu-{n}") for n in range(8)]
    lab.withdraw("a", "first")
    lab.expect("a", "third", "admitted")


def test_a_claim_for_a_slice_that_is_not_there_waits(lab: QueueLab):
    made = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate"}
    path = f"{RESOURCES}/namespaces/default/resourceclaimtemplates"
    for name, given in (("part", claim(of="mig.nvidia.com")), ("four", claim(4))):
        reality.create(lab.api, path, {**made, "metadata": {"name": name}, "spec": given})
    try:
        for name in ("part", "four"):
            reality.create(lab.api, QUIET, pod(name, name))
        reality.wait(lambda: running(lab.api, QUIET, "four"), "a pod with four GPUs")
        reality.wait(
            lambda: "cannot allocate all claims" in unschedulable(lab.api, "part"), "a pod refused"
        )
    finally:
        for name in ("part", "four"):
            reality.delete(lab.api, f"{QUIET}/{name}")
            reality.delete(lab.api, f"{path}/{name}")


def test_a_team_finds_its_templates_and_claims_no_other_class(lab: QueueLab):
    home = lab.plan.teams[0].default_namespace.name
    found = lab.api.call("GET", f"{RESOURCES}/namespaces/{home}/resourceclaimtemplates")["items"]
    assert [each["metadata"]["name"] for each in found] == ["half", "rack"]
    path = f"/apis/resource.nvidia.com/v1beta1/namespaces/{home}/computedomains/rack"
    domain = lab.api.call("GET", path)
    assert domain["spec"]["channel"]["resourceClaimTemplate"] == {"name": "rack-channel"}
    value = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "part", "namespace": home},
        **claim(of="mig.nvidia.com"),
    }
    with pytest.raises(ApiError, match="exceeded quota"):
        lab.api.call("POST", f"{RESOURCES}/namespaces/{home}/resourceclaims", value)
