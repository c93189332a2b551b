"""Running jobs, read from objects of a cluster, from manifests, or from a short list of the user."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gpuyard.plan.quotas.cohorts import Key
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard_advisor.explain.answer import submit
from gpuyard_advisor.scheduler.flavors import requests_in_quota_units, requests_with_quota
from gpuyard_advisor.scheduler.model import PlatformState, Pods, RunningJob, SchedulerModel
from gpuyard_advisor.scheduler.node_states import NodeState, node_state
from gpuyard_advisor.scheduler.requests import request_of
from gpuyard_advisor.workloads import read_job
from gpuyard_core import names
from gpuyard_core.manifests.fields import mapping, mappings, text
from gpuyard_core.manifests.quantities import quantity, whole_units

Value = Mapping[Any, Any]
JOBSET_LABEL = "jobset.sigs.k8s.io/jobset-name"
ROW = "{team: vision, pool: train, pods: 2, per_pod: {nvidia.com/gpu: 8}, nodes: [train-000, train-001]}"
_ROW_KEYS = frozenset({"team", "pool", "pods", "gpus", "per_pod", "nodes", "name", "priority"})
_MAX_PODS = 100_000


@dataclass(slots=True)
class _Reading:
    plan: PlatformPlan
    nodes: dict[str, str] = field(default_factory=dict[str, str])
    labels: dict[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    states: dict[str, NodeState] = field(default_factory=dict[str, NodeState])
    listed: bool = False
    """Whether the list of nodes is complete."""
    jobs: list[RunningJob] = field(default_factory=list[RunningJob])
    waiting: int = 0
    problems: list[str] = field(default_factory=list[str])
    pods: list["_Pod"] = field(default_factory=list["_Pod"])

    def pool_with(self, labels: Value) -> PoolPlan | None:
        """The pool of nodes with these labels."""
        return next(
            (
                p
                for p in self.plan.pools
                if all(labels.get(k) == v for k, v in p.node_selector.items())
            ),
            None,
        )

    def pool_of(self, flavor: str) -> PoolPlan | None:
        """The pool of a ResourceFlavor."""
        return next((p for p in self.plan.pools if flavor in {p.flavor, p.stable_name}), None)

    def home_of(self, node: str, pod: Value) -> str:
        """The pool of a pod's node, by the node or the pod's node selector; "" for other nodes."""
        if node in self.nodes or self.listed:
            return self.nodes.get(node, "")
        pool = self.pool_with(mapping(pod, "spec", "nodeSelector"))
        return pool.name if pool else ""

    @property
    def state(self) -> PlatformState:
        """The platform state that was read."""
        return PlatformState(
            tuple(self.jobs),
            dict(self.nodes),
            self.waiting,
            dict(self.labels),
            dict(self.states),
            self.listed,
        )


@dataclass(frozen=True, slots=True)
class _Pod:
    """One pod on its node."""

    owners: frozenset[str]
    """Keys of possible owners: uids, and names of JobSets."""
    namespace: str
    name: str
    stands: Pods


def read_running(
    plan: PlatformPlan, values: Sequence[Any], *, all_nodes: bool = False
) -> tuple[PlatformState, list[str]]:
    """Read the platform state, and the problems of the input.

    If nodes are among the values, or with `all_nodes`, nodes that are missing do not run.
    """
    reading = _Reading(plan, listed=all_nodes)
    objects = [v for v in values if isinstance(v, Mapping)]
    reading.problems += [
        f"item {i}: not a mapping" for i, v in enumerate(values) if v not in objects
    ]
    _nodes(reading, [o for o in objects if text(o, "kind") == "Node"])
    workloads = [o for o in objects if text(o, "kind") == "Workload"]
    _pods(reading, [o for o in objects if text(o, "kind") == "Pod" and "status" in o])
    _workloads(reading, workloads)
    _left_over(reading, queued=bool(workloads))
    rows = [(i, o) for i, o in enumerate(values) if isinstance(o, Mapping) and "kind" not in o]
    for position, row in rows:
        _row(reading, row, f"item {position}")
    _manifests(reading, [o for o in objects if "status" not in o])
    return reading.state, reading.problems


def _nodes(reading: _Reading, results: Sequence[Value]) -> None:
    """Read the nodes of the pools and their conditions."""
    reading.listed = reading.listed or bool(results)
    for node in results:
        labels = mapping(node, "metadata", "labels")
        if pool := reading.pool_with(labels):
            name = text(mapping(node, "metadata"), "name")
            reading.nodes[name] = pool.name
            reading.labels[name] = {k: str(labels[k]) for k in pool.topology_levels if k in labels}
            reading.states[name] = node_state(node, pool.taints)


def _pods(reading: _Reading, results: Sequence[Value]) -> None:
    """Read the pods that use capacity: bound to a node and not finished."""
    for value in results:
        name = text(mapping(value, "spec"), "nodeName")
        over = text(mapping(value, "status"), "phase") in {"Succeeded", "Failed"}
        job = read_job(value)
        if not name or over or job is None:
            continue
        where = reading.home_of(name, value)
        if not where:
            continue  # a node outside the pools
        reading.nodes.setdefault(name, where)
        metadata = mapping(value, "metadata")
        uids = [text(o, "uid") for o in mappings(metadata, "ownerReferences")]
        jobset = mapping(metadata, "labels").get(JOBSET_LABEL)
        requests = request_of(job).pod_sets[0].requests
        reading.pods.append(
            _Pod(
                frozenset([*uids, text(metadata, "uid"), f"jobset/{jobset}"]),
                job.namespace,
                job.name,
                Pods(pool=where, requests=requests, node=name),
            )
        )


def _workloads(reading: _Reading, results: Sequence[Value]) -> None:
    """Read Kueue's workloads: quota, admission time, priority."""
    admitted: list[tuple[str, str, RunningJob]] = []
    for value in results:
        conditions = {text(c, "type"): c for c in mappings(mapping(value, "status"), "conditions")}
        if text(conditions.get("Finished", {}), "status") == "True":
            continue
        admission = mapping(value, "status", "admission")
        if not admission:
            reading.waiting += mapping(value, "spec").get("active") is not False
            continue
        job = _admitted(reading, value, admission)
        if job is not None:
            reserved = text(conditions.get("QuotaReserved", {}), "lastTransitionTime")
            admitted.append((reserved, text(mapping(value, "metadata"), "uid"), job))
    admitted.sort(key=lambda h: h[1], reverse=True)
    admitted.sort(key=lambda h: h[0])
    reading.jobs += [replace(job, since=n) for n, (_, _, job) in enumerate(admitted, start=1)]


def _admitted(reading: _Reading, value: Value, admission: Value) -> RunningJob | None:
    queue = text(admission, "clusterQueue")
    team = next((t for t in reading.plan.teams if t.cluster_queue == queue), None)
    metadata = mapping(value, "metadata")
    if team is None:
        reading.problems.append(
            f"workload {text(metadata, 'name')}: no team has the queue {queue or '(none)'}"
        )
        return None
    uses: dict[Key, int] = {}
    for assigned in mappings(admission, "podSetAssignments"):
        flavors, usage = mapping(assigned, "flavors"), mapping(assigned, "resourceUsage")
        for resource, flavor in flavors.items():
            pool, amount = reading.pool_of(str(flavor)), quantity(usage.get(resource))
            if pool is not None and amount:
                key = (pool.name, str(resource))
                uses[key] = uses.get(key, 0) + whole_units(str(resource), amount)
    owners = mappings(metadata, "ownerReferences")
    marks = {text(o, "uid") for o in owners}
    marks |= {f"jobset/{text(o, 'name')}" for o in owners if text(o, "kind") == "JobSet"}
    namespace = text(metadata, "namespace")
    mine = [p for p in reading.pods if p.owners & marks - {""} and p.namespace == namespace]
    reading.pods = [p for p in reading.pods if p not in mine]
    priority = mapping(value, "spec").get("priority")
    return RunningJob(
        name=text(owners[0], "name") if owners else text(metadata, "name"),
        team=team.name,
        namespace=namespace,
        uses=uses,
        pods=tuple(p.stands for p in mine),
        priority=priority if isinstance(priority, int) else 0,
    )


def _left_over(reading: _Reading, *, queued: bool) -> None:
    """Pods without a workload: with known workloads they use no quota, else that of their namespace."""
    teams = {s.name: t.name for t in reading.plan.teams for s in t.namespaces}
    together: dict[tuple[str, frozenset[str]], list[_Pod]] = {}
    for pod in reading.pods:
        together.setdefault((pod.namespace, pod.owners), []).append(pod)
    for (namespace, _), pods in together.items():
        uses: dict[Key, int] = {}
        team = None if queued else teams.get(namespace)
        for pod in pods if team else ():
            for resource, amount in requests_in_quota_units(
                reading.plan, pod.stands.requests
            ).items():
                key = (pod.stands.pool, resource)
                uses[key] = uses.get(key, 0) + amount
        reading.jobs.append(
            RunningJob(
                name=pods[0].name,
                team=team,
                namespace=namespace,
                uses=uses,
                pods=tuple(p.stands for p in pods),
            )
        )


def _row(reading: _Reading, row: Value, place: str) -> None:
    """Read one entry of the user's list."""
    problems: list[str] = []

    def take(key: str, default: Any, right: Callable[[Any], bool], allowed: str) -> Any:
        value = row.get(key, default)
        if right(value):
            return value
        problems.append(f"{place}: {key}: {value!r} is not {allowed}")
        return default

    def is_count(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_PODS

    pools = {p.name: p for p in reading.plan.pools}
    teams = [t.name for t in reading.plan.teams]
    team = take("team", None, lambda v: v in teams, f"one of {', '.join(teams) or 'no teams'}")
    pool = pools.get(take("pool", None, lambda v: v in list(pools), f"one of {', '.join(pools)}"))
    count = take("pods", 1, is_count, f"a number of pods from 0 to {_MAX_PODS}")
    nodes = take("nodes", [], _is_names, "a list of node names")
    name = take("name", f"{team}'s job", lambda v: isinstance(v, str), "a name")
    priority = take("priority", 0, lambda v: isinstance(v, int), "a whole number")
    problems += [
        f"{place}: {k!r} is not a known key; an entry looks like {ROW}"
        for k in row
        if k not in _ROW_KEYS
    ]
    requests = _per_pod(row, pool, place, problems)
    if problems or pool is None:
        reading.problems += problems
        return
    uses = {
        (pool.name, r): n * count
        for r, n in requests_in_quota_units(reading.plan, requests).items()
    }
    reading.nodes.update(dict.fromkeys(nodes, pool.name))
    places = [nodes[i % len(nodes)] for i in range(count)] if nodes else []
    pods = [Pods(pool=pool.name, requests=requests, node=n) for n in places]
    if not places:
        pods = [Pods(pool=pool.name, requests=requests, count=count)]
    reading.jobs.append(
        RunningJob(
            name=name,
            team=team,
            uses=uses,
            pods=tuple(pods),
            priority=priority,
            since=len(reading.jobs) + 1,
        )
    )


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) and v for v in value)


def _per_pod(row: Value, pool: PoolPlan | None, place: str, problems: list[str]) -> dict[str, int]:
    """`gpus: 8` means whole GPUs; other resources are written by name."""
    amounts = {**mapping(row, "per_pod")}
    if "gpus" in row:
        amounts[names.GPU] = row["gpus"]
    requests: dict[str, int] = {}
    for resource, value in amounts.items():
        amount = quantity(value)
        if amount is None or amount < 0 or not isinstance(resource, str):
            problems.append(f"{place}: {resource}: {value!r} is not a Kubernetes quantity")
        else:
            requests[resource] = whole_units(resource, amount)
    has = [a.resource for a in pool.advertised] if pool else []
    if pool is not None:
        problems += [
            f"{place}: nodes of {pool.name} have no {resource}, only {', '.join(has)}"
            for resource in requests_with_quota(requests)
            if resource not in has
        ]
    if not amounts:
        problems.append(f"{place}: gpus or per_pod sets the devices of each pod, as in {ROW}")
    return requests


def _manifests(reading: _Reading, results: Sequence[Value]) -> None:
    """Submit the jobs of manifests in the order of the file."""
    jobs = [job for value in results if (job := read_job(value)) is not None]
    if not jobs:
        return
    desk = SchedulerModel(reading.plan, reading.state)
    teams = {s.name: t for t in reading.plan.teams for s in t.namespaces}
    for job in jobs:
        if job.namespace not in teams:
            reading.problems.append(
                f"{job.kind} {job.name}: metadata.namespace {job.namespace or '(none)'} belongs to no team;"
                f" team namespaces are {', '.join(teams)}"
            )
        elif not submit(desk, job, teams[job.namespace]):
            reading.waiting += 1
    reading.jobs = desk.jobs
