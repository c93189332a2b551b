"""A real Karpenter keeps the nodes that are to be kept, disturbs no gang, and does what is said of a job.

A campaign, as test_karpenter.py is: `GPUYARD_KARPENTER_MINUTES` says how long gangs are watched while nodes
beside them come and go, `GPUYARD_KARPENTER_JOBS` how many jobs are explained.
"""

import os
import random
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

from cluster.conftest import NAME
from gpuyard.explain import Verdict, explain
from gpuyard.manifests.workloads import read_job
from gpuyard.names import KEEPS_LABEL, POOL_LABEL
from gpuyard.render.objects import toleration_object
from gpuyard.render.platform import record_objects
from gpuyard.render.scaling.keeping import keeping_objects
from gpuyard.simulate import cluster as simulated
from gpuyard.simulate import processes
from gpuyard.simulate.api import ApiError
from kit import waiting
from kit.cluster import karpenter
from kit.cluster.karpenter import OF_KARPENTER, items, needs_karpenter, place, put, running, within
from kit.cluster.lab import delete
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool, team

pytestmark = needs_karpenter()
MINUTES = float(os.environ.get("GPUYARD_KARPENTER_MINUTES", "2"))
MANY_NODES = int(os.environ.get("GPUYARD_KARPENTER_NODES", "25"))
JOBS = int(os.environ.get("GPUYARD_KARPENTER_JOBS", "200"))
AT_A_TIME = 40
"""Jobs, each with a pool of its own: in one pool the scheduler puts pods on nodes that came for another's."""
DRIFTS_AT = 12
"""Of the jobs that pass by."""


# ── nodes that are kept ───────────────────────────────────────────────────────────────────────────
def test_a_floor_and_a_window_are_kept_beside_jobs_and_no_more(program):
    """The clock of the window is moved: as if nothing had begun since yesterday, and its hours were over."""
    api = program
    began = datetime.now(UTC) - timedelta(minutes=1)
    window = {"cron": f"{began.minute} {began.hour} * * *", "hours": 9, "nodes": 3}
    words = {"nodes": "1..4", "machine": "g6.12xlarge", "scaling": "karpenter", "warm": [window]}
    pair = {"name": "pair", "pool": "kept", "nodes": 2, "gpus_per_node": 4}
    plan = plan_of(platform([pool("kept", **words)], cloud="aws", shapes=[pair]))
    keepers = keeping_objects(plan)
    made = [record_objects(plan)[0], *karpenter.for_kwok(plan), *keepers]
    for each in made:
        waiting.until(lambda each=each: put(api, each), errors=(ApiError,))
    try:
        keeps(api, 1, "the floor")
        cron = place(keepers[-1])
        yesterday = (datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        api.merge(f"{cron}/status", {"status": {"lastScheduleTime": yesterday}})
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
        api.merge(f"{home}/{name}", {"spec": {"activeDeadlineSeconds": 1}})
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
            api.merge(place(each), labels)


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
        figures = f"objects {stored(api)}, MiB {memory(pid)}"
        begun = time.monotonic()
        api.call(
            "DELETE", f"{JOBS_OF_DEFAULT}?labelSelector=many", {"propagationPolicy": "Background"}
        )
        assert within(1500, lambda: not items(api, OF_KARPENTER)), len(items(api, OF_KARPENTER))
        gone = time.monotonic() - begun
        sys.stdout.write(
            f"{nodes} nodes for {len(jobs):,} jobs: asked for in {asked:.0f} s, all run after {ran:.0f} s,"
            f" {figures}; nodes gone {gone:.0f} s after the jobs\n"
        )
        assert nodes == MANY_NODES
    finally:
        api.call(
            "DELETE", f"{JOBS_OF_DEFAULT}?labelSelector=many", {"propagationPolicy": "Background"}
        )
        for each in reversed(made):
            delete(api, place(each))


JOBS_OF_DEFAULT = "/apis/batch/v1/namespaces/default/jobs"


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


# ── what is said of jobs whose nodes do not run yet ───────────────────────────────────────────────
KINDS_OF_POOLS = (
    pool("l4", nodes="0..9", machine="g6.12xlarge", scaling="karpenter"),
    pool("h100", nodes="0..9", scaling="karpenter"),
    {**shared_pool(nodes="0..9", scaling="karpenter"), "name": "shared"},
    {**cut_pool(nodes="0..9", scaling="karpenter"), "name": "cut"},
)
SAID = platform(
    [
        {**each, "name": f"{each['name']}-{number}"}
        for number in range(AT_A_TIME // len(KINDS_OF_POOLS))
        for each in KINDS_OF_POOLS
    ],
    [],
    cloud="aws",
)


def said_of(plan, job):
    read = read_job(job)
    assert read is not None
    return explain(plan, read)


def test_what_is_said_of_jobs_without_a_node_is_what_karpenter_does(program):
    api, chance = program, random.Random(18)  # noqa: S311  to repeat it
    plan = plan_by_teams()
    made = karpenter.for_kwok(plan)
    for each in made:
        waiting.until(lambda each=each: put(api, each), errors=(ApiError,))
    apart, seen = [], Counter()
    try:
        for first in range(0, JOBS, AT_A_TIME):
            numbers = range(first, min(first + AT_A_TIME, JOBS))
            jobs = {f"j{n}": any_job(plan, n, chance) for n in numbers}
            apart += one_batch(api, plan, jobs, seen)
            sys.stdout.write(f"{numbers.stop} jobs: {dict(seen)}, apart {apart}\n")
    finally:
        for each in reversed(made):
            delete(api, place(each))
    assert apart == []
    assert len(seen) > 4


def plan_by_teams():
    """A team for each pool, so that which pool is meant is no matter of queues."""
    names = [each["name"] for each in SAID["pools"]]
    bare = plan_of({**SAID, "teams": [team("t")]})
    held = {name: bare.pool(name).advertised[0] for name in names}
    teams = []
    for name, each in held.items():
        key = f"{name}/{each.unit}" if each.unit else name
        teams.append(team(f"t-{name}", guarantee={key: each.per_node * 9}))
    return plan_of({**SAID, "teams": teams})


def any_job(plan, number, chance):
    """Of the next of the teams; some ask for more than any node has, of GPUs, CPUs or memory."""
    where = plan.pools[number % AT_A_TIME]
    advertised = where.advertised[0]
    most = advertised.per_node
    count = chance.choice([1, 1, most, max(1, most // 2), chance.randint(1, most + 3)])
    if where.replicas > 1:
        count = 1  # more than one share of a GPU a device plugin refuses, which no autoscaler sees
    amounts = {
        "cpu": chance.choice(["1", "1", "8", "40", "300"]),
        "memory": chance.choice(["1Gi", "1Gi", "60Gi", "150Gi", "4000Gi"]),
        advertised.resource: str(count),
    }
    container = {
        "name": "c",
        "image": "example.org/x",
        "resources": {"requests": amounts, "limits": amounts},
    }
    home = next(t for t in plan.teams if t.name == f"t-{where.name}")
    metadata = {"name": f"j{number}", "namespace": home.home.name, "labels": {}}
    pods = chance.choice([1, 1, 2, 3, 4])
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    spec = {"parallelism": pods, "completions": pods, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def one_batch(api, plan, jobs, seen):
    """What does not agree, in words. No job has another one beside it in its pool: each is said of alone."""
    said = {name: said_of(plan, job) for name, job in jobs.items()}
    pods = {name: list(pods_of(plan, name, job)) for name, job in jobs.items()}
    for each in (pod for found in pods.values() for pod in found):
        put(api, each)
    starts = [each for name, each in said.items() if each.verdict is Verdict.STARTS]
    waited = [name for name, each in said.items() if each.verdict is Verdict.STARTS]
    within(420, lambda: all(running(api, pods[name]) for name in waited))
    time.sleep(20 if len(starts) < len(said) else 0)  # for those that are to get none
    apart = []
    for name, told in said.items():
        there = [api.get(place(each)) or {} for each in pods[name]]
        nodes = {each.get("spec", {}).get("nodeName") for each in there}
        whole = None not in nodes and running(api, pods[name])
        foreseen = sum(told.nodes_to_start.values())
        agrees = whole and len(nodes) == foreseen if told.verdict is Verdict.STARTS else not whole
        kind = jobs[name]["metadata"]["namespace"].rpartition("-")[0].removeprefix("t-")
        seen[f"{told.verdict} {kind}"] += 1
        if not agrees:
            wants = jobs[name]["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]
            apart.append(
                f"{name} ({len(pods[name])} x {wants}): {told.verdict}, {foreseen} nodes: {told.says};"
                f" seen {'whole' if whole else 'not whole'} on {len(nodes - {None})}"
            )
    for each in (pod for found in pods.values() for pod in found):
        delete(api, place(each))
    assert within(600, lambda: not items(api, OF_KARPENTER))
    return apart


def pods_of(plan, name, job):
    """As its queue and the Job controller make them."""
    where = plan.pool(job["metadata"]["namespace"].removeprefix("t-"))
    for number in range(job["spec"]["parallelism"]):
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{name}-{number}",
                "namespace": "default",
                "labels": {"job": name},
            },
            "spec": {
                **job["spec"]["template"]["spec"],
                "nodeSelector": {POOL_LABEL: where.stable_name},
                "tolerations": [toleration_object(taint) for taint in where.taints],
            },
        }
