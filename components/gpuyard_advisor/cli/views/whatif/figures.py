"""The figures of a replay in the order of every view, and their differences."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gpuyard.plan.records import PlatformPlan
from gpuyard.stack_validation import ValidatedStack
from gpuyard_advisor.cli.views.times import format_seconds
from gpuyard_advisor.replay.accounts import Outcome, PoolOutcome
from gpuyard_advisor.replay.mapping import NO_GPU, MappedTrace
from gpuyard_advisor.replay.predicted import PredictedJobs
from gpuyard_core.terminal.text import signed_usd, usd

UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedStack:
    """A stack, and the outcome of the trace on it."""

    name: str
    """A short name of the stack, unique in a comparison."""
    judged: ValidatedStack
    plan: PlatformPlan
    mapped: MappedTrace
    outcome: Outcome
    cautions: tuple[str, ...]
    policies: Mapping[str, Outcome] = field(default_factory=dict[str, Outcome])
    """With `--policies`: the outcome of each scaling policy, the stack's own first."""
    predicted: PredictedJobs | None = None
    """With `--predict`: the predictions of the jobs."""
    shortest_first: Outcome | None = None
    """With `--predict`: the outcome with priority classes by predicted duration."""

    @property
    def never_started(self) -> int:
        """Jobs with GPUs that never ran."""
        rejected = sum(each.jobs for each in self.mapped.never if each.reason != NO_GPU)
        return rejected + self.outcome.waits.never


Value = float | None
Format = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: its key in the document, its name, and how it is computed and shown."""

    key: str
    name: str
    of: Callable[[ReplayedStack], Value]
    format: Format
    change: Format

    def shown(self, value: Value) -> str:
        """The figure as text."""
        return UNKNOWN if value is None else self.format(value)

    def difference(self, stacks: Sequence[ReplayedStack]) -> Value:
        """The figure of the second stack less that of the first."""
        first, second = (self.of(each) for each in stacks)
        return None if first is None or second is None else second - first

    def shown_difference(self, stacks: Sequence[ReplayedStack]) -> str:
        """The difference as text; `=` if the figures look the same."""
        difference = self.difference(stacks)
        if difference is None:
            return UNKNOWN
        first, second = (self.shown(self.of(each)) for each in stacks)
        return "=" if first == second else self.change(difference)


def _number(value: float) -> str:
    return f"{value:,.0f}"


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _points(value: float) -> str:
    return f"{100 * value:+.1f} points"


def _signed_number(value: float) -> str:
    return f"{value:+,.0f}"


def _signed_seconds(value: float) -> str:
    return f"{'-' if value < 0 else '+'}{format_seconds(abs(value))}"


def _count(key: str, name: str, of: Callable[[ReplayedStack], Value]) -> Figure:
    return Figure(key, name, of, _number, _signed_number)


def _share(key: str, name: str, of: Callable[[ReplayedStack], Value]) -> Figure:
    return Figure(key, name, of, _percent, _points)


def _time(key: str, name: str, of: Callable[[ReplayedStack], Value]) -> Figure:
    return Figure(key, name, of, format_seconds, _signed_seconds)


def _money(key: str, name: str, of: Callable[[ReplayedStack], Value]) -> Figure:
    return Figure(key, name, of, usd, signed_usd)


def _used(stack: ReplayedStack) -> Value:
    used = stack.outcome.used_gpu_hours
    return None if used is None else _ratio(used, gpu_hours(stack.outcome.pools))


def gpu_hours(pools: Sequence[PoolOutcome]) -> float:
    """GPU hours of nodes that are ready."""
    return sum(pool.gpu_hours for pool in pools)


def _ratio(part: float, whole: float) -> Value:
    return part / whole if whole else None


def _fragmentation(stack: ReplayedStack) -> Value:
    """The mean of the pools, weighted by their free GPU hours."""
    known = [
        (pool.fragmentation, pool.gpu_hours - pool.allocated_gpu_hours)
        for pool in stack.outcome.pools
        if pool.fragmentation is not None
    ]
    return _ratio(sum(f * free for f, free in known), sum(free for _, free in known))


def _usd_per_gpu_hour(stack: ReplayedStack) -> Value:
    allocated = sum(pool.allocated_gpu_hours for pool in stack.outcome.pools)
    cost = stack.outcome.cost.usd
    return None if cost is None else _ratio(cost, allocated)


FIGURES: Sequence[Figure] = (
    _count("jobs_ran", "jobs that ran", lambda s: s.outcome.waits.jobs),
    _count("jobs_never_started", "jobs that never started", lambda s: s.never_started),
    _share("utilisation", "GPU hours allocated", lambda s: s.outcome.utilisation),
    _share("used", "GPU hours used", _used),
    _time("wait_mean_seconds", "wait, mean", lambda s: s.outcome.waits.mean),
    _time("wait_p50_seconds", "wait, P50", lambda s: s.outcome.waits.p50),
    _time("wait_p90_seconds", "wait, P90", lambda s: s.outcome.waits.p90),
    _time("wait_p95_seconds", "wait, P95", lambda s: s.outcome.waits.p95),
    _money("cost_usd", "cost, $", lambda s: s.outcome.cost.usd),
    _money("usd_per_gpu_hour", "$ for each allocated GPU hour", _usd_per_gpu_hour),
    _count("node_hours", "node hours", lambda s: s.outcome.node_hours),
    _count("preemptions", "preemptions", lambda s: s.outcome.evictions),
    _count("interruptions", "jobs interrupted with their node", lambda s: s.outcome.interruptions),
    _count("not_ready", "jobs stopped before all pods ran", lambda s: s.outcome.not_ready),
    _count("lost_gpu_hours", "GPU hours of lost work", lambda s: s.outcome.lost_gpu_hours),
    _count("flaps", "flaps: nodes soon removed", lambda s: s.outcome.flaps),
    _share("fragmentation", "free GPUs too fragmented for a pod", _fragmentation),
    _time("seconds", "first submission to last end", lambda s: s.outcome.end - s.outcome.begin),
)
"""The key figures. A difference is the second stack's figure less the first's."""


def differences(stacks: Sequence[ReplayedStack]) -> Mapping[str, Value]:
    """The differences of two stacks by key."""
    return {figure.key: figure.difference(stacks) for figure in FIGURES}


def priority_name(plan: PlatformPlan, value: int) -> str:
    """The name of a priority, else its value."""
    return next((p.name for p in plan.queueing.priorities if p.value == value), str(value))
