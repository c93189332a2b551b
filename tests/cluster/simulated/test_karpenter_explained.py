"""What is said of jobs whose nodes do not run yet is what a real Karpenter does: whose nodes, or why none.

A campaign, as test_karpenter.py is: `GPUYARD_KARPENTER_JOBS` says how many jobs are explained. Their pods are
made as their queue and the Job controller make them, and so only jobs that a queue admits are drawn.
"""

import os
import random
import sys
from collections import Counter
from dataclasses import dataclass

from gpuyard.render.objects import toleration_object
from gpuyard_advisor.explain import Verdict, explain
from gpuyard_advisor.workloads import read_job
from gpuyard_core.names import POOL_LABEL
from gpuyard_simulate.api import ApiError
from kit import waiting
from kit.cluster import karpenter
from kit.cluster.karpenter import OF_KARPENTER, items, needs_karpenter, place, put, within
from kit.cluster.lab import delete
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool, team

pytestmark = needs_karpenter()
JOBS = int(os.environ.get("GPUYARD_KARPENTER_JOBS", "200"))
AT_A_TIME = 40
"""Jobs, each with a pool of its own: in one pool the scheduler puts pods on nodes that came for another's."""
PODS = "/api/v1/namespaces/default/pods?labelSelector=job"
EVENTS = "/api/v1/namespaces/default/events?fieldSelector=reason%3DFailedScheduling"
TOO_BIG, TOO_MANY = "one pod wants", "do not hold"
"""Words of ours for why it has no node: it is more than one, or the pool is full."""
NO_MACHINE = "no instance type has enough resources"
"""Karpenter's for the first."""
LIMITS = (
    "node limits have been exhausted for nodepool (NodePool={})",
    "all available instance types exceed limits for nodepool (NodePool={})",
)
"""Karpenter's for the second, of each rung."""

BOUNDS = {"nodes": "0..3", "scaling": "karpenter"}
STEPS = [{"spot": True, "nodes": 1}, "on-demand"]
KINDS_OF_POOLS = (
    pool("l4", machine="g6.12xlarge", **BOUNDS),
    pool("h100", **BOUNDS),
    pool("ladder", machine="g6.12xlarge", capacity=STEPS, **BOUNDS),
    shared_pool(name="shared", **BOUNDS),
    cut_pool(name="cut", **BOUNDS),
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
            jobs = [admitted(plan, number, chance) for number in numbers]
            apart += one_batch(api, jobs)
            seen.update(f"{each.told.verdict} {each.kind} {each.why}".strip() for each in jobs)
            sys.stdout.write(f"{numbers.stop} jobs: {dict(sorted(seen.items()))}, apart {apart}\n")
    finally:
        for each in reversed(made):
            delete(api, place(each))
    assert apart == []
    assert sum(seen.values()) == JOBS
    for word in (Verdict.STARTS, TOO_BIG, TOO_MANY):
        assert any(word in each for each in seen), f"no job of the kind: {word}"


def plan_by_teams():
    """A team for each pool, so that which pool is meant is no matter of queues."""
    names = [each["name"] for each in SAID["pools"]]
    bare = plan_of({**SAID, "teams": [team("t")]})
    held = {name: bare.pool(name).advertised[0] for name in names}
    teams = []
    for name, each in held.items():
        key = f"{name}/{each.unit}" if each.unit else name
        most = each.per_node * bare.pool(name).nodes.high
        teams.append(team(f"t-{name}", guarantee={key: most}))
    return plan_of({**SAID, "teams": teams})


# ── jobs ──────────────────────────────────────────────────────────────────────────────────────────
@dataclass
class Job:
    """A job in a pool of its own, and what is said of it."""

    name: str
    pool: object
    rungs: dict
    """Its pool's NodePools: how many nodes each may have, by name."""
    pods: list
    told: object

    @property
    def kind(self):
        """The pool's, without its number."""
        return self.pool.name.rpartition("-")[0]

    @property
    def why(self):
        """Which of our reasons is told; all jobs that do not start have exactly one."""
        return " ".join(each for each in (TOO_BIG, TOO_MANY) if each in self.told.says)


def admitted(plan, number, chance):
    """The next job that its queue lets in, with its pods."""
    where = plan.pools[number % AT_A_TIME]
    made = [each for each in karpenter.for_kwok(plan) if each["kind"] == "NodePool"]
    mine = [each for each in made if of_pool(each["spec"]["template"]) == where.stable_name]
    rungs = {each["metadata"]["name"]: int(each["spec"]["limits"]["nodes"]) for each in mine}
    while True:
        value = any_job(plan, where, number, chance)
        read = read_job(value)
        assert read is not None
        told = explain(plan, read)
        if told.admitted:
            pods = list(pods_of(where, value))
            return Job(f"j{number}", where, rungs, pods, told)


def any_job(plan, where, number, chance):
    """Some ask for all that a node has, and some for more, of GPUs, CPUs or memory."""
    advertised = where.advertised[0]
    most, room = advertised.per_node, where.room
    count = chance.choice([1, 1, most, max(1, most // 2), chance.randint(1, most + 2)])
    if where.replicas > 1:
        count = 1  # more than one share of a GPU a device plugin refuses, which no autoscaler sees
    cpus = [1, 1, 8, room.cpu // 2, room.cpu // 2 + 1, room.cpu, room.cpu + 1]
    gibs = [1, 1, room.memory_gib // 3, room.memory_gib // 2 + 1, room.memory_gib]
    amounts = {
        "cpu": str(chance.choice(cpus)),
        "memory": f"{chance.choice([*gibs, room.memory_gib + 1])}Gi",
        advertised.resource: str(count),
    }
    container = {
        "name": "c",
        "image": "example.org/x",
        "resources": {"requests": amounts, "limits": amounts},
    }
    home = next(t for t in plan.teams if t.name == f"t-{where.name}")
    metadata = {"name": f"j{number}", "namespace": home.home.name, "labels": {}}
    pods = chance.choice([1, 1, 2, 3, 4, 5])
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    spec = {"parallelism": pods, "completions": pods, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def pods_of(where, job):
    """As its queue and the Job controller make them."""
    name = job["metadata"]["name"]
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


# ── what becomes of them ──────────────────────────────────────────────────────────────────────────
@dataclass
class Cluster:
    """One look at all pods and nodes, and at each node that was ever there."""

    pods: dict
    """Of each job: its pods."""
    came: dict
    """Of each pool: names of nodes that are or were there."""
    words: dict
    """Of each pod: what Karpenter said last of why it has no node for it."""


def look(api, came):
    pods = {}
    for each in items(api, PODS):
        pods.setdefault(each["metadata"]["labels"]["job"], []).append(each)
    for each in items(api, OF_KARPENTER):
        came.setdefault(of_pool(each), set()).add(each["metadata"]["name"])
    words = {
        each["involvedObject"]["name"]: each["message"]
        for each in items(api, EVENTS)
        if each.get("source", {}).get("component") == "karpenter"
    }
    return Cluster(pods, came, words)


def of_pool(value):
    return value["metadata"]["labels"].get(POOL_LABEL)


def one_batch(api, jobs):
    """What does not agree, in words. No job has another one beside it in its pool: each is said of alone."""
    for each in (pod for job in jobs for pod in job.pods):
        put(api, each)
    came = {}
    within(600, lambda: not disagreements(jobs, look(api, came)))
    apart = disagreements(jobs, look(api, came))
    for each in (pod for job in jobs for pod in job.pods):
        delete(api, place(each))
    assert within(600, lambda: not items(api, OF_KARPENTER))
    return apart


def disagreements(jobs, cluster):
    return [
        f"{job.name} in {job.pool.name} ({len(job.pods)} x {wants(job)}): {job.told.verdict}:"
        f" {job.told.says}; seen: {'; '.join(found)}"
        for job in jobs
        if (found := list(differs(job, cluster)))
    ]


def wants(job):
    return job.pods[0]["spec"]["containers"][0]["resources"]["requests"]


def differs(job, cluster):
    """How what is seen of a job is not what is said of it."""
    pods = cluster.pods.get(job.name, [])
    on = {each["spec"].get("nodeName") for each in pods} - {None}
    run = sum(each["status"]["phase"] == "Running" for each in pods)
    came = cluster.came.get(job.pool.stable_name, set())
    if job.told.verdict is Verdict.STARTS:
        said = {job.pool.name: len(on)}
        if run != len(job.pods):
            yield f"{run} of {len(job.pods)} pods run"
        if said != dict(job.told.nodes_to_start) or came != on:
            yield f"on {len(on)} of {len(came)} nodes that came, not {dict(job.told.nodes_to_start)}"
        return
    if job.why not in (TOO_BIG, TOO_MANY):
        yield "no reason that is known here"
    last = 0 if job.why == TOO_BIG else sum(job.rungs.values())
    if not len(on) == len(came) == last or run == len(job.pods):
        yield f"{run} of {len(job.pods)} pods run, on {len(on)} of {len(came)} nodes that came, not {last}"
    heard = [
        cluster.words.get(each["metadata"]["name"], "")
        for each in pods
        if not each["spec"].get("nodeName")
    ]
    if not heard or not all(refused(job, text) for text in heard):
        yield f"Karpenter says: {heard}"


def refused(job, text):
    """Whether these words of Karpenter's are the reason that is told."""
    full = [any(each.format(rung) in text for each in LIMITS) for rung in job.rungs]
    return all(full) if job.why == TOO_MANY else NO_MACHINE in text and not any(full)
