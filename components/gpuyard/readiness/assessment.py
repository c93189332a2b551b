"""Every check asked of a plan and of a cluster: how it is answered, and what that adds up to."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpuyard.findings import Finding
from gpuyard.plan.records import PlatformPlan
from gpuyard.readiness import (
    autoscaling,
    data,
    infrastructure,
    money,
    monitoring,
    scheduling,
    security,
    work,
)
from gpuyard.readiness.checks import (
    AiRequirement,
    ReadinessCheck,
    ai_requirements,
    readiness_checks,
)
from gpuyard.readiness.evidence import CheckStatus, Observation, combine, reasons, unknown
from gpuyard.readiness.inputs import ClusterCheck, ClusterObjects, NotRead, Subject

_MODULES = (
    infrastructure,
    scheduling,
    autoscaling,
    monitoring,
    security,
    data,
    work,
    money,
)
PLANNED: Mapping[str, ClusterCheck] = {k: v for each in _MODULES for k, v in each.PLANNED.items()}
"""By id: what a plan can answer."""
LIVE: Mapping[str, ClusterCheck] = {k: v for each in _MODULES for k, v in each.LIVE.items()}
"""By id: what a cluster can answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """How one check is answered."""

    check: ReadinessCheck
    status: CheckStatus
    applies: bool
    source: str
    """Who answered: plan, cluster, or nobody."""
    observations: tuple[Observation, ...]

    @property
    def reasons(self) -> str:
        """What keeps it from passing; empty where it has passed."""
        return "; ".join(reasons(self.observations, self.status))

    @property
    def evidence(self) -> tuple[Observation, ...]:
        """What has a value."""
        return tuple(each for each in self.observations if each.value)


@dataclass(frozen=True, slots=True)
class Readiness:
    """All answers."""

    answers: tuple[CheckResult, ...]

    @property
    def counts(self) -> Mapping[CheckStatus, int]:
        """Of the checks that apply, how many are answered how."""
        return Counter(each.status for each in self.answers if each.applies)

    @property
    def applying(self) -> int:
        """How many apply."""
        return sum(each.applies for each in self.answers)

    @property
    def score(self) -> int:
        """Percent of the checks that apply which passed, rounded down: what was not run is not passed."""
        return 100 * self.counts.get(CheckStatus.PASS, 0) // self.applying if self.applying else 0

    def of(self, check: str) -> CheckResult:
        """The answer to one."""
        return next(each for each in self.answers if each.check.id == check)

    def conformance(self) -> Iterator[tuple[AiRequirement, CheckStatus]]:
        """How far the answers are evidence for what the CNCF's programme asks for."""
        for each in ai_requirements():
            answers = [self.of(name) for name in each.checks]
            seen = [Observation(a.status) for a in answers if a.applies]
            yield each, combine(seen)


def assess_readiness(
    plan: PlatformPlan, findings: Iterable[Finding], cluster: ClusterObjects | None = None
) -> Readiness:
    """Every check, from the plan, and from a cluster where one was asked."""
    return run_checks(Subject(plan, tuple(findings)), cluster)


def run_checks(subject: Subject, cluster: ClusterObjects | None = None) -> Readiness:
    """The same of a plan with what it renders."""
    return Readiness(tuple(_answered(each, subject, cluster) for each in readiness_checks()))


def _answered(
    check: ReadinessCheck, subject: Subject, cluster: ClusterObjects | None
) -> CheckResult:
    planned = _observations(PLANNED, check, subject, subject.rendered)
    if combine(planned) is CheckStatus.FAIL or cluster is None or _is_outside(planned):
        return _of_plan(check, planned)
    seen = _observations(LIVE, check, subject, cluster)
    if not seen:
        return _of_plan(check, planned, "the cluster shows nothing of it")
    known = [each for each in planned if each.status is CheckStatus.PASS and each not in seen]
    return _check_result(check, [*seen, *([] if _is_outside(seen) else known)], "cluster")


def _observations(
    who: Mapping[str, ClusterCheck],
    check: ReadinessCheck,
    subject: Subject,
    objects: ClusterObjects,
) -> list[Observation]:
    """What is seen; that it does not apply, or that it cannot be read, ends the looking."""
    seen: list[Observation] = []
    try:
        for each in who[check.id](subject, objects) if check.id in who else ():
            if not each.applies:
                return [each]
            seen.append(each)
    except NotRead as problem:
        return [*seen, unknown(str(problem))]
    return seen


def _is_outside(seen: Sequence[Observation]) -> bool:
    return any(not each.applies for each in seen)


def _of_plan(
    check: ReadinessCheck, planned: Sequence[Observation], nothing: str = ""
) -> CheckResult:
    if planned:
        return _check_result(check, planned, "plan")
    why = nothing or "only the cluster can say: add --live"
    if check.id not in LIVE:
        why = f"only a run can tell: {check.run}"
    return _check_result(check, [unknown(why)], "nobody")


def _check_result(check: ReadinessCheck, seen: Sequence[Observation], by: str) -> CheckResult:
    applies = not _is_outside(seen)
    return CheckResult(
        check=check, status=combine(seen), applies=applies, source=by, observations=tuple(seen)
    )
