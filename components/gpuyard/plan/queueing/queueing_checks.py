"""Checks of queueing: queues of a team, weights, and the time in which a job must start."""

from collections.abc import Iterable, Iterator
from typing import Literal

from gpuyard.plan.draft import Draft
from gpuyard.plan.queueing.kueue import START_MINUTES, start_minutes
from gpuyard.plan.queueing.priorities import WITHOUT
from gpuyard.plan.quotas.cohorts import read_tree
from gpuyard.plan.records import PlatformPlan, PoolPlan, TeamPlan
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import Scaling
from gpuyard.spec.queueing import Preemption
from gpuyard.spec.sections import PoolStopPolicy
from gpuyard.spec.teams import StopPolicy, Team
from gpuyard_core.catalogue.kubernetes.autoscalers import NODE_MINUTES
from gpuyard_core.findings import Diagnostic, Fix, Path, format_list, warning
from gpuyard_core.names import LOCAL_QUEUE

HALF_LIFE_HOURS = 168
"""The half-life that a fix suggests: usage of a week ago counts half."""


def default_queue_name(queues: dict[str, float]) -> str:
    """The queue of jobs that name none: `default`, else the first."""
    return LOCAL_QUEUE if LOCAL_QUEUE in queues else next(iter(queues))


def check_waiting(draft: Draft) -> Iterator[Diagnostic]:
    """Weights without effect, jobs that are in no queue, and a start time too short for a node to start."""
    spec = draft.spec
    for index, team in enumerate(spec.teams):
        path: Path = ("teams", index, "weight")
        if team.weight == 1:
            continue
        if not spec.queueing.fair_sharing:
            yield _unused(path, team.weight, _FAIR_OFF, _FAIR_ON)
        elif not any(team.borrow.values()):
            why = f"it divides borrowed capacity, and {team.name} may not borrow"
            fix = Fix(message="remove it, or add borrow", at=path)
            yield _unused(path, team.weight, why, fix)
    yield from _check_cohort_weights(spec)
    yield from _check_queues(spec)
    yield from _check_usage(spec)
    yield from _check_start(spec, draft.valid_pools.values())


def _unused(path: Path, weight: float, why: str, fix: Fix) -> Diagnostic:
    problem = f"the weight has no effect: {why}"
    return warning("weight.unused", path, problem, given=str(weight), fix=fix)


_FAIR_OFF = "fair_sharing is off, so jobs borrow in order of arrival"
_FAIR_ON = Fix(message="write fair_sharing: true", at=("queueing", "fair_sharing"), value=True)


def _check_cohort_weights(spec: PlatformSpec) -> Iterator[Diagnostic]:
    tree = read_tree(spec)
    borrowers = {
        node
        for home, team in zip(tree.cohort_by_team, spec.teams, strict=True)
        if any(team.borrow.values())
        for node in tree.self_and_ancestors(home)
    }
    for index, cohort in enumerate(spec.queueing.cohorts):
        path: Path = ("queueing", "cohorts", index, "weight")
        if cohort.weight == 1:
            continue
        if not spec.queueing.fair_sharing:
            yield _unused(path, cohort.weight, _FAIR_OFF, _FAIR_ON)
        elif index not in borrowers or (
            cohort.borrow is not None and not any(cohort.borrow.values())
        ):
            why = f"it divides borrowed capacity, and {cohort.name} may not borrow"
            fix = Fix(message="remove it, or let a team of the cohort borrow", at=path)
            yield _unused(path, cohort.weight, why, fix)


def _check_queues(spec: PlatformSpec) -> Iterator[Diagnostic]:
    """Teams without a default queue, and weights of queues without effect."""
    for index, team in enumerate(spec.teams):
        path: Path = ("teams", index, "queues")
        if LOCAL_QUEUE not in team.queues:
            yield warning(
                "queue.no_default",
                path,
                f"{team.name} has no queue with the name {LOCAL_QUEUE}: a job without a queue label is"
                " in no queue and gets no quota",
                given=format_list(team.queues),
                allowed=f"a queue named {LOCAL_QUEUE}, or a queue label on every job",
                fix=Fix(
                    message=f"add {LOCAL_QUEUE}: 1",
                    at=path,
                    value={LOCAL_QUEUE: 1.0, **team.queues},
                ),
            )
        for name, weight in team.queues.items():
            why, fix = "", Fix(message="write 1", at=(*path, name), value=1.0)
            if spec.queueing.usage_half_life_hours is None:
                why = "without usage_half_life_hours Kueue does not measure the usage of queues"
                fix = fix if _evicting(spec) else _counting(spec)
            elif len(team.queues) == 1:
                why = f"it divides the usage of {team.name} between queues, and the team has one queue"
            if weight != 1 and why:
                yield _unused((*path, name), weight, why, fix)


def _counting(spec: PlatformSpec) -> Fix:
    """The fix that lets Kueue measure the usage of queues."""
    message = f"add usage_half_life_hours: {HALF_LIFE_HOURS} to `queueing`"
    if "queueing" in spec.model_fields_set:
        at: Path = ("queueing", "usage_half_life_hours")
        return Fix(message=message, at=at, value=HALF_LIFE_HOURS)
    return Fix(message=message, at=("queueing",), value={"usage_half_life_hours": HALF_LIFE_HOURS})


def teams_with_compared_queues(plan: PlatformPlan) -> list[TeamPlan]:
    """Teams between whose queues Kueue compares usage."""
    counting = plan.queueing.usage_half_life_hours is not None
    return [team for team in plan.teams if counting and len(team.queues) > 1]


def _check_usage(spec: PlatformSpec) -> Iterator[Diagnostic]:
    """Kueue orders by usage first, so a job that preempts by priority does not get the freed capacity."""
    hours, evicting = spec.queueing.usage_half_life_hours, _evicting(spec)
    several = [team for team in spec.teams if len(team.queues) > 1]
    path: Path = ("queueing", "usage_half_life_hours")
    if hours is not None and not several:
        yield warning(
            "queue.usage_unused",
            path,
            "it has no effect: Kueue compares usage between queues of one team, and no team has two",
            given=str(hours),
            allowed="a team with two queues or more",
            fix=Fix(
                message="remove it, or give a team queues: {default: 1, interactive: 2}", at=path
            ),
        )
    elif hours is not None and evicting:
        weighed = any(weight != 1 for team in several for weight in team.queues.values())
        yield warning(
            "queue.use_before_priority",
            path,
            f"between the queues of {format_list(t.name for t in several)} usage outranks priority: after a job"
            " preempts one of lower priority in a queue that used less, the preempted job is admitted first"
            " and preempted again, until both queues have used the same",
            given=f"{hours}, and the priorities {format_list(evicting)}",
            allowed="usage between queues, or priorities that preempt, not both",
            fix=Fix(
                message="remove it, or write preemption: never, so that priorities only order each queue",
                at=None if weighed else path,
            ),
        )


def _evicting(spec: PlatformSpec) -> list[str]:
    """Priorities by which a job preempts, or is preempted by, a job without a priority."""
    if spec.queueing.preemption is Preemption.NEVER:
        return []
    return [name for name, value in spec.priorities.items() if value != WITHOUT]


def _check_start(spec: PlatformSpec, pools: Iterable[PoolPlan]) -> Iterator[Diagnostic]:
    """Warn of a start time in which a node that must start first may not be ready."""
    minutes = start_minutes(spec)
    late = [
        p.name for p in pools if p.scaling is not Scaling.FIXED and p.start_nodes < p.nodes.high
    ]
    if spec.cloud is Cloud.SIMULATED or minutes >= NODE_MINUTES or not late:
        return
    path: Path = ("queueing", "start_within_minutes")
    yield warning(
        "start.before_nodes",
        path,
        f"nodes of {format_list(late)} start when jobs request them, and autoscalers allow a node"
        f" {NODE_MINUTES} minutes: a job whose nodes take longer than {minutes} is evicted, requeued,"
        " and may never start",
        given=str(minutes),
        allowed=f"at least {NODE_MINUTES}, and more for drivers and large images",
        fix=Fix.write(START_MINUTES, path),
    )


# Nothing else of a plan depends on them: the same guarantees apply again once a stop policy is removed.


def stop_policy(spec: PlatformSpec, team: Team) -> StopPolicy | Literal[""]:
    """The stricter of the platform's stop policy and the team's; "" for none."""
    policies = {spec.queueing.stop_policy, team.stop_policy}
    for stop in (StopPolicy.DRAIN, StopPolicy.HOLD):
        if stop in policies:
            return stop
    return ""


def check_stop_policies(draft: Draft) -> Iterator[Diagnostic]:
    """Warn of every active stop policy."""
    spec = draft.spec
    stopped: list[tuple[Path, StopPolicy | PoolStopPolicy | None, str]] = [
        (("queueing", "stop_policy"), spec.queueing.stop_policy, "of any team starts"),
        *(
            (("pools", index, "stop_policy"), pool.stop_policy, f"starts in pool {pool.name}")
            for index, pool in enumerate(spec.pools)
        ),
        *(
            (("teams", index, "stop_policy"), team.stop_policy, f"of team {team.name} starts")
            for index, team in enumerate(spec.teams)
        ),
    ]
    for path, policy, which in stopped:
        if policy:
            then = "are evicted" if policy is StopPolicy.DRAIN else "continue"
            yield warning(
                "stop.active",
                path,
                f"stopped: no job {which}; running jobs {then}",
                given=policy.value,
                allowed="no stop_policy, once the emergency is over",
                fix=Fix(message="remove it, and queues continue", at=path),
            )
