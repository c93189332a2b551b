"""Run every check on a plan and a cluster, and compute the score."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpuyard.plan.records import PlatformPlan
from gpuyard_advisor.readiness import (
    autoscaling,
    data,
    infrastructure,
    money,
    monitoring,
    scheduling,
    security,
    work,
)
from gpuyard_advisor.readiness.checks import (
    AiRequirement,
    ReadinessCheck,
    ai_requirements,
    readiness_checks,
)
from gpuyard_advisor.readiness.evidence import CheckStatus, Observation, combine, reasons, unknown
from gpuyard_advisor.readiness.inputs import ClusterCheck, ClusterObjects, NotRead, Subject
from gpuyard_core.findings import Diagnostic

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
"""Functions that answer from the plan, by check id."""
LIVE: Mapping[str, ClusterCheck] = {k: v for each in _MODULES for k, v in each.LIVE.items()}
"""Functions that answer from the cluster, by check id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The result of one check."""

    check: ReadinessCheck
    status: CheckStatus
    applies: bool
    source: str
    """Source of the result: plan, cluster, or none."""
    diagnostics: tuple[Diagnostic, ...]
    """One for each observation."""

    @property
    def reasons(self) -> str:
        """Why it did not pass; empty when it passed."""
        return "; ".join(reasons(self.diagnostics, self.status))

    @property
    def evidence(self) -> tuple[Diagnostic, ...]:
        """Diagnostics with a value."""
        return tuple(each for each in self.diagnostics if each.given)


@dataclass(frozen=True, slots=True)
class Readiness:
    """The results of all checks."""

    answers: tuple[CheckResult, ...]

    @property
    def counts(self) -> Mapping[CheckStatus, int]:
        """Number of applicable checks by status."""
        return Counter(each.status for each in self.answers if each.applies)

    @property
    def applying(self) -> int:
        """Number of applicable checks."""
        return sum(each.applies for each in self.answers)

    @property
    def score(self) -> int:
        """Percentage of applicable checks that passed, rounded down; NOT RUN counts as not passed."""
        return 100 * self.counts.get(CheckStatus.PASS, 0) // self.applying if self.applying else 0

    def of(self, check: str) -> CheckResult:
        """The result of one check."""
        return next(each for each in self.answers if each.check.id == check)

    def conformance(self) -> Iterator[tuple[AiRequirement, CheckStatus]]:
        """Each CNCF requirement with the status of the checks that are evidence for it."""
        for each in ai_requirements():
            answers = [self.of(name) for name in each.checks]
            yield each, combine(a.status for a in answers if a.applies)


def assess_readiness(
    plan: PlatformPlan, findings: Iterable[Diagnostic], cluster: ClusterObjects | None = None
) -> Readiness:
    """Run every check on the plan, and on a cluster if one was queried."""
    return run_checks(Subject(plan, tuple(findings)), cluster)


def run_checks(subject: Subject, cluster: ClusterObjects | None = None) -> Readiness:
    """Run every check on a subject."""
    return Readiness(tuple(_answered(each, subject, cluster) for each in readiness_checks()))


def _answered(
    check: ReadinessCheck, subject: Subject, cluster: ClusterObjects | None
) -> CheckResult:
    planned = _observations(PLANNED, check, subject, subject.rendered)
    if _combined(planned) is CheckStatus.FAIL or cluster is None or _is_outside(planned):
        return _of_plan(check, planned)
    seen = _observations(LIVE, check, subject, cluster)
    if not seen:
        return _of_plan(check, planned, "the cluster has no objects of this kind")
    known = [each for each in planned if each.status is CheckStatus.PASS and each not in seen]
    return _check_result(check, [*seen, *([] if _is_outside(seen) else known)], "cluster")


def _observations(
    who: Mapping[str, ClusterCheck],
    check: ReadinessCheck,
    subject: Subject,
    objects: ClusterObjects,
) -> list[Observation]:
    """Collect observations, until one does not apply or cannot be read."""
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
    why = nothing or "requires the cluster: add --live"
    if check.id not in LIVE:
        why = f"requires a test run: {check.run}"
    return _check_result(check, [unknown(why)], "none")


def _check_result(check: ReadinessCheck, seen: Sequence[Observation], by: str) -> CheckResult:
    applies = not _is_outside(seen)
    return CheckResult(
        check=check,
        status=_combined(seen),
        applies=applies,
        source=by,
        diagnostics=tuple(each.diagnostic(check.id) for each in seen),
    )


def _combined(seen: Iterable[Observation]) -> CheckStatus:
    return combine(each.status for each in seen)
