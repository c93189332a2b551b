"""A real Karpenter moves what runs on a lower rung to a better one that has room again, where a pool says so.

A campaign, as test_karpenter.py is. Its provider always has what is asked for: the better rung is short by
its own bound, and has room again when what ran on it is over.
"""

import sys
import time

import pytest

from gpuyard.render.objects import toleration_object
from gpuyard_core.names import POOL_LABEL
from gpuyard_simulate.api import ApiError
from kit import waiting
from kit.cluster import karpenter
from kit.cluster.karpenter import OF_KARPENTER, items, needs_karpenter, place, put, within
from kit.cluster.lab import delete
from kit.stacks import plan_of, platform, pool

pytestmark = needs_karpenter()
JOBS = "/apis/batch/v1/namespaces/default/jobs"
STAYS_FOR = 120
"""Seconds in which it would long have moved."""
LADDER = {
    "nodes": "0..2",
    "machine": "g6.12xlarge",
    "capacity": [{"spot": True, "nodes": 1}, "on-demand"],
    "scaling": "karpenter",
}


@pytest.mark.parametrize("moves", [True, False], ids=["moves up", "stays"])
def test_what_runs_on_demand_goes_to_spot_that_is_free_where_the_pool_says_so(program, moves):
    api = program
    plan = plan_of(platform([pool("steps", **LADDER, failback=moves)], cloud="aws"))
    made = karpenter.for_kwok(plan)
    for each in made:
        waiting.until(lambda each=each: put(api, each), errors=(ApiError,))
    try:
        spot = begins(api, plan, "first")
        assert rungs(api) == {spot: "spot"}
        demand = begins(api, plan, "second")
        assert rungs(api) == {spot: "spot", demand: "on-demand"}
        delete(api, f"{JOBS}/first", "Background")
        assert within(240, lambda: spot not in rungs(api)), "an empty node goes"
        if moves:
            comes_before_the_other_goes(api, demand)
        else:
            time.sleep(STAYS_FOR)
            assert (rungs(api), where(api, "second")) == ({demand: "on-demand"}, demand)
    finally:
        for name in ("first", "second"):
            delete(api, f"{JOBS}/{name}", "Background")
        within(240, lambda: not items(api, OF_KARPENTER))
        for each in reversed(made):
            delete(api, place(each))


def comes_before_the_other_goes(api, demand):
    """The new node first, then the old one's pod is put out, and its job makes another on the new one."""
    began = time.monotonic()
    seen = []

    def alone_on_spot():
        now = rungs(api)
        if not seen or seen[-1] != now:
            seen.append(now)
        return list(now.values()) == ["spot"] and where(api, "second") in now

    assert within(300, alone_on_spot), seen
    assert any(demand in each and "spot" in each.values() for each in seen), seen
    sys.stdout.write(f"moved to spot {time.monotonic() - began:.0f} s after it had room: {seen}\n")


def begins(api, plan, name):
    """The node on which a job of one node runs."""
    (steps,) = plan.pools
    wants = {"nvidia.com/gpu": "4", "cpu": "1"}
    container = {
        "name": "c",
        "image": "example.org/x",
        "resources": {"requests": wants, "limits": wants},
    }
    spec = {
        "restartPolicy": "Never",
        "nodeSelector": {POOL_LABEL: steps.stable_name},
        "tolerations": [toleration_object(taint) for taint in steps.taints],
        "containers": [container],
    }
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": {"spec": spec}},
    }
    api.call("POST", JOBS, job)
    return waiting.until(lambda: where(api, name), what=f"{name} to run")


def where(api, name):
    """The node of the job's pod that runs."""
    path = f"/api/v1/namespaces/default/pods?labelSelector=batch.kubernetes.io%2Fjob-name%3D{name}"
    run = [
        each["spec"]["nodeName"]
        for each in items(api, path)
        if each.get("status", {}).get("phase") == "Running"
        and "deletionTimestamp" not in each["metadata"]
    ]
    return run[0] if run else None


def rungs(api):
    """How each node was bought."""
    return {
        each["metadata"]["name"]: each["metadata"]["labels"]["karpenter.sh/capacity-type"]
        for each in items(api, OF_KARPENTER)
    }
