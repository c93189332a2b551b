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
from gpuyard.readiness.evidence import Ready, ThingSeen, reasons, together, unknown
from gpuyard.readiness.listed import (
    AiRequirement,
    ReadinessCheck,
    ai_requirements,
    readiness_checks,
)
from gpuyard.readiness.subject import ClusterSeen, Looks, NotRead, Subject

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
PLANNED: Mapping[str, Looks] = {k: v for each in _MODULES for k, v in each.PLANNED.items()}
"""By id: what a plan can answer."""
LIVE: Mapping[str, Looks] = {k: v for each in _MODULES for k, v in each.LIVE.items()}
"""By id: what a cluster can answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """How one check is answered."""

    check: ReadinessCheck
    ready: Ready
    applies: bool
    by: str
    """Who answered: plan, cluster, or nobody."""
    seen: tuple[ThingSeen, ...]

    @property
    def why(self) -> str:
        """What keeps it from passing; empty where it has passed."""
        return "; ".join(reasons(self.seen, self.ready))

    @property
    def evidence(self) -> tuple[ThingSeen, ...]:
        """What has a value."""
        return tuple(each for each in self.seen if each.value)


@dataclass(frozen=True, slots=True)
class Readiness:
    """All answers."""

    answers: tuple[Answered, ...]

    @property
    def counts(self) -> Mapping[Ready, int]:
        """Of the checks that apply, how many are answered how."""
        return Counter(each.ready for each in self.answers if each.applies)

    @property
    def applying(self) -> int:
        """How many apply."""
        return sum(each.applies for each in self.answers)

    @property
    def score(self) -> int:
        """Percent of the checks that apply which passed, rounded down: what was not run is not passed."""
        return 100 * self.counts.get(Ready.PASS, 0) // self.applying if self.applying else 0

    def of(self, check: str) -> Answered:
        """The answer to one."""
        return next(each for each in self.answers if each.check.id == check)

    def conformance(self) -> Iterator[tuple[AiRequirement, Ready]]:
        """How far the answers are evidence for what the CNCF's programme asks for."""
        for each in ai_requirements():
            answers = [self.of(name) for name in each.checks]
            seen = [ThingSeen(a.ready) for a in answers if a.applies]
            yield each, together(seen)


def ask_readiness(
    plan: PlatformPlan, findings: Iterable[Finding], cluster: ClusterSeen | None = None
) -> Readiness:
    """Every check, from the plan, and from a cluster where one was asked."""
    return ask_all(Subject(plan, tuple(findings)), cluster)


def ask_all(subject: Subject, cluster: ClusterSeen | None = None) -> Readiness:
    """The same of a plan with what it renders."""
    return Readiness(tuple(_answered(each, subject, cluster) for each in readiness_checks()))


def _answered(check: ReadinessCheck, subject: Subject, cluster: ClusterSeen | None) -> Answered:
    planned = _looked(PLANNED, check, subject, subject.rendered)
    if together(planned) is Ready.FAIL or cluster is None or _is_outside(planned):
        return _of_plan(check, planned)
    seen = _looked(LIVE, check, subject, cluster)
    if not seen:
        return _of_plan(check, planned, "the cluster shows nothing of it")
    known = [each for each in planned if each.ready is Ready.PASS and each not in seen]
    return _made(check, [*seen, *([] if _is_outside(seen) else known)], "cluster")


def _looked(
    who: Mapping[str, Looks], check: ReadinessCheck, subject: Subject, objects: ClusterSeen
) -> list[ThingSeen]:
    """What is seen; that it does not apply, or that it cannot be read, ends the looking."""
    seen: list[ThingSeen] = []
    try:
        for each in who[check.id](subject, objects) if check.id in who else ():
            if not each.applies:
                return [each]
            seen.append(each)
    except NotRead as problem:
        return [*seen, unknown(str(problem))]
    return seen


def _is_outside(seen: Sequence[ThingSeen]) -> bool:
    return any(not each.applies for each in seen)


def _of_plan(check: ReadinessCheck, planned: Sequence[ThingSeen], nothing: str = "") -> Answered:
    if planned:
        return _made(check, planned, "plan")
    why = nothing or "only the cluster can say: add --live"
    if check.id not in LIVE:
        why = f"only a run can tell: {check.run}"
    return _made(check, [unknown(why)], "nobody")


def _made(check: ReadinessCheck, seen: Sequence[ThingSeen], by: str) -> Answered:
    applies = not _is_outside(seen)
    return Answered(check=check, ready=together(seen), applies=applies, by=by, seen=tuple(seen))
