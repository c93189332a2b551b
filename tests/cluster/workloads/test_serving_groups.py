"""Replicas of several nodes on a real LeaderWorkerSet and Kueue: a service with replicas for prompts."""

from collections.abc import Iterator
from copy import deepcopy

import pytest

from gpuyard.render.workloads.services import service_objects
from gpuyard_simulate import cluster
from gpuyard_simulate.api import ApiError
from kit.cluster import lab as reality
from kit.cluster.lab import Value
from kit.cluster.queues import soon
from kit.cluster.workloads import WorkloadLab, workload_lab
from kit.stacks import Raw, platform, pool, shape, team

pytestmark = [pytest.mark.cluster]

NAME = "wide"
TEAM = f"{NAME}-t"


def stack() -> Raw:
    """Four nodes of eight GPUs: a replica for tokens takes two, one for prompts takes one."""
    prefill = {"shape": "prompts", "replicas": 1}
    service = {"name": "llm", "team": TEAM, "shape": "tokens", "replicas": 1, "prefill": prefill}
    return platform(
        [pool(NAME, nodes=4)],
        [team(TEAM, guarantee={NAME: 32})],
        name=NAME,
        cloud="simulated",
        shapes=[
            shape("tokens", pool=NAME, nodes=2, gpus_per_node=8),
            shape("prompts", pool=NAME, nodes=1, gpus_per_node=8),
        ],
        workloads={"services": [{**service, "image": "example.invalid/vllm:1"}]},
        addons=["leader-worker-set"],
        priorities={"batch": 100},
    )


@pytest.fixture(scope="module")
def lab(
    started: cluster.Outcome, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkloadLab]:
    folder = tmp_path_factory.mktemp("controllers")
    with workload_lab(started, stack(), folder, "lws") as found:
        objects = [each for group in service_objects(found.plan).values() for each in group]
        for each in objects:
            reality.apply(found.api, each)
        yield found
        for each in reversed(objects):
            reality.delete(found.api, reality.path_of(each))


def replica(lab: WorkloadLab) -> Value:
    objects = [each for group in service_objects(lab.plan).values() for each in group]
    return next(each for each in objects if each["kind"] == "LeaderWorkerSet")


def test_a_replica_of_two_nodes_is_one_workload_with_the_priority_of_services(lab: WorkloadLab):
    pods = lab.runs(replica(lab), 2)
    (workload,) = lab.workloads_of(replica(lab))
    counts = {each["name"]: each["count"] for each in workload["spec"]["podSets"]}
    assert counts == {"leader": 1, "worker": 1}
    assert workload["spec"]["priority"] == 101
    assert workload["spec"]["priorityClassRef"]["name"] == f"{NAME}-services"
    indexes = {p["metadata"]["labels"]["leaderworkerset.sigs.k8s.io/worker-index"] for p in pods}
    assert indexes == {"0", "1"}


def test_requests_reach_the_leader_only(lab: WorkloadLab):
    lab.runs(replica(lab), 2)

    def addresses() -> set[str]:
        path = f"/apis/discovery.k8s.io/v1/namespaces/{TEAM}/endpointslices"
        label = "?labelSelector=kubernetes.io%2Fservice-name%3Dllm-leader"
        ends = [end for each in lab.listed(f"{path}{label}") for end in each.get("endpoints") or ()]
        return {end["targetRef"]["name"] for end in ends}

    assert soon(addresses, "an endpoint of llm-leader") == {"llm-0"}


def test_a_new_image_is_accepted_and_other_resources_are_not(lab: WorkloadLab):
    lab.runs(replica(lab), 2)
    larger = deepcopy(replica(lab))
    worker = larger["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"][0]
    worker["resources"]["requests"]["cpu"] = worker["resources"]["limits"]["cpu"] = "1"
    with pytest.raises(ApiError, match="immutable"):
        reality.apply(lab.api, larger)
    newer = deepcopy(replica(lab))
    template = newer["spec"]["leaderWorkerTemplate"]
    for each in ("leaderTemplate", "workerTemplate"):
        template[each]["spec"]["containers"][0]["image"] = "example.invalid/vllm:2"
    reality.apply(lab.api, newer)

    def renewed() -> bool:
        images = {p["spec"]["containers"][0]["image"] for p in lab.running_pods(newer)}
        return images == {"example.invalid/vllm:2"} and len(lab.pods_of(newer)) == 2

    soon(renewed, "both pods to have the new image")
