"""Jobs of a trace as jobs of a platform: team, requests, pool and priority of each."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from gpuyard.plan.queueing.volcano import uses_volcano
from gpuyard.plan.records import AdvertisedResource, PlatformPlan, PoolPlan, TeamPlan, usable_pools
from gpuyard_advisor.explain.decision import evaluate_job
from gpuyard_advisor.explain.records import Verdict
from gpuyard_advisor.replay.jobs import SubmittedJob
from gpuyard_advisor.scheduler.model import EMPTY, SchedulerModel
from gpuyard_advisor.scheduler.requests import PodSet, Request
from gpuyard_advisor.traces import TraceJob
from gpuyard_core.catalogue.gpus import find_gpu
from gpuyard_core.errors import UsageError
from gpuyard_core.findings import format_list
from gpuyard_core.manifests.quantities import CPU, MEMORY, MIB
from gpuyard_core.names import POOL_LABEL

EVERY_OTHER = "*"
"""In a mapping of teams: the jobs of all other teams, and of none."""
NO_GPU = "it requests no GPU"
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class NeverStarting:
    """Jobs that can never start on the platform, for one reason."""

    reason: str
    jobs: int
    example: str
    """The name of the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedTrace:
    """A trace as jobs of a platform."""

    jobs: tuple[SubmittedJob, ...]
    never: tuple[NeverStarting, ...]
    """The most frequent reason first. These jobs are not replayed."""
    notes: tuple[str, ...]
    """What the mapping changed."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """What jobs of equal requests become; `never` is the reason why they cannot start."""

    requests: Mapping[str, int] = field(default_factory=dict[str, int])
    pods: int = 1
    priority: int = 0
    selector: Mapping[str, str] = field(default_factory=dict[str, str])
    never: str = ""
    notes: tuple[str, ...] = ()


def map_jobs(
    plan: PlatformPlan,
    jobs: Iterable[TraceJob],
    team_of: Mapping[str, str] | None = None,
    time_scale: float = 1.0,
) -> MappedTrace:
    """Map the jobs of a trace to a platform.

    `team_of` has the platform's team by the trace's. With a `time_scale` of 2, jobs are submitted twice as fast.

    Raises:
        UsageError: jobs of a team that the platform lacks, a mapping to no team, or a platform that gpuyard
            does not model.
    """
    if uses_volcano(plan.spec):
        raise UsageError(
            f"platform {plan.name} uses Volcano, and gpuyard models only Kueue's admission and preemption"
        )
    if plan.queueing.dispatch is not None:
        raise UsageError(
            f"platform {plan.name} has no nodes: its jobs run on other clusters. Replay the trace on their stacks."
        )
    mapper = _Mapper(plan, team_of or {})
    made: list[SubmittedJob] = []
    unknown: Counter[str] = Counter()
    never: Counter[str] = Counter()
    examples: dict[str, str] = {}
    notes: Counter[str] = Counter()
    for job in jobs:
        team = mapper.teams.get(job.team) or mapper.other
        if team is None:
            unknown[job.team] += 1
            continue
        shape = mapper.shape(team, job)
        if shape.never:
            never[shape.never] += 1
            examples.setdefault(shape.never, job.name)
            continue
        notes.update(shape.notes)
        made.append(
            SubmittedJob(
                name=job.name,
                team=team.name,
                submitted_at_seconds=job.submitted_seconds / time_scale,
                run_seconds=job.run_seconds,
                requests=shape.requests,
                pods=shape.pods,
                priority=shape.priority,
                selector=shape.selector,
                utilisation=job.utilisation,
            )
        )
    if unknown:
        raise UsageError(_unknown_teams(plan, unknown))
    return MappedTrace(
        jobs=tuple(made),
        never=tuple(
            NeverStarting(reason=reason, jobs=count, example=examples[reason])
            for reason, count in never.most_common()
        ),
        notes=tuple(f"{text}: {count:,}" for text, count in notes.items()),
    )


def _unknown_teams(plan: PlatformPlan, unknown: Counter[str]) -> str:
    """Which teams of the trace the platform lacks, and how to map them."""
    names = format_list(t.name for t in plan.teams) or "none"
    if set(unknown) == {""}:
        return (
            f"the trace has no team, and platform {plan.name} has the teams {names}. Write "
            "--team-of '*=TEAM', or name the column of the team with --columns team=COLUMN."
        )
    named = {name or "(none)": count for name, count in unknown.most_common()}
    return (
        f"platform {plan.name} has no team for {sum(unknown.values()):,} jobs of "
        f"{format_list(f'{name} ({count:,})' for name, count in named.items())}. Its teams are {names}. Write "
        f"--team-of '{next(iter(named))}=TEAM' for each, or --team-of '*=TEAM' for all others."
    )


class _Mapper:
    """Decides once for each distinct shape."""

    def __init__(self, plan: PlatformPlan, team_of: Mapping[str, str]) -> None:
        self.plan = plan
        self.desk = SchedulerModel(plan, EMPTY)
        self._shapes: dict[tuple[object, ...], _Shape] = {}
        self._pools = {
            t.name: [plan.pool(name) for name in usable_pools(t.quotas)] for t in plan.teams
        }
        self._selectors: dict[str, Mapping[str, str]] = defaultdict(dict)
        by_name = {t.name: t for t in plan.teams}
        spaces = {space.name: t for t in plan.teams for space in t.namespaces}
        for value, name in team_of.items():
            if name not in by_name:
                known = format_list(by_name) or "none"
                raise UsageError(f"--team-of {value}={name}: no such team. Teams are {known}.")
        given = {value: by_name[name] for value, name in team_of.items()}
        self.other = given.pop(EVERY_OTHER, plan.teams[0] if len(plan.teams) == 1 else None)
        self.teams: Mapping[str, TeamPlan] = spaces | by_name | given

    @cached_property
    def _priorities(self) -> list[int]:
        return sorted(p.value for p in self.plan.queueing.priorities)

    def shape(self, team: TeamPlan, job: TraceJob) -> _Shape:
        """The shape of a job, with the reason if no such job can start."""
        key = (
            team.name,
            job.gpus,
            job.pods,
            job.cpu_milli,
            job.memory_mib,
            job.gpu_memory_mib,
            job.gpu_model,
            job.priority,
        )
        found = self._shapes.get(key)
        if found is None:
            found = self._shapes[key] = self._decide(team, job)
        return found

    def _decide(self, team: TeamPlan, job: TraceJob) -> _Shape:
        if not job.gpus and not job.gpu_memory_mib:
            return _Shape(never=NO_GPU)
        pools = [p for p in self._pools[team.name] if _has_model(p, job.gpu_model)]
        if not pools:
            return _Shape(never=_no_pool(self.plan, team, job))
        memory_mib = job.gpu_memory_mib / max(1.0, job.gpus)
        pools = [p for p in pools if _gpu_memory_gib(p) * 1024 >= memory_mib]
        if not pools:
            return _Shape(
                never=f"no GPU of team {team.name} has {memory_mib / 1024:,.0f} GiB of memory"
            )
        pods, gpus, notes = _split(pools, job)
        resource, count = _request(team, pools, gpus, job.gpu_memory_mib)
        amounts = {
            resource: count,
            CPU: math.ceil(job.cpu_milli * job.pods / pods),
            MEMORY: math.ceil(job.memory_mib * job.pods / pods) * MIB,
        }
        shape = _Shape(
            requests={name: n for name, n in amounts.items() if n},
            pods=pods,
            priority=self._priority(team, job.priority),
            selector=self._selector(team, pools, resource),
            notes=notes,
        )
        return _Shape(never=why) if (why := self._never(team, shape)) else shape

    def _priority(self, team: TeamPlan, value: int) -> int:
        """The value of the platform's priority that is next below, else of its lowest; without one, the team's."""
        if not self._priorities:
            return 0
        if not value:
            classes = {p.name: p.value for p in self.plan.queueing.priorities}
            return classes.get(team.priority or "", 0)
        lower = [each for each in self._priorities if each <= value]
        return lower[-1] if lower else self._priorities[0]

    def _selector(self, team: TeamPlan, pools: list[PoolPlan], resource: str) -> Mapping[str, str]:
        """The selector of the first pool, if a pool of another model has the resource as well."""
        offered = {
            p.name
            for p in self._pools[team.name]
            if any(a.resource == resource for a in p.advertised)
        }
        chosen = next((p for p in pools if p.name in offered), pools[0])
        if offered <= {p.name for p in pools}:
            return self._selectors[""]
        if chosen.name not in self._selectors:
            self._selectors[chosen.name] = {POOL_LABEL: chosen.stable_name}
        return self._selectors[chosen.name]

    def _never(self, team: TeamPlan, shape: _Shape) -> str:
        """Why such a job cannot start on the empty platform, in the words of `gpuyard explain`; "" if it can."""
        pods = PodSet(
            path="pods",
            count=shape.pods,
            requests=shape.requests,
            selector=shape.selector,
            largest={name: shape.requests.get(name, 0) for name in (CPU, MEMORY)},
        )
        request = Request(
            kind="Job",
            name="",
            namespace="",
            queue_label=team.local_queue,
            priority_label="",
            priority_class="",
            pod_sets=(pods,),
            rejection=(),
            cautions=(),
        )
        outcome = evaluate_job(self.desk, team, request, shape.priority)
        return outcome.message if outcome.verdict is Verdict.NEVER else ""


def _has_model(pool: PoolPlan, models: str) -> bool:
    """Whether the GPU of a pool is one of the models, in any usual spelling or by the start of its name."""
    gpu = pool.machine.gpu
    if not models or gpu is None:
        return not models
    return any(
        find_gpu(model) is gpu or gpu.name.lower().startswith(model.lower())
        for model in models.split("|")
        if model
    )


def _no_pool(plan: PlatformPlan, team: TeamPlan, job: TraceJob) -> str:
    if not job.gpu_model:
        return f"team {team.name} has no quota in a pool"
    models = dict.fromkeys(p.machine.gpu.name for p in plan.pools if p.machine.gpu)
    return f"team {team.name} has no pool with {job.gpu_model}; GPUs of the platform are {format_list(models)}"


def _split(pools: list[PoolPlan], job: TraceJob) -> tuple[int, float, tuple[str, ...]]:
    """Pods, the GPUs of each, and a note if one pod of the trace is larger than a node."""
    most = max((a.per_node for p in pools for a in p.advertised if not a.unit), default=0)
    gpus = job.gpus if job.gpus < 1 else float(math.ceil(job.gpus - _ROUNDING))
    if job.pods > 1 or not most or gpus <= most:
        return job.pods, gpus, ()
    pods = math.ceil(gpus / most)
    return (
        pods,
        float(math.ceil(gpus / pods)),
        ("jobs with more GPUs than a node, which run as several pods",),
    )


def _request(
    team: TeamPlan, pools: list[PoolPlan], gpus: float, memory_mib: int
) -> tuple[str, int]:
    """The resource and its amount: whole GPUs, or the smallest slice or share that is large enough."""
    every = [(number, p, a) for number, p in enumerate(pools) for a in p.advertised]
    units = [unit for unit in every if _has_quota(team, *unit[1:])] or every
    if gpus < 1:
        fitting = [
            (a.gpu_share, memory, number, a.resource)
            for number, pool, a in units
            for memory in [_memory_gib(pool, a)]
            if a.gpu_share + Fraction(_ROUNDING) >= gpus and memory * 1024 >= memory_mib
        ]
        if fitting:
            return min(fitting)[-1], 1
    whole = next((a.resource for _, _, a in units if not a.unit), units[0][2].resource)
    return whole, max(1, math.ceil(gpus - _ROUNDING))


def _has_quota(team: TeamPlan, pool: PoolPlan, unit: AdvertisedResource) -> bool:
    """Whether the team has a quota of the resource, or of the compute slices that queues count instead."""
    quota = team.quota(pool.name, unit.resource)
    if quota is None:
        return pool.compute_slices is not None and bool(unit.unit)
    return quota.nominal + quota.borrow > 0


def _gpu_memory_gib(pool: PoolPlan) -> int:
    return pool.machine.gpu.memory_gib if pool.machine.gpu else 0


def _memory_gib(pool: PoolPlan, unit: AdvertisedResource) -> Fraction:
    """GPU memory of one unit: of its MIG profile, or its part of the GPU."""
    profile, _, rest = unit.unit.partition(".")
    if rest and profile.removesuffix("g").isdigit():
        return Fraction(rest.partition("gb")[0])
    return _gpu_memory_gib(pool) * unit.gpu_share
