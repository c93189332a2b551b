"""A real Karpenter keeps the nodes that are to be kept, disturbs no gang, and makes many nodes for many jobs.

A campaign, as test_karpenter.py is: `GPUYARD_KARPENTER_MINUTES` says how long gangs are watched while nodes
beside them come and go, `GPUYARD_KARPENTER_NODES` how many nodes come for eight times as many jobs.
"""

import os
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

from cluster.conftest import NAME
from gpuyard.render.objects import toleration_object
from gpuyard.render.platform import record_objects
from gpuyard.render.scaling.keep_warm import keep_warm_objects
from gpuyard_core.names import KEEPS_LABEL, POOL_LABEL
from gpuyard_simulate import cluster as simulated
from gpuyard_simulate import processes
from gpuyard_simulate.api import ApiError, Unreachable
from kit import waiting
from kit.cluster import karpenter
from kit.cluster.karpenter import OF_KARPENTER, items, needs_karpenter, place, put, running, within
from kit.cluster.lab import delete
from kit.stacks import plan_of, platform, pool

pytestmark = needs_karpenter()
MINUTES = float(os.environ.get("GPUYARD_KARPENTER_MINUTES", "2"))
MANY_NODES = int(os.environ.get("GPUYARD_KARPENTER_NODES", "25"))
DRIFTS_AT = 12
"""Of the jobs that pass by."""


# ── nodes that are kept ───────────────────────────────────────────────────────────────────────────
def test_a_floor_and_a_window_are_kept_beside_jobs_and_no_more(program):
    """The clock of the window is moved: as if nothing had begun since yesterday, and its hours were over."""
    api = program
    began = datetime.now(UTC) - timedelta(minutes=1)
    window = {"cron": f"{began.minute} {began.hour} * * *", "hours": 9, "nodes": 3}
    words = {
        "nodes": "1..4",
        "machine": "g6.12xlarge",
        "scaling": "karpenter",
        "keep_warm": [window],
    }
    pair = {"name": "pair", "pool": "kept", "nodes": 2, "gpus_per_node": 4}
    plan = plan_of(platform([pool("kept", **words)], cloud="aws", shapes=[pair]))
    keepers = keep_warm_objects(plan)
    made = [record_objects(plan)[0], *karpenter.for_kwok(plan), *keepers]
    for each in made:
        waiting.until(lambda each=each: put(api, each), errors=(ApiError,))
    try:
        keeps(api, 1, "the floor")
        cron = place(keepers[-1])
        yesterday = (datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        api.patch(f"{cron}/status", {"status": {"lastScheduleTime": yesterday}})
        keeps(api, 3, "the window, the floor in it", pods=4)
        jobs = list(karpenter.pods(plan, plan.shapes[0]))
        for each in jobs:
            put(api, each)
        assert within(60, lambda: running(api, jobs)), "a job on kept nodes"
        keeps(api, 3, "a job beside", pods=4)
        for each in jobs:
            delete(api, place(each))
        time.sleep(90)
        keeps(api, 3, "no job for much longer than an empty node stays", pods=4)
        (job,) = items(api, place(keepers[-1]).replace("cronjobs", "jobs").rpartition("/")[0])
        name = job["metadata"]["name"]
        home = place(keepers[-1]).replace("cronjobs", "jobs").rpartition("/")[0]
        api.patch(f"{home}/{name}", {"spec": {"activeDeadlineSeconds": 1}})
        keeps(api, 1, "outside the window", seconds=240)
        assert items(api, home) == []
    finally:
        for each in reversed(made):
            delete(api, place(each))
        within(240, lambda: not items(api, OF_KARPENTER))


def keeps(api, nodes, when, *, pods=1, seconds=120):
    """So many nodes, and the pods that keep them run."""

    def so():
        found = items(api, f"/api/v1/pods?labelSelector={KEEPS_LABEL.replace('/', '%2F')}")
        run = [each for each in found if each.get("status", {}).get("phase") == "Running"]
        return (len(items(api, OF_KARPENTER)), len(run)) == (nodes, pods)

    assert within(seconds, so), (when, len(items(api, OF_KARPENTER)))
    sys.stdout.write(f"{when}: {nodes} nodes\n")


# ── gangs that run on ─────────────────────────────────────────────────────────────────────────────
WATCHED = platform(
    [
        pool(
            "watched",
            nodes="0..12",
            machine="g6.12xlarge",
            capacity=[{"spot": True, "nodes": 4}, "on-demand"],
            scaling="karpenter",
        )
    ],
    cloud="aws",
    shapes=[
        {"name": "whole", "pool": "watched", "nodes": 2, "gpus_per_node": 4},
        {"name": "half", "pool": "watched", "nodes": 3, "gpus_per_node": 2},
        {"name": "small", "pool": "watched", "nodes": 1, "gpus_per_node": 1},
    ],
)
"""The nodes of the second and third are used so little that Karpenter by its defaults would empty them."""


def test_no_gang_is_disturbed_while_nodes_beside_it_come_and_go(program):
    api, chance = program, random.Random(18)  # noqa: S311  to repeat it
    plan = plan_of(WATCHED)
    made = karpenter.for_kwok(plan)
    for each in made:
        waiting.until(lambda each=each: put(api, each), errors=(ApiError,))
    gangs = [each for shape in plan.shapes for each in karpenter.pods(plan, shape)]
    others, came = [], set()
    try:
        for each in gangs:
            put(api, each)
        assert within(120, lambda: running(api, gangs))
        first = {place(each): identity(api.get(place(each))) for each in gangs}
        began, number = time.monotonic(), 0
        while time.monotonic() < began + MINUTES * 60:
            number += 1
            jobs_pass_by(api, plan, others, number, chance.choice([1, 3, 4]))
            if number == DRIFTS_AT:
                drifts(api, made)
            for _ in range(8):
                nodes = {each["metadata"]["name"] for each in items(api, OF_KARPENTER)}
                came |= nodes
                assert {k: identity(api.get(k)) for k in first} == first
                time.sleep(1)
        gone = came - {each["metadata"]["name"] for each in items(api, OF_KARPENTER)}
        sys.stdout.write(
            f"{MINUTES:g} minutes: {number} jobs beside, {len(came)} nodes came, {len(gone)} went,"
            f" {len(gangs)} pods of three gangs undisturbed\n"
        )
        assert gone
    finally:
        for each in [*others, *gangs, *reversed(made)]:
            delete(api, place(each))
        within(240, lambda: not items(api, OF_KARPENTER))


def jobs_pass_by(api, plan, others, number, gpus):
    """One comes; of more than four the oldest ends, and at times all end, so that nodes are empty."""
    if number % 8:
        others.append(passer_by(plan, number, gpus))
        put(api, others[-1])
    while len(others) > (4 if number % 8 else 0):
        delete(api, place(others.pop(0)))


def drifts(api, made):
    """Every node is another than its pool says now."""
    labels = {"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}
    for each in made:
        if each["kind"] == "NodePool":
            api.patch(place(each), labels)


def identity(value):
    """What stays the same of a pod that nobody disturbs."""
    assert value is not None
    metadata = value["metadata"]
    return (
        metadata["uid"],
        value["spec"].get("nodeName"),
        value["status"]["phase"],
        metadata.get("deletionTimestamp"),
    )


def passer_by(plan, number, gpus):
    """A pod that ends soon."""
    (one,) = karpenter.pods(plan, plan.shapes[-1])
    one["metadata"]["name"] = f"beside-{number}"
    one["metadata"]["labels"] = {"shape": f"beside-{number}"}
    resources = one["spec"]["containers"][0]["resources"]
    for each in resources.values():
        each["nvidia.com/gpu"] = str(gpus)
    return one


# ── many ──────────────────────────────────────────────────────────────────────────────────────────
JOBS_A_NODE = 8
AT_ONCE = 16
"""Requests, as many people or a pipeline make them."""


def test_many_nodes_come_for_many_jobs_and_go_with_them(with_karpenter):
    api, pid = with_karpenter
    pools = [pool("many", nodes=f"0..{MANY_NODES}", scaling="karpenter")]
    plan = plan_of(platform(pools, cloud="aws"))
    made = karpenter.for_kwok(plan)
    for each in made:
        waiting.until(lambda each=each: put(api, each), errors=(ApiError,))
    jobs = [one_gpu(plan, f"many-{number}") for number in range(MANY_NODES * JOBS_A_NODE)]
    try:
        begun = time.monotonic()
        with ThreadPoolExecutor(AT_ONCE) as many:
            list(many.map(lambda each: api.call("POST", JOBS_OF_DEFAULT, each), jobs))
        asked = time.monotonic() - begun
        assert within(1500, lambda: counted(api, "Running") == len(jobs)), counted(api, "Running")
        ran = time.monotonic() - begun
        nodes = len(items(api, OF_KARPENTER))
        sys.stdout.write(
            f"{nodes} nodes for {len(jobs):,} jobs: asked for in {asked:.0f} s, all run after {ran:.0f} s,"
            f" objects {stored(api)}, MiB {memory(pid)}\n"
        )
        begun = time.monotonic()
        all_end(api)
        assert within(1500, lambda: not items(api, OF_KARPENTER)), len(items(api, OF_KARPENTER))
        sys.stdout.write(f"nodes gone {time.monotonic() - begun:.0f} s after the jobs\n")
        assert nodes == MANY_NODES
    finally:
        all_end(api)
        for each in reversed(made):
            delete(api, place(each))


JOBS_OF_DEFAULT = "/apis/batch/v1/namespaces/default/jobs"


def all_end(api):
    """An API server hangs up on a request of more than a minute, and 2,000 jobs take longer: asked again."""
    path = f"{JOBS_OF_DEFAULT}?labelSelector=many"

    def none_is_left():
        api.call("DELETE", path, {"propagationPolicy": "Background"})
        return not api.call("GET", f"{path}&limit=1")["items"]

    waiting.until(none_is_left, seconds=900, errors=(ApiError, Unreachable))


def one_gpu(plan, name):
    """A job of one pod."""
    where = plan.pool("many")
    wants = {"nvidia.com/gpu": "1", "cpu": "1"}
    container = {
        "name": "c",
        "image": "example.org/x",
        "resources": {"requests": wants, "limits": wants},
    }
    template = {
        "metadata": {"labels": {"many": "yes"}},
        "spec": {
            "restartPolicy": "Never",
            "nodeSelector": {POOL_LABEL: where.stable_name},
            "tolerations": [toleration_object(taint) for taint in where.taints],
            "containers": [container],
        },
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": {"many": "yes"}},
        "spec": {"template": template},
    }


def counted(api, phase):
    path = (
        f"/api/v1/namespaces/default/pods?labelSelector=many&fieldSelector=status.phase%3D{phase}"
    )
    return len(items(api, path))


def stored(api):
    """How many objects of each kind there are."""
    return {path.rpartition("/")[2]: how_many(api, path) for path in KINDS}


KINDS = (
    "/api/v1/nodes",
    "/api/v1/pods",
    "/api/v1/events",
    "/apis/batch/v1/jobs",
    "/apis/coordination.k8s.io/v1/leases",
    "/apis/karpenter.sh/v1/nodeclaims",
)


def how_many(api, path):
    found = api.call("GET", f"{path}?limit=1")
    return len(found["items"]) + found["metadata"].get("remainingItemCount", 0)


def memory(karpenter_pid):
    """In MiB, of each part of the cluster and of Karpenter."""
    parts = {each.name: each.rss_mib for each in simulated.status(NAME).parts}
    return {**parts, "karpenter": processes.rss_mib(karpenter_pid)}
