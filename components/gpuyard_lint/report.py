"""Lint report with file, line and column: the one result that every format writes."""

import hashlib
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from gpuyard_core.findings import Diagnostic, Fix, Path, Severity
from gpuyard_lint.combined.evaluation import evaluate_files
from gpuyard_lint.combined.relevant_values import UnknownValueFinder
from gpuyard_lint.combined.scopes import scopes
from gpuyard_lint.ignores import NOTHING_IGNORED, Ignores, IgnoreWithoutReason, RuleMention
from gpuyard_lint.items import FileLocation, Item, LintInput, SkippedFile
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.placeholders import RuleCheck
from gpuyard_lint.rules.rule import Parameters, Resource, Rule, Violation
from gpuyard_lint.rules.run import (
    DEFAULT_CONFIGURATION,
    RuleConfiguration,
    RuleOutcome,
    RuleVerdict,
)


class HitState(StrEnum):
    """The state of a finding."""

    OPEN = "open"
    """It counts."""
    NOT_EVALUATED = "not-evaluated"
    EXEMPTED = "excepted"
    IGNORED = "ignored"
    BASELINE = "baseline"
    """It is in the baseline."""
    EXAMPLE = "example"
    """It is in an example, in test data or in a vendored copy, which is not deployed."""
    ADVISORY = "advisory"
    """A defensible choice of the owner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFinding:
    """One result of a rule at one place."""

    rule: Rule
    state: HitState
    diagnostic: Diagnostic
    """With the path and the names of the file."""
    file: str
    line: int
    column: int
    resource: str
    """Kind and name, "" if it is about all files together."""
    reason: str = ""

    @property
    def fingerprint(self) -> str:
        """Stable identity: the same finding in the same resource, also if it moves in its file."""
        found = self.diagnostic
        parts = (found.id, self.file, self.resource, found.location, found.problem)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All findings, in the order of files and lines."""

    hits: tuple[LintFinding, ...]
    skipped: tuple[SkippedFile, ...]
    files: tuple[str, ...]
    resource_count: int
    checked_resources: int
    """Number of resources whose kind a rule checks."""
    rules: tuple[Rule, ...]
    without_reason: tuple[IgnoreWithoutReason, ...] = ()
    """Comments without a reason: they ignore nothing."""
    unknown_rules: tuple[RuleMention, ...] = ()
    """Comments that name an unknown rule."""
    time_limit_reached: bool = False
    """Whether the time limit ended before the rules had checked everything."""

    @property
    def open_findings(self) -> tuple[LintFinding, ...]:
        """The findings that count."""
        return tuple(hit for hit in self.hits if hit.state is HitState.OPEN)

    def count(self, state: HitState) -> int:
        """The number of findings in a state."""
        return sum(hit.state is state for hit in self.hits)

    def is_failed(self, fail_on: Severity) -> bool:
        """True if an open finding has at least this severity."""
        return any(hit.diagnostic.severity.rank >= fail_on.rank for hit in self.open_findings)


def build_report(
    reading: LintInput,
    rules: Sequence[Rule],
    settings: RuleConfiguration = DEFAULT_CONFIGURATION,
    ignores: Ignores = NOTHING_IGNORED,
    baseline: Collection[str] = (),
    is_over: Callable[[], bool] = lambda: False,
) -> Report:
    """Check the input against the rules, within the time limit."""
    items = {id(item.resource): item for item in reading.items}
    deployed_together = scopes(reading)
    results = deque[RuleOutcome]()
    cut = False
    try:
        timed = [_timed(rule, is_over) for rule in rules]
        results.extend(evaluate_files(reading, timed, settings, deployed_together))
    except TimeLimitReached:
        cut = True
    own = {rule.id: rule for rule in rules}
    outcomes = (
        replace(each, rule=own[each.rule.id])
        for each in (results.popleft() for _ in range(len(results)))
    )  # each result is freed: a hundred thousand use much memory
    needed = UnknownValueFinder([item.resource for item in reading.items], settings)
    hits = [_hit(each, items, reading, needed.find_unknown_value(each)) for each in outcomes]
    hits = [_settled(hit, ignores, baseline, reading.example_files) for hit in hits]
    unread = [
        SkippedFile(each.file, each.unapplied_changes_reason)
        for each in deployed_together
        if each.unapplied_changes_reason
    ]
    active = tuple(rule for rule in rules if rule.id not in settings.off)
    names = {rule.id for rule in (*RULES, *rules)}
    kinds = {kind for rule in active for kind in rule.kinds}
    position = {file: index for index, file in enumerate(reading.files)}
    hits.sort(key=lambda hit: (position.get(hit.file, -1), hit.line, hit.column, hit.rule.id))
    return Report(
        hits=tuple(hits),
        skipped=(*reading.skipped, *unread),
        files=reading.files,
        resource_count=len(reading.items),
        checked_resources=sum(item.resource.group_kind in kinds for item in reading.items),
        rules=active,
        without_reason=ignores.without_reason,
        unknown_rules=tuple(each for each in ignores.rule_mentions if each.rule not in names),
        time_limit_reached=cut,
    )


class TimeLimitReached(BaseException):
    """Ends all rules: an Exception would be reported as a failure of one rule."""


def _timed(rule: Rule, is_over: Callable[[], bool]) -> Rule:
    """The rule, which checks the time limit before each of its checks."""

    def timed(check: RuleCheck) -> RuleCheck:
        def checked(subject: Any, parameters: Parameters) -> Iterator[Violation]:
            if is_over():
                raise TimeLimitReached
            return check(subject, parameters)

        return checked

    alone, together = rule.check, rule.check_stack
    return replace(rule, check=alone and timed(alone), check_stack=together and timed(together))


def _hit(
    outcome: RuleOutcome,
    items: Mapping[int, Item],
    reading: LintInput,
    needed: tuple[Resource, Path] | None,
) -> LintFinding:
    """The place; of a result that was not evaluated, the place of the unknown value."""
    about, where = needed or (outcome.resource, outcome.diagnostic.path)
    item = items.get(id(about))
    states = {
        RuleVerdict.NOT_EVALUATED: HitState.NOT_EVALUATED,
        RuleVerdict.EXEMPTED: HitState.EXEMPTED,
    }
    otherwise = HitState.ADVISORY if outcome.is_advisory else HitState.OPEN
    file = item.place.file if item else (reading.files[0] if reading.files else "")
    line, column = item.place.position(where) if item else (1, 1)
    diagnostic = replace(outcome.diagnostic, path=where)
    return LintFinding(
        rule=outcome.rule,
        state=states.get(outcome.verdict, otherwise),
        diagnostic=_as_in_document(diagnostic, item.place) if item else diagnostic,
        file=file,
        line=line,
        column=column,
        resource=resource_title(outcome.resource),
        reason=outcome.note or ("advisory: not counted" if outcome.is_advisory else ""),
    )


def _as_in_document(diagnostic: Diagnostic, place: FileLocation) -> Diagnostic:
    """The diagnostic with the path and the names that the file has."""
    path, describe = place.document_path(diagnostic.path), place.with_document_names
    fix = diagnostic.fix and Fix(message=describe(diagnostic.fix.message))
    return replace(diagnostic, path=path, problem=describe(diagnostic.problem), fix=fix)


def resource_title(resource: Resource | None) -> str:
    """Kind, namespace and name; "" without a resource."""
    if resource is None:
        return ""
    inside = f"{resource.namespace}/" if resource.namespace else ""
    return f"{resource.kind.rpartition('/')[2]} {inside}{resource.name}"


def _settled(
    hit: LintFinding, ignores: Ignores, baseline: Collection[str], samples: Collection[str]
) -> LintFinding:
    if hit.state is not HitState.OPEN:
        return hit
    if (reason := ignores.reason(hit.file, hit.line, hit.rule.id)) is not None:
        return replace(hit, state=HitState.IGNORED, reason=f"ignored: {reason}")
    if hit.fingerprint in baseline:
        return replace(hit, state=HitState.BASELINE, reason="in the baseline")
    if hit.file in samples:
        return replace(hit, state=HitState.EXAMPLE, reason="in an example file: not counted")
    return hit
