"""Replicas: pods that queue separately, of which some may start.

The first that does not start has the reason for the rest.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from gpuyard.plan.records import TeamPlan
from gpuyard_advisor.explain.messages import cautions, nodes
from gpuyard_advisor.explain.namespace import excess, quota_violation
from gpuyard_advisor.explain.outcome import JobOutcome
from gpuyard_advisor.explain.records import Preempted, Verdict
from gpuyard_advisor.explain.workload import admit, dispatched_elsewhere, evaluate_workload
from gpuyard_advisor.scheduler.flavors import ConsideredPool
from gpuyard_advisor.scheduler.model import SchedulerModel
from gpuyard_advisor.scheduler.requests import PodSet, Request

MAX_REPLICAS = 1000
"""Maximum number of replicas that are simulated."""


def simulate_replicas(
    desk: SchedulerModel, team: TeamPlan, request: Request, priority: int
) -> JobOutcome:
    """Simulate each pod as a workload of its own, until one does not start."""
    home = team.namespace_or_default(request.namespace)
    here = SchedulerModel(desk.plan, desk.state)
    trial = _Trial()
    tried = 0
    running: list[tuple[Mapping[str, int], int]] = []
    for pod_sets, most in _workloads_of(request):
        size = sum(pods.count for pods in pod_sets)
        number = 0
        for number in range(1, min(most, MAX_REPLICAS - tried) + 1):
            requested = ((pods.requests, pods.count * number) for pods in pod_sets)
            full = excess(desk, team, home, (*running, *requested))
            result = (
                quota_violation(team, home, full)
                if full
                else evaluate_workload(here, team, pod_sets, priority)
            )
            trial.note(result, size)
            if not result.admitted:
                break  # the same holds for every equal pod
            here = here.without_jobs(result.preempted) if result.preempted else here
            started = result.verdict is Verdict.STARTS
            # a pod without a node still uses its quota
            admit(
                here,
                team.name,
                request,
                result if started else replace(result, free_capacity=here.rooms),
                priority,
            )
        tried += number
        running += ((pods.requests, pods.count * number) for pods in pod_sets)
    in_all = sum(p.count for p in request.pod_sets)
    if tried == MAX_REPLICAS < (request.groups or in_all):
        trial.cautions.append(cautions.many_replicas(MAX_REPLICAS))
    if trial.first is None:
        return _all_run(desk, here, trial)
    first, started_pods = trial.first, trial.started
    at_most = started_pods if desk.is_empty else _at_most(desk, team, request, priority)
    if started_pods and at_most < in_all:
        first = replace(first, verdict=Verdict.NEVER, conditions=(), waiting_meanwhile="")
    message = nodes.only_some_pods_start(first.message, started_pods, in_all)
    return replace(
        first, message=message, pods_started=started_pods, preempts=tuple(trial.preempts)
    )


def _workloads_of(request: Request) -> Iterator[tuple[tuple[PodSet, ...], int]]:
    """The workloads and their number: a pod, or a leader with its workers."""
    if request.groups:
        parts = (replace(p, count=p.count // request.groups) for p in request.pod_sets)
        yield tuple(parts), request.groups
        return
    for pods in request.pod_sets:
        yield (replace(pods, count=1),), pods.count


@dataclass(slots=True)
class _Trial:
    """The result of the simulated replicas."""

    started: int = 0
    first: JobOutcome | None = None
    """The outcome of the first that did not start."""
    preempts: list[Preempted] = field(default_factory=list[Preempted])
    cautions: list[str] = field(default_factory=list[str])

    def note(self, result: JobOutcome, pods: int) -> None:
        """Record the outcome of one workload with this number of pods."""
        self.cautions += result.cautions
        if result.verdict is Verdict.STARTS:
            self.started += pods
        elif self.first is None:
            self.first = result
        if result.admitted:
            self.preempts += result.preempts


def _at_most(desk: SchedulerModel, team: TeamPlan, request: Request, priority: int) -> int:
    """How many of the pods start on an empty platform."""
    return simulate_replicas(desk.with_all_capacity(), team, request, priority).pods_started


def _all_run(desk: SchedulerModel, here: SchedulerModel, trial: _Trial) -> JobOutcome:
    """The outcome when all pods run, with their nodes and pools."""
    if dispatch_plan := desk.plan.queueing.dispatch:
        uses = (key for job in here.jobs[len(desk.jobs) :] for key in job.uses)
        return replace(
            dispatched_elsewhere(here, dispatch_plan, ()),
            admitted=True,
            pools=tuple(dict.fromkeys(pool for pool, _ in uses)),
            pods_started=trial.started,
            preempts=tuple(trial.preempts),
        )
    counts = {p: sum(n.count for n in free if n.placed_pod_sets) for p, free in here.rooms.items()}
    more = {p: here.running_nodes(p) - desk.running_nodes(p) for p in here.rooms}
    to_start = {p: n for p, n in more.items() if n > 0}
    pools = tuple(p for p, n in counts.items() if n)
    return JobOutcome(
        verdict=Verdict.STARTS,
        admitted=True,
        message=nodes.where_job_starts(pools, sum(counts.values()), to_start, trial.started),
        pools=pools,
        pods_started=trial.started,
        nodes=sum(counts.values()),
        nodes_to_start=to_start,
        conditions=nodes.after_nodes_have_started(desk, to_start),
        preempts=tuple(trial.preempts),
        cautions=tuple(dict.fromkeys(trial.cautions)),
        free_capacity=here.rooms,
        reasons=tuple(
            ConsideredPool(p, is_chosen=True, reason=nodes.format_node_count(counts[p]))
            for p in pools
        ),
    )
