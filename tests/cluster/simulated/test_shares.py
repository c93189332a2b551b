"""Pods of each kind of share run, and one too many waits: all ways of sharing in one cluster."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from gpuyard.plan.records import AdvertisedResource, PoolPlan
from gpuyard_core.catalogue.sharing import SharingMethod
from gpuyard_simulate import mps
from gpuyard_simulate.api import Api
from kit.cluster.lab import Lab, apply, delete, path_of, wait
from kit.stacks import plan_of, platform, pool

pytestmark = [pytest.mark.cluster]

SMALL = "g6.xlarge"
CUT = {"mig": {"3g.20gb": 1, "2g.10gb": 1, "1g.5gb": 2}}
POOLS = [
    pool("whole", machine=SMALL, nodes=1),
    pool("cut", machine="p4d.24xlarge", nodes=1, sharing=CUT),
    pool("turns", machine=SMALL, nodes=1, sharing={"time_slicing": 3}),
    pool("clients", machine=SMALL, nodes=1, sharing={"mps": 4}),
]
SHARED = {SharingMethod.TIME_SLICING, SharingMethod.MPS}


def pods_of(one: PoolPlan, offered: AdvertisedResource) -> Iterator[dict[str, Any]]:
    """All that the node has of it, in as few pods as its plugin lets; and one pod more, the last."""
    alone = one.sharing in SHARED
    counts = [1] * offered.per_node if alone else [offered.per_node]
    for number, count in enumerate([*counts, 1]):
        name = (
            f"{one.name}-{offered.resource.rpartition('/')[2].lower().replace('.', '-')}-{number}"
        )
        container = {
            "name": "main",
            "image": "busybox",
            "resources": {"limits": {offered.resource: str(count), "cpu": "1m"}},
        }
        spec = {
            "containers": [container],
            "nodeSelector": dict(one.node_selector),
            "tolerations": [{"operator": "Exists"}],
            "terminationGracePeriodSeconds": 0,
        }
        metadata = {"name": name, "namespace": "default"}
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def test_as_many_as_the_plan_says_run_and_the_next_one_waits(api: Api) -> None:
    plan = plan_of(platform(POOLS, cloud="simulated", name="shares"))

    def phases(pods: list[dict[str, Any]]) -> list[str]:
        found = [api.get(path_of(each)) or {} for each in pods]
        return [str((each.get("status") or {}).get("phase")) for each in found]

    with Lab(api, plan) as lab:
        made = [list(pods_of(one, offered)) for one in plan.pools for offered in one.advertised]
        assert len(made) == 6
        try:
            for pods in made:
                for each in pods[:-1]:
                    apply(api, each)
            for pods in made:
                first = pods[:-1]
                wait(lambda first=first: set(phases(first)) == {"Running"}, f"{len(first)} pods")
            for pods in made:
                apply(api, pods[-1])
            for pods in made:
                *full, late = pods
                wait(lambda late=late: _unschedulable(api, late), "a word of the scheduler")
                assert set(phases(full)) == {"Running"}
            (node,) = [
                each
                for each in lab.listed("/api/v1/nodes")
                if each["metadata"]["name"].startswith("clients-")
            ]
            (limits,) = json.loads(node["metadata"]["annotations"][mps.RUNNING]).values()
            assert limits["compute_mode"] == "EXCLUSIVE_PROCESS"
            assert limits["threads_percent"] == 25
        finally:
            for pods in made:
                for each in pods:
                    delete(api, path_of(each))


def _unschedulable(api: Api, pod: dict[str, Any]) -> bool:
    status = (api.get(path_of(pod)) or {}).get("status") or {}
    return any(
        each["type"] == "PodScheduled" and each.get("reason") == "Unschedulable"
        for each in status.get("conditions") or ()
    )
