"""Lint report of files, with file, line and column: the one result that every format writes."""

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from gpuyard.findings import Path, Severity, show_path
from gpuyard.lint.combined.evaluation import evaluate_files
from gpuyard.lint.combined.overlay_evaluation import LocatedOutcome
from gpuyard.lint.combined.relevant_values import RelevantValues
from gpuyard.lint.combined.scopes import scopes
from gpuyard.lint.ignores import NOTHING_IGNORED, Ignores, IgnoreWithoutReason, RuleMention
from gpuyard.lint.items import Item, LintInput, SkippedFile
from gpuyard.lint.languages.comments import ReviewComment, review_comments
from gpuyard.rules import RULES
from gpuyard.rules.placeholders import RuleCheck
from gpuyard.rules.rule import Parameters, Resource, Rule, Violation
from gpuyard.rules.run import DEFAULT_CONFIGURATION, RuleConfiguration, RuleOutcome, RuleVerdict


class HitState(StrEnum):
    """What becomes of something a rule has to say."""

    OPEN = "open"
    """It counts."""
    NOT_EVALUATED = "not-evaluated"
    EXEMPTED = "excepted"
    IGNORED = "ignored"
    BASELINE = "baseline"
    """It was there before, and somebody has taken it down."""
    EXAMPLE = "sample"
    """It stands in an example, in data of a test, or in a copy of somebody else's: nobody deploys it here."""
    ADVISORY = "choice"
    """It can be defended: how the owner decides is as good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFinding:
    """One thing that a rule has to say about one place."""

    rule: Rule
    state: HitState
    severity: Severity
    file: str
    line: int
    column: int
    resource: str
    """Kind and name, "" when it is about all files together."""
    where: str
    problem: str
    fix: str = ""
    reason: str = ""

    @property
    def fingerprint(self) -> str:
        """The same for the same thing in the same resource, wherever in its file that has moved to."""
        parts = (self.rule.id, self.file, self.resource, self.where, self.problem)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything there is to say, in the order of files and lines."""

    hits: tuple[LintFinding, ...]
    skipped: tuple[SkippedFile, ...]
    files: tuple[str, ...]
    resources: int
    checked_resources: int
    """Of them: those of kinds that a rule looks at."""
    rules: tuple[Rule, ...]
    without_reason: tuple[IgnoreWithoutReason, ...] = ()
    """Comments that would ignore a rule and do not say why: they ignore nothing."""
    unknown_rules: tuple[RuleMention, ...] = ()
    """What comments would ignore, and no rule is called so."""
    cut: bool = False
    """Whether the time was over before the rules had checked everything."""

    @property
    def open(self) -> tuple[LintFinding, ...]:
        """What counts."""
        return tuple(hit for hit in self.hits if hit.state is HitState.OPEN)

    def count(self, state: HitState) -> int:
        """How many are in a state."""
        return sum(hit.state is state for hit in self.hits)

    def is_failed(self, fail_on: Severity) -> bool:
        """True when something open is at least so grave."""
        return any(hit.severity.rank >= fail_on.rank for hit in self.open)


def build_report(
    reading: LintInput,
    rules: Sequence[Rule],
    settings: RuleConfiguration = DEFAULT_CONFIGURATION,
    ignores: Ignores = NOTHING_IGNORED,
    baseline: Collection[str] = (),
    is_over: Callable[[], bool] = lambda: False,
) -> Report:
    """Hold what was read against the rules, until the time is over."""
    items = {id(item.resource): item for item in reading.items}
    other = _Beside(ignores)
    deployed_together = scopes(reading)
    results: list[LocatedOutcome] = []
    cut = False
    try:
        timed = [_timed(rule, is_over) for rule in rules]
        results.extend(evaluate_files(reading, timed, settings, deployed_together))
    except TimeLimitReached:
        cut = True
    items |= {
        id(each.other_location.resource): each.other_location
        for each in results
        if each.other_location
    }
    own = {rule.id: rule for rule in rules}
    outcomes = [
        _meant(each, items.get(id(each.resource)), other, settings)
        for each in (replace(o.outcome, rule=own[o.outcome.rule.id]) for o in results)
    ]
    needed = RelevantValues([item.resource for item in reading.items], settings)
    hits = [_hit(each, items, reading, needed.for_rule(each)) for each in outcomes]
    hits = [_settled(hit, ignores, baseline, reading.samples) for hit in hits]
    unread = [SkippedFile(each.file, each.unread) for each in deployed_together if each.unread]
    active = tuple(rule for rule in rules if rule.id not in settings.off)
    names = {rule.id for rule in (*RULES, *rules)}
    kinds = {kind for rule in active for kind in rule.kinds}
    position = {file: index for index, file in enumerate(reading.files)}
    hits.sort(key=lambda hit: (position.get(hit.file, -1), hit.line, hit.column, hit.rule.id))
    return Report(
        hits=tuple(hits),
        skipped=(*reading.skipped, *unread),
        files=reading.files,
        resources=len(reading.items),
        checked_resources=sum(item.resource.group_kind in kinds for item in reading.items),
        rules=active,
        without_reason=ignores.without_reason,
        unknown_rules=tuple(each for each in ignores.named if each.rule not in names),
        cut=cut,
    )


class TimeLimitReached(BaseException):
    """Ends all rules: an Exception would be reported as the failure of one."""


def _timed(rule: Rule, is_over: Callable[[], bool]) -> Rule:
    """The rule, which looks at the clock before each of its checks."""

    def timed(check: RuleCheck) -> RuleCheck:
        def checked(subject: Any, parameters: Parameters) -> Iterator[Violation]:
            if is_over():
                raise TimeLimitReached
            return check(subject, parameters)

        return checked

    alone, together = rule.check, rule.check_stack
    return replace(rule, check=alone and timed(alone), check_stack=together and timed(together))


@dataclass(frozen=True, slots=True)
class _Beside:
    """What comments beside resources defend: a file's are read once, where something is said of it."""

    ignores: Ignores
    read: dict[str, tuple[ReviewComment, ...]] = field(
        default_factory=dict[str, tuple[ReviewComment, ...]]
    )
    last: dict[int, int] = field(default_factory=dict[int, int])
    """Of a resource: its last line, which takes a walk through the document to know."""

    def defend(self, outcome: RuleOutcome, item: Item) -> bool:
        """Whether somebody says beside it that it is meant so."""
        file, resource = item.place.file, id(item.resource)
        if file not in self.read:
            self.read[file] = review_comments(self.ignores.comments.get(file, ()))
        if not (remarks := self.read[file]):
            return False
        if resource not in self.last:
            self.last[resource] = item.place.last_line()
        lines, last = item.place.lines_to(outcome.path), self.last[resource]
        return any(
            each.justifies(outcome.rule.id, outcome.problem, lines, last) for each in remarks
        )


def _meant(
    outcome: RuleOutcome, item: Item | None, other: _Beside, settings: RuleConfiguration
) -> RuleOutcome:
    """A choice where a comment beside it says that it is meant so, unless a user wants those counted."""
    strict = settings.advisory or outcome.rule.id in settings.severities
    if item is None or strict or outcome.verdict is not RuleVerdict.VIOLATED:
        return outcome
    return replace(outcome, is_advisory=True) if other.defend(outcome, item) else outcome


def _hit(
    outcome: RuleOutcome,
    items: Mapping[int, Item],
    reading: LintInput,
    needed: tuple[Resource, Path] | None,
) -> LintFinding:
    """Where it is; of what could not be judged, where the value is that nobody knows."""
    about, where = needed or (outcome.resource, outcome.path)
    item = items.get(id(about))
    states = {
        RuleVerdict.NOT_EVALUATED: HitState.NOT_EVALUATED,
        RuleVerdict.EXEMPTED: HitState.EXEMPTED,
    }
    otherwise = HitState.ADVISORY if outcome.is_advisory else HitState.OPEN
    file = item.place.file if item else (reading.files[0] if reading.files else "")
    line, column = item.place.position(where) if item else (1, 1)
    path = item.place.document_path(where) if item else where
    describe = item.place.document_text if item else str
    return LintFinding(
        rule=outcome.rule,
        state=states.get(outcome.verdict, otherwise),
        severity=outcome.severity,
        file=file,
        line=line,
        column=column,
        resource=_named(outcome.resource),
        where=show_path(path) if path else "",
        problem=describe(outcome.problem),
        fix=describe(outcome.fix),
        reason=outcome.note or ("a choice: it does not count" if outcome.is_advisory else ""),
    )


def _named(resource: Resource | None) -> str:
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
        return replace(hit, state=HitState.EXAMPLE, reason="in a sample: it does not count")
    return hit
