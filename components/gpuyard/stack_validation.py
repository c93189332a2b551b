"""Validation of a platform: what was read, its plan, and all findings, for the CLI and the Pulumi program.

`gpuyard check` passes the text of a stack file and the date; the Pulumi program passes the value that the
engine read from the same file, and no date. Their results are otherwise the same.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import date

from gpuyard.plan.blocked_checks import BLOCKED_CHECK, blocked_check
from gpuyard.plan.capacity.scaling import unscaled_pool_findings
from gpuyard.plan.cluster.endpoint_access import private_endpoint_findings
from gpuyard.plan.fact_ages import AGE_WARNINGS
from gpuyard.plan.platform import plan
from gpuyard.plan.platform import plan_ignoring_budgets as planned_over_budget
from gpuyard.plan.records import PlatformPlan
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.read import ParsedStackFile
from gpuyard_core.findings import Diagnostic, Path, Severity, has_errors, show_path, sort_findings

_BESIDE_REFUSALS = frozenset({BLOCKED_CHECK, "system.machine_unknown"})
"""Findings that are shown next to errors: a misspelled machine is corrected in the same edit."""


@dataclass(frozen=True, slots=True)
class ValidatedStack:
    """A platform as read, its plan, and all findings on it."""

    reading: ParsedStackFile
    plan: PlatformPlan | None
    """None exactly when a finding is an error."""
    findings: tuple[Diagnostic, ...]
    """Most severe first."""
    file: str = ""
    """The file's path as shown to the user; "" for a value without a file."""

    def fails(self, fail_on: Severity) -> bool:
        """Whether a finding has at least this severity; the age of the catalogue alone fails no stack."""
        counted = (f for f in self.findings if f.id not in AGE_WARNINGS)
        return any(f.severity.rank >= fail_on.rank for f in counted)

    def line_of(self, finding: Diagnostic) -> int | None:
        """The line of a finding in the file."""
        return self.reading.line_of(finding.path)


def validate(reading: ParsedStackFile, day: date | None = None, file: str = "") -> ValidatedStack:
    """Plan and check what was read.

    Without a date there are no calendar findings: a deployment reports those of its plan.
    """
    if reading.spec is None:
        results = [*reading.findings, *_refusals_beside(reading, day)]
        return ValidatedStack(reading, None, tuple(sort_findings(results)), file)
    planned, findings = plan(reading.spec, day, reading.region)
    other_findings = [*_beside_the_plan(reading.spec), *_unanswered_queries(planned)]
    stands = None if has_errors(other_findings) else planned
    results = [
        *reading.findings,
        *findings,
        *other_findings,
        *(private_endpoint_findings(reading.spec) if stands else ()),
    ]
    return ValidatedStack(reading, stands, tuple(sort_findings(results)), file)


def plan_rejected_by_budget(judged: ValidatedStack) -> PlatformPlan | None:
    """The plan of a platform that only its own budgets reject."""
    spec = judged.reading.spec
    if judged.plan or spec is None or has_errors(_beside_the_plan(spec)):
        return None
    return planned_over_budget(spec, judged.reading.region)


def _refusals_beside(reading: ParsedStackFile, day: date | None) -> list[Diagnostic]:
    """The errors in the part of the platform that can be checked, and the skipped checks."""
    part = reading.partial
    if part.spec is None:
        return []
    _, findings = plan(part.spec, day, reading.region, part.dropped_fields)
    refusals = [f for f in findings if f.severity is Severity.ERROR or f.id in _BESIDE_REFUSALS]
    return [*reading.remaining_findings(refusals), *_waits(part.dropped)]


def _waits(missing: Collection[Path]) -> Iterator[Diagnostic]:
    """Skipped checks for dropped parts except pools, each at its innermost path; the plan reports those of pools."""
    for path in missing:
        inner = any(other != path and other[: len(path)] == path for other in missing)
        if path[0] != "pools" and not inner:
            yield blocked_check(path, "checks that depend on this are skipped until it is fixed")


def _beside_the_plan(spec: PlatformSpec) -> Iterator[Diagnostic]:
    """Findings outside the plan: limits of `pulumi up`, and rules of files."""
    yield from unscaled_pool_findings(spec)
    yield from _unknown_rules(spec)


def _unanswered_queries(plan: PlatformPlan | None) -> Iterator[Diagnostic]:
    """Rules, alerts and panels whose query would return nothing on this platform, or count a GPU several times."""
    if plan is not None and plan.observability is not None:
        # imported here: the parser of PromQL is slow to load
        from gpuyard.render.observability.dashboards import check_dashboards
        from gpuyard.render.observability.rules import check_rules

        for each in (*check_rules(plan), *check_dashboards(plan)):
            problem = f"query of {show_path(each.path)}: {each.problem}"
            yield replace(each, path=("observability",), problem=problem)
    if plan is not None and plan.services:
        from gpuyard.render.workloads.scalers import check_scalers

        for each in check_scalers(plan):
            yield replace(each, problem=f"query of a scaler: {each.problem}", given=each.given)


def _unknown_rules(spec: PlatformSpec) -> Iterator[Diagnostic]:
    if spec.policies is not None:
        # imported here: few platforms name a rule, and the import loads every rule
        from gpuyard_lint.rules import RULES
        from gpuyard_lint.settings import unknown_rules

        yield from unknown_rules(spec.policies, RULES)
