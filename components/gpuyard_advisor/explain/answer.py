"""The explanation of one job: the decision, and what would change it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

from gpuyard.plan.pools.topology import uses_rdma_device_plugin
from gpuyard.plan.queueing.kueue import integrated_kinds
from gpuyard.plan.queueing.queueing_checks import teams_with_compared_queues
from gpuyard.plan.queueing.volcano import uses_volcano
from gpuyard.plan.records import PlatformPlan, PoolPlan, TeamPlan, usable_pools
from gpuyard.plan.sharing.gke_sharing import single_request_resources
from gpuyard.render.admission.team_parameters import enforcement, parameters_of
from gpuyard.render.workloads.runtimes import JOBSET_API, LAUNCHER, runtime_jobs
from gpuyard.spec.sections import Enforce
from gpuyard_advisor.explain.changes import (
    suggest_changes,
    suggest_pinned_pool,
    suggest_team_namespace,
)
from gpuyard_advisor.explain.decision import evaluate_job
from gpuyard_advisor.explain.messages import cautions, namespace, policy, queue
from gpuyard_advisor.explain.outcome import JobOutcome, impossible
from gpuyard_advisor.explain.records import Explanation, JobChange, Verdict
from gpuyard_advisor.explain.workload import admit
from gpuyard_advisor.scheduler.flavors import requests_with_quota
from gpuyard_advisor.scheduler.model import EMPTY, PlatformState, SchedulerModel
from gpuyard_advisor.scheduler.nodes import (
    knows_amount_per_node,
    missing_resources,
    planned_node_resources,
)
from gpuyard_advisor.scheduler.requests import PodSet, Request, request_of
from gpuyard_advisor.workloads import ParsedWorkload, read_job
from gpuyard_core import names
from gpuyard_core.admission.requirement import Workload
from gpuyard_core.admission.requirements import QUEUED, denials
from gpuyard_core.catalogue.kubernetes.api import changes_jobs
from gpuyard_core.errors import UsageError
from gpuyard_core.manifests.fields import is_true, mapping, mappings, text
from gpuyard_core.manifests.pods import Pod
from gpuyard_core.names import EFA, GPU, RDMA

BUILT_IN_PRIORITIES = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
"""Priority classes that every cluster has
(https://kubernetes.io/docs/tasks/administer-cluster/guaranteed-scheduling-critical-addon-pods/)."""


def explain(
    plan: PlatformPlan, job: ParsedWorkload, state: PlatformState = EMPTY, team: str | None = None
) -> Explanation:
    """Explain whether a job starts now; by default on an empty platform.

    Raises:
        UsageError: the platform does not use Kueue.
    """
    if uses_volcano(plan.spec):
        raise UsageError(
            f"platform {plan.name} uses Volcano, and gpuyard models only Kueue's admission and preemption; "
            "`kubectl describe podgroup` shows why Volcano does not start a job"
        )
    job = _with_runtime(plan, job)
    home = team_of(plan, job.namespace, team)
    here = home.namespace_or_default(job.namespace).limits if home else None
    request = without_unknown_resources(
        plan, request_of(job, here, _shared(plan, home), integrated_kinds(plan.spec))
    )
    desk = SchedulerModel(plan, state)
    priority, remarks = _priority(plan, request, home)
    policy = PolicyResult() if request.rejection else evaluate_policy(plan, home, job)
    remarks = (*remarks, *policy.cautions)
    if policy.outcome is not None and not policy.requires_queue:
        return _record(desk, request, home, _with_cautions(policy.outcome, remarks))
    outcome = policy.outcome or evaluate_job(desk, home, request, priority)

    def starts(changed: Request) -> bool:
        return evaluate_job(desk, home, changed, priority).verdict is Verdict.STARTS

    def could_start(changed: Request) -> bool:
        return (
            evaluate_job(desk.with_all_capacity(), home, changed, priority).verdict
            is Verdict.STARTS
        )

    def starts_for(other: TeamPlan) -> bool:
        moved = replace(job, namespace=other.default_namespace.name)
        moved_request = request_of(
            moved,
            other.default_namespace.limits,
            _shared(plan, other),
            integrated_kinds(plan.spec),
        )
        return evaluate_job(desk, other, moved_request, priority).verdict is Verdict.STARTS

    remarks = (*remarks, *fabric_cautions(plan, job, request, outcome))
    changes: tuple[JobChange, ...] = ()
    if outcome.verdict is Verdict.NEVER:
        changes = suggest_changes(plan, home, request, starts)
        if home is None:
            changes = changes or suggest_team_namespace(plan, starts_for)
        if not changes and not desk.is_empty:
            changes = suggest_changes(plan, home, request, could_start)
    elif outcome.verdict is Verdict.WAITS and home is not None:
        changes = suggest_pinned_pool(plan, home, request, starts)
    return _record(desk, request, home, _with_cautions(outcome, remarks), changes)


def without_unknown_resources(plan: PlatformPlan, request: Request) -> Request:
    """The request without resources whose availability is unknown; a caution reports them."""
    requested = {r for pods in request.pod_sets for r, n in pods.requests.items() if n}
    unknown = sorted(r for r in requested if not knows_amount_per_node(plan, r))
    if not unknown:
        return request
    sets = tuple(
        replace(pods, requests={r: n for r, n in pods.requests.items() if r not in unknown})
        for pods in request.pod_sets
    )
    return replace(
        request,
        pod_sets=sets,
        cautions=(*request.cautions, cautions.node_resources_unknown(unknown)),
    )


def team_of(plan: PlatformPlan, namespace: str, team: str | None) -> TeamPlan | None:
    """The team of the namespace; without a namespace, the named team."""
    if namespace:
        return next((t for t in plan.teams if namespace in {s.name for s in t.namespaces}), None)
    return plan.team(team) if team is not None else None


def _shared(plan: PlatformPlan, team: TeamPlan | None) -> frozenset[str]:
    """Resource names of shares that look like whole GPUs, in the pools of the team."""
    pools = usable_pools(team.quotas) if team else ()
    return single_request_resources(plan.pool(name) for name in pools)


def submit(desk: SchedulerModel, job: ParsedWorkload, team: TeamPlan) -> bool:
    """Submit a team's job to the scheduler model; returns whether it started."""
    job = _with_runtime(desk.plan, job)
    limits = team.namespace_or_default(job.namespace).limits
    request = without_unknown_resources(
        desk.plan,
        request_of(job, limits, _shared(desk.plan, team), integrated_kinds(desk.plan.spec)),
    )
    if evaluate_policy(desk.plan, team, job).outcome is not None:
        return False
    priority, _ = _priority(desk.plan, request, team)
    outcome = evaluate_job(desk, team, request, priority)
    if outcome.verdict is not Verdict.STARTS or outcome.preempts:
        return False
    admit(desk, team.name, request, outcome, priority)
    return True


def _priority(
    plan: PlatformPlan, request: Request, team: TeamPlan | None
) -> tuple[int, tuple[str, ...]]:
    """The job's priority value in Kueue, and a caution when it is unknown."""
    ours = {p.name: p.value for p in plan.queueing.priorities}
    value = team.priority if team is not None and changes_jobs(plan.kubernetes) else None
    if request.priority_label or value:
        known, name = ours, request.priority_label or str(value)
    else:
        known, name = BUILT_IN_PRIORITIES, request.priority_class
    if name in known:
        return known[name], ()
    if name:
        return 0, (cautions.unknown_priority(name),)
    if team is not None and team.priority is not None:
        return 0, (cautions.priority_by_label_only(team),)
    return 0, ()


def _use(desk: SchedulerModel, team: TeamPlan | None, outcome: JobOutcome) -> tuple[str, ...]:
    """Cautions where usage of a team's queues decides the order of admission and preemption."""
    counted = [t.name for t in teams_with_compared_queues(desk.plan)]
    evicted = {p.team for p in outcome.preempts}
    messages: list[str] = []
    if team is not None and team.name in counted and (desk.state.waiting or team.name in evicted):
        messages.append(cautions.queue_usage_orders_admission(team.name))
    return (
        *messages,
        *(cautions.queue_usage_orders_eviction(name) for name in counted if name in evicted),
    )


def _with_cautions(outcome: JobOutcome, cautions: tuple[str, ...]) -> JobOutcome:
    """The outcome with additional cautions."""
    return replace(outcome, cautions=(*outcome.cautions, *cautions))


def _stack_change(
    desk: SchedulerModel, request: Request, team: TeamPlan | None, outcome: JobOutcome
) -> str:
    """The sufficient change of the stack file; "" when no quota is missing."""
    if team is None:
        return ""
    if outcome.excess is not None:
        return namespace.raise_team_limit(desk.plan, team, *outcome.excess)
    if outcome.verdict is not Verdict.NEVER or outcome.assignment is None:
        return ""
    pools = {pool for pool, _ in outcome.assignment.uses}
    if not _has_nodes_for(desk.plan, request, pools):
        return ""
    return queue.stack_change(desk.plan, desk, team, outcome.assignment)


def _has_nodes_for(plan: PlatformPlan, request: Request, named: AbstractSet[str]) -> bool:
    """Whether a node of these pools, or of any, is large enough for each pod; otherwise quota does not help."""
    nodes = [planned_node_resources(plan, p) for p in plan.pools if p.name in named or not named]
    with_gpus = (pods for pods in request.pod_sets if requests_with_quota(pods.requests))
    return all(any(not _larger(plan, pods.requests, node) for node in nodes) for pods in with_gpus)


def _larger(plan: PlatformPlan, requests: Mapping[str, int], node: Mapping[str, int]) -> list[str]:
    return [name for name in missing_resources(node, requests) if knows_amount_per_node(plan, name)]


def _record(
    desk: SchedulerModel,
    request: Request,
    team: TeamPlan | None,
    outcome: JobOutcome,
    changes: tuple[JobChange, ...] = (),
) -> Explanation:
    asks: Counter[str] = Counter()
    for pods in request.pod_sets:
        asks.update(
            {r: n * pods.count for r, n in pods.requests.items() if r not in pods.unset_requests}
        )
    queue_cautions = (
        (cautions.pending_jobs_ahead(desk.state.waiting),) if desk.state.waiting else ()
    )
    waiting = (*queue_cautions, *_use(desk, team, outcome))
    local_queue = request.queue_label or names.LOCAL_QUEUE
    queued = team is not None and local_queue in team.queues
    return Explanation(
        kind=request.kind,
        name=request.name,
        team=team.name if team else None,
        namespace=request.namespace or (team.default_namespace.name if team else ""),
        queue=local_queue if queued else None,
        verdict=outcome.verdict,
        message=outcome.message,
        admitted=outcome.admitted,
        pools=outcome.pools,
        requests={r: n for r, n in sorted(asks.items()) if n},
        pods=sum(p.count for p in request.pod_sets),
        pods_started=outcome.pods_started,
        nodes=outcome.nodes,
        nodes_to_start=outcome.nodes_to_start,
        conditions=outcome.conditions,
        meanwhile=outcome.waiting_meanwhile,
        preempts=outcome.preempts,
        reasons=outcome.reasons,
        cautions=(*request.cautions, *outcome.cautions, *waiting),
        changes=changes,
        stack_change=_stack_change(desk, request, team, outcome),
    )


_SEVERAL = 2
_ADAPTERS = "/dev/infiniband"
_DEVICES = frozenset({"/dev", _ADAPTERS})


def fabric_cautions(
    plan: PlatformPlan, job: ParsedWorkload, request: Request, outcome: JobOutcome
) -> Iterator[str]:
    """For each possible pool: whether the pods request the network adapter of the fabric.

    Only for pods with every GPU of their node: smaller pods may not communicate.
    """
    if outcome.verdict is Verdict.NEVER or not request.is_gang:
        return
    by_host = [_has_the_hosts_devices(pod.spec) for pod in job.pods]
    for pool in map(plan.pool, outcome.pools):
        adapter, per_pod = _adapter(plan, pool)
        large = [
            (pods, host)
            for pods, host in zip(request.pod_sets, by_host, strict=True)
            if _takes_a_node(pods, pool)
        ]
        if not adapter or sum(pods.count for pods, _ in large) < _SEVERAL:
            continue
        without = (p for p, host in large if not host and not p.requests.get(adapter))
        if lacking := sum(pods.count for pods in without):
            yield cautions.pods_without_fabric_adapter(pool.name, lacking, adapter, per_pod)


def _adapter(plan: PlatformPlan, pool: PoolPlan) -> tuple[str, int]:
    """The resource and count that a pod requests for the pool's fabric; "" when none is needed."""
    if plan.provider.network_interfaces(pool.machine):
        return EFA, pool.machine.efa_interfaces
    return (RDMA, 1) if uses_rdma_device_plugin(pool.fabric) else ("", 0)


def _takes_a_node(pods: PodSet, pool: PoolPlan) -> bool:
    gpus_per_node = next((a.per_node for a in pool.advertised if a.resource == GPU), None)
    return gpus_per_node is not None and pods.requests.get(GPU) == gpus_per_node


def _has_the_hosts_devices(spec: Mapping[Any, Any]) -> bool:
    """Whether it accesses the adapters of the host without a request."""
    containers = mappings(spec, "containers")
    paths = (text(each, "hostPath", "path").rstrip("/") for each in mappings(spec, "volumes"))
    privileged = any(is_true(mapping(c, "securityContext").get("privileged")) for c in containers)
    return privileged or any(path in _DEVICES or path.startswith(f"{_ADAPTERS}/") for path in paths)


@dataclass(frozen=True, slots=True)
class PolicyResult:
    """The result of the policy for a job."""

    outcome: JobOutcome | None = None
    """NEVER when the policy rejects the job."""
    cautions: tuple[str, ...] = ()
    requires_queue: bool = False
    """Whether only a queue label is missing."""


def evaluate_policy(plan: PlatformPlan, team: TeamPlan | None, job: ParsedWorkload) -> PolicyResult:
    """Evaluate the policy; it does not apply to jobs outside of teams."""
    results = list(denials(_workload(job), parameters_of(plan, team))) if team else []
    if not results:
        return PolicyResult()
    violations = [each.summary for each in results]
    if (how := enforcement(plan)) is not Enforce.DENY:
        return PolicyResult(cautions=(policy.allowed_with_violations(violations, how),))
    wants_queue = {each.id for each in results} == {QUEUED.id}
    return PolicyResult(
        outcome=impossible(policy.rejected_by_policy(violations)), requires_queue=wants_queue
    )


def _workload(job: ParsedWorkload) -> Workload:
    labels: Mapping[str, Mapping[str, str]] = {"labels": job.own_labels}
    pods = (
        Pod((), labels if job.kind == "Pod" else {"labels": p.labels}, p.spec) for p in job.pods
    )
    return Workload(job.kind, labels, tuple(pods), jobs_metadata=labels, body=job.body)


def _with_runtime(plan: PlatformPlan, job: ParsedWorkload) -> ParsedWorkload:
    """A TrainJob with the pods of its runtime, if that is one of the platform's; any other job unchanged."""
    runtime = next((each for each in plan.runtimes if each.name == job.runtime), None)
    if job.kind != "TrainJob" or runtime is None or not job.pods:
        return job
    trainer = job.pods[0]
    nodes, jobs = trainer.count, list(runtime_jobs(plan, runtime))
    for each in jobs:
        spec = each["template"]["spec"]
        # the launcher is the first node
        count = 1 if each["name"] == LAUNCHER else nodes - len(jobs) + 1
        spec |= {"parallelism": count, "completions": count}
        container = spec["template"]["spec"]["containers"][0]
        for one in mappings(trainer.spec, "containers"):
            container |= {key: one[key] for key in ("image", "command", "args") if one.get(key)}
            container["resources"] = one.get("resources") or container["resources"]
    whole = {"apiVersion": JOBSET_API, "kind": "JobSet", "spec": {"replicatedJobs": jobs}}
    read = read_job({**whole, "metadata": {"name": job.name}})
    pods = read.pods if read else ()
    return replace(job, pods=tuple(replace(each, path=trainer.path) for each in pods if each.count))
