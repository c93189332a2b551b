"""Scheduling: queues, quotas, priorities, slices, taints, and pending workloads."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction

from gpuyard.plan.records import PoolPlan
from gpuyard.plan.sharing.gke_sharing import partition_of
from gpuyard_advisor.readiness.evidence import (
    Observation,
    failing,
    not_applicable,
    observe,
    passing,
    unknown,
)
from gpuyard_advisor.readiness.inputs import (
    ClusterCheck,
    ClusterObjects,
    K8sObject,
    Subject,
    at,
    by_namespace,
    by_node,
    is_true,
    listed,
    missing_object,
    name_of,
    not_applicable_without_teams,
    place_of,
    planned_objects,
)
from gpuyard_core.catalogue.gke.sharing import PARTITION_LABEL
from gpuyard_core.manifests.quantities import quantity
from gpuyard_core.names import MIG_CONFIG_LABEL, MIG_STATE_LABEL, admission_name

_LEVELS = 3
"""Production, research and batch, under any name."""
_NEVER = ("Inadmissible", "Misconfigured")
"""Kueue's reasons for workloads that only a change can admit (v0.19.2 pkg/controller/core)."""
_TOO_LARGE = "maximum capacity"
"""Kueue's message for a request above the queue's maximum capacity (flavorassigner.go)."""
_ALWAYS_LIMITED = ("requests.cpu", "requests.memory", "requests.storage", "persistentvolumeclaims")


# ── queues ────────────────────────────────────────────────────────────────────────────────────────
def _engine(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    yield from not_applicable_without_teams(subject)
    yield from _active(subject, cluster)
    admitted = sum(is_true(each, "Admitted") for each in cluster.all("Workload"))
    if admitted:
        yield passing("workloads", f"{admitted} admitted")
    else:
        yield unknown("no workload was admitted yet: submit a job", "workloads")


def _active(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    for where, queue in planned_objects(subject, cluster, "ClusterQueue"):
        if queue is None:
            yield missing_object(where)
        else:
            state = "active" if is_true(queue, "Active") else "not active"
            yield observe(
                where, state, "" if state == "active" else "Kueue does not admit jobs from it"
            )


def _quotas(subject: Subject, objects: ClusterObjects) -> Iterator[Observation]:
    """For rendered and for live queues."""
    yield from not_applicable_without_teams(subject)
    sums: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for where, queue in planned_objects(subject, objects, "ClusterQueue"):
        if queue is None:
            yield missing_object(where)
            continue
        entries = _entries(queue)
        for flavor, each in entries:
            sums[flavor, str(at(each, "name"))] += quantity(at(each, "nominalQuota")) or 0
        yield _limited(queue, entries)
    for (flavor, resource), amount in sorted(sums.items()):
        most = _capacity(subject, flavor, resource)
        wrong = f"its nodes have at most {most}" if amount > most else ""
        yield observe(f"sum of {resource} in {flavor}", f"{float(amount):g} of {most}", wrong)


def _entries(queue: K8sObject) -> list[tuple[str, K8sObject]]:
    groups = listed(queue, "spec", "resourceGroups")
    flavors = [flavor for group in groups for flavor in listed(group, "flavors")]
    return [(str(at(f, "name")), each) for f in flavors for each in listed(f, "resources")]


def _limited(queue: K8sObject, entries: list[tuple[str, K8sObject]]) -> Observation:
    """Borrowing must have a limit; lending must have a limit or reclaim."""
    reclaims = at(queue, "spec", "preemption", "reclaimWithinCohort") not in {None, "Never"}
    open_ended = [f for f, each in entries if at(each, "borrowingLimit") is None]
    unlimited = [f for f, each in entries if not reclaims and at(each, "lendingLimit") is None]
    value = f"{len(entries)} quotas, {'reclaims' if reclaims else 'no reclaim'}"
    if open_ended:
        wrong = f"no borrowing limit in {', '.join(sorted(set(open_ended)))}"
    elif unlimited:
        wrong = f"no lending limit in {', '.join(sorted(set(unlimited)))}, and reclaim is off"
    else:
        wrong = ""
    return observe(place_of(queue), value, wrong)


def _capacity(subject: Subject, flavor: str, resource: str) -> int:
    pools = [pool for pool in subject.plan.pools if pool.flavor == flavor]
    return sum(
        each.per_node * pool.nodes.high
        for pool in pools
        for each in pool.counted_resources
        if each.resource == resource
    )


def _queues_there(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    yield from _active(subject, cluster)
    yield from _quotas(subject, cluster)


def _priorities(subject: Subject, objects: ClusterObjects) -> Iterator[Observation]:
    yield from not_applicable_without_teams(subject)
    expected = {each.name: each.value for each in subject.plan.queueing.priorities}
    results = {name_of(c): at(c, "value") for c in objects.all("WorkloadPriorityClass")}
    levels = len(subject.plan.spec.priorities)
    if levels < _LEVELS:
        yield failing("plan.queueing.priorities", levels, f"fewer than {_LEVELS} priority classes")
    for name, value in expected.items():
        is_so = results.get(name)
        wrong = "" if is_so == value else f"the plan expects {value}"
        yield observe(f"WorkloadPriorityClass {name}", "none" if is_so is None else is_so, wrong)
    team_priorities = {team.priority for team in subject.plan.teams} - {None}
    wrong = "" if team_priorities else "no team sets one: jobs without a class have equal priority"
    yield observe("plan.teams[].priority", len(team_priorities), wrong)


def _waiting(_: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    waiting = 0
    for each in cluster.all("Workload"):
        states = listed(each, "status", "conditions")
        condition = next((c for c in states if at(c, "type") == "QuotaReserved"), None)
        if at(condition, "status") != "False":
            continue
        waiting += 1
        message = str(at(condition, "message") or "")
        if at(condition, "reason") in _NEVER or _TOO_LARGE in message:
            yield failing(place_of(each), message, "it can never be admitted")
    yield passing("workloads", f"{waiting} pending")


# ── nodes ─────────────────────────────────────────────────────────────────────────────────────────
def _layouts(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    cut = [pool for pool in subject.plan.pools if pool.layouts]
    if not cut:
        yield not_applicable("no pool uses MIG")
    for pool in cut:
        placed = {f"{s.profile}@{s.start}" for layout in pool.layouts for s in layout.placement}
        yield passing(f"plan.pools.{pool.name}.layouts", ", ".join(sorted(placed)))


def _mig_layouts(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    def judge(pool: PoolPlan, node: K8sObject) -> tuple[str, str]:
        labels = at(node, "metadata", "labels")
        cut, state = at(labels, MIG_CONFIG_LABEL), at(labels, MIG_STATE_LABEL)
        value = f"{cut or 'no layout'}, {state or 'no state'}"
        if cut != pool.mig_config:
            return value, f"the plan expects {pool.mig_config}"
        return value, "" if state == "success" else "the MIG manager has not finished"

    def judge_gke(pool: PoolPlan, node: K8sObject) -> tuple[str, str]:
        size, expected = at(node, "metadata", "labels", PARTITION_LABEL), partition_of(pool)
        return size or "not partitioned", "" if size == expected else f"the plan expects {expected}"

    pools = subject.plan.pools
    yield from by_node([pool for pool in pools if pool.mig_config], cluster, judge)
    yield from by_node([pool for pool in pools if partition_of(pool)], cluster, judge_gke)


def _taints(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    for pool in subject.plan.pools:
        value = ", ".join(map(str, pool.taints)) or "none"
        wrong = "" if pool.taints else "any pod may use its capacity"
        yield observe(f"plan.pools.{pool.name}.taints", value, wrong)
    name = admission_name(subject.plan.name)
    if subject.plan.teams:
        yield passing(f"ValidatingAdmissionPolicy {name}", "checks tolerations of team pods")


def _taints_of_nodes(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    def judge(pool: PoolPlan, node: K8sObject) -> tuple[str, str]:
        keys = {str(at(taint, "key")) for taint in listed(node, "spec", "taints")}
        lack = sorted({taint.key for taint in pool.taints} - keys)
        value = ", ".join(sorted(keys)) or "none"
        return value, f"{', '.join(lack)} is missing" if lack else ""

    yield from by_node(subject.plan.pools, cluster, judge)


def _limits(subject: Subject, objects: ClusterObjects) -> Iterator[Observation]:
    """For rendered and for live quotas."""
    yield from not_applicable_without_teams(subject)
    names = {a.resource for pool in subject.plan.pools for a in pool.advertised}
    expected = {*_ALWAYS_LIMITED, *(f"requests.{name}" for name in names)}
    for _, space, result in by_namespace(subject, objects, "ResourceQuota"):
        hard = {key for each in result for key in at(each, "spec", "hard") or ()}
        lack = sorted(expected - hard)
        wrong = f"no limit of {', '.join(lack)}" if lack else ""
        yield observe(f"ResourceQuota in {space}", f"{len(hard)} limits", wrong)


def _topologies(subject: Subject, objects: ClusterObjects) -> Iterator[Observation]:
    if not subject.wide_pools:
        yield not_applicable("no shape needs several nodes")
    results = {name_of(f): at(f, "spec", "topologyName") for f in objects.all("ResourceFlavor")}
    for pool in subject.wide_pools:
        value = results.get(pool.flavor)
        wrong = "" if value else "its pods are placed without topology"
        yield observe(f"ResourceFlavor {pool.flavor}", value or "no topology", wrong)


PLANNED: Mapping[str, ClusterCheck] = {
    "SCH-02": _quotas,
    "SCH-03": _priorities,
    "SCH-04": _layouts,
    "SCH-05": _taints,
    "SCH-06": _limits,
    "SCH-08": _topologies,
}
LIVE: Mapping[str, ClusterCheck] = {
    "SCH-01": _engine,
    "SCH-02": _queues_there,
    "SCH-03": _priorities,
    "SCH-04": _mig_layouts,
    "SCH-05": _taints_of_nodes,
    "SCH-06": _limits,
    "SCH-07": _waiting,
    "SCH-08": _topologies,
}
