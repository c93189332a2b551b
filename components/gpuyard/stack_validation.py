"""A judged platform: what was read, the plan of it, and everything there is to say. Both fronts ask here.

`gpuyard check` gives the text of a stack file and the day; the Pulumi program gives the value that the
engine has read from the same file, and no day. What they say is otherwise the same.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date

from gpuyard.findings import Finding, Path, Severity, has_errors, sort_findings
from gpuyard.plan.blocked_checks import BLOCKED_CHECK, blocked_check
from gpuyard.plan.capacity.karpenter import unsupported_pools
from gpuyard.plan.cluster.private import private_endpoint_findings
from gpuyard.plan.fact_ages import AGE_WARNINGS
from gpuyard.plan.platform import over_budget as planned_over_budget
from gpuyard.plan.platform import plan
from gpuyard.plan.records import PlatformPlan
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.read import Reading

CALENDAR = AGE_WARNINGS | {"kubernetes.support", "policies.expired", "validation.accepted_over"}
"""Findings that hang on the day."""
_BESIDE_REFUSALS = frozenset({BLOCKED_CHECK, "system.machine_unknown"})
"""Findings that a file with refusals shows too: a misspelled machine is corrected in the same edit."""


@dataclass(frozen=True, slots=True)
class ValidatedStack:
    """A platform as it was read, what it means, and everything there is to say about it."""

    reading: Reading
    plan: PlatformPlan | None
    """None exactly when a finding refuses."""
    findings: tuple[Finding, ...]
    """Gravest first."""
    file: str = ""
    """Where it stands, as shown to the user; "" for a value that came in no file."""

    def fails(self, fail_on: Severity) -> bool:
        """Whether a finding is at least so grave; the age of the catalogue alone fails no stack."""
        counted = (f for f in self.findings if f.id not in AGE_WARNINGS)
        return any(f.severity.rank >= fail_on.rank for f in counted)

    def line_of(self, finding: Finding) -> int | None:
        """The line of the file that a finding stands in."""
        return self.reading.line_of(finding.path)


def validate(reading: Reading, day: date | None = None, file: str = "") -> ValidatedStack:
    """Plan and prove what was read.

    Without a day nothing is said of the calendar: what a deployment registers must be the same tomorrow.
    """
    if reading.spec is None:
        results = [*reading.findings, *_refusals_beside(reading, day)]
        return ValidatedStack(reading, None, tuple(sort_findings(results)), file)
    planned, findings = plan(reading.spec, day, reading.region)
    other_findings = list(_beside_the_plan(reading.spec))
    stands = None if has_errors(other_findings) else planned
    results = [
        *reading.findings,
        *findings,
        *other_findings,
        *(private_endpoint_findings(reading.spec) if stands else ()),
    ]
    return ValidatedStack(reading, stands, tuple(sort_findings(results)), file)


def plan_over_budget(judged: ValidatedStack) -> PlatformPlan | None:
    """The plan of a platform that nothing but its own budgets refuses."""
    spec = judged.reading.spec
    if judged.plan or spec is None or has_errors(_beside_the_plan(spec)):
        return None
    return planned_over_budget(spec, judged.reading.region)


def calendar_findings(spec: PlatformSpec, day: date) -> list[Finding]:
    """What the calendar alone says: the findings that `judge` has with a day, and lacks without one."""
    _, findings = plan(spec, day)
    return [f for f in findings if f.id in CALENDAR]


def _refusals_beside(reading: Reading, day: date | None) -> list[Finding]:
    """What the proofs refuse in the part of the platform that can be judged, and what waits for the rest."""
    part = reading.partial
    if part.spec is None:
        return []
    _, findings = plan(part.spec, day, reading.region, part.invalid)
    refusals = [f for f in findings if f.severity is Severity.ERROR or f.id in _BESIDE_REFUSALS]
    return [*reading.remaining_findings(refusals), *_waits(part.dropped)]


def _waits(missing: Collection[Path]) -> Iterator[Finding]:
    """Lost parts of anything but pools, each by its inmost place; of pools the plan says it."""
    for path in missing:
        inner = any(other != path and other[: len(path)] == path for other in missing)
        if path[0] != "pools" and not inner:
            yield blocked_check(path, "checks that read this wait until it is mended")


def _beside_the_plan(spec: PlatformSpec) -> Iterator[Finding]:
    """What the plan itself is not about: how far `pulumi up` goes, and rules of files."""
    yield from unsupported_pools(spec)
    yield from _unknown_rules(spec)


def _unknown_rules(spec: PlatformSpec) -> Iterator[Finding]:
    if spec.policies is not None:
        # only now: every rule is imported for the few platforms that name one
        from gpuyard.lint.settings import unknown_rules
        from gpuyard.rules import RULES

        yield from unknown_rules(spec.policies, RULES)
