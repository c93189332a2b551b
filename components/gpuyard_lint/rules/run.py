"""Check resources against rules: findings, unknown values and exemptions.

A violation at a placeholder counts only if it also holds when the value there is unknown. A template, a
substitution or a user replaces `${GPUS}` or `<image>`. Rules read it as text, so that a queue name still
identifies a queue, but it is not a wrong number, string or list.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from typing import Any

from gpuyard_core.findings import Diagnostic, Path, Severity
from gpuyard_core.manifests.placeholders import with_unknowns
from gpuyard_lint.rules.rule import (
    ContextEffect,
    NotEvaluatedError,
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
)


class FindingState(StrEnum):
    """The state of a finding. Not evaluated is not passed."""

    OPEN = "open"
    """It counts."""
    FAILED = "failed"
    """The rule itself failed; a report counts it as open."""
    NOT_EVALUATED = "not-evaluated"
    EXEMPTED = "excepted"
    IGNORED = "ignored"
    BASELINE = "baseline"
    """It is in the baseline."""
    EXAMPLE = "example"
    """It is in an example, in test data or in a vendored copy, which is not deployed."""
    ADVISORY = "advisory"
    """A defensible choice of the owner."""


@dataclass(frozen=True, slots=True)
class Exemption:
    """A place that is exempt from a rule until a date."""

    rule: str
    resource: str
    reason: str
    expires: date


@dataclass(frozen=True, slots=True)
class RuleConfiguration:
    """The levels, parameters and exemptions that a user sets."""

    off: frozenset[str] = frozenset()
    severities: Mapping[str, Severity] = field(default_factory=dict)
    parameters: Mapping[str, Parameters] = field(default_factory=dict)
    exemptions: tuple[Exemption, ...] = ()
    today: date | None = None
    """The day on which exemptions are evaluated; without it, none has expired."""
    counts_advisory: bool = False
    """Whether advisory violations count too."""
    is_over: Callable[[], bool] = lambda: False
    """Whether the time limit of the run is reached: the next check raises TimeLimitReached."""

    def is_expired(self, exemption: Exemption) -> bool:
        """Whether the exemption has expired."""
        return self.today is not None and exemption.expires <= self.today


_Check = Callable[[Any], Iterator[Violation]]
_MOST_PLACEHOLDERS = 50
"""Maximum number of placeholders that one run of a rule reports."""
_UNKNOWN = "it needs a value that is not known yet"
UNFILLED_PLACEHOLDER = "it needs a value that is still a placeholder"
DEFAULT_CONFIGURATION = RuleConfiguration()
"""Every rule at its own severity, without exemptions."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a rule, from its evaluation to the report."""

    rule: Rule
    resource: Resource | None
    """None if the rule is about the whole stack."""
    state: FindingState
    diagnostic: Diagnostic
    """In a report with the path and the names of the file."""
    note: str = ""
    """The reason of an exemption, or that it has expired; in a report the reason of any state."""
    is_advisory: bool = False
    """Whether it is a defensible choice that does not count by default."""
    file: str = ""
    line: int = 1
    column: int = 1

    def with_diagnostic(self, **fields: Any) -> "Finding":
        """The finding with other fields of its diagnostic."""
        return replace(self, diagnostic=replace(self.diagnostic, **fields))

    @property
    def resource_title(self) -> str:
        """Kind and name; "" if it is about all files together."""
        return self.resource.title if self.resource else ""

    @property
    def fingerprint(self) -> str:
        """Stable identity: the same finding in the same resource, also if it moves in its file."""
        found = self.diagnostic
        parts = (found.id, self.file, self.resource_title, found.location, found.problem)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def evaluate(
    resources: Iterable[Resource],
    rules: Sequence[Rule],
    settings: RuleConfiguration = DEFAULT_CONFIGURATION,
) -> list[Finding]:
    """All results of the rules: for each resource, then for all together."""
    stack = Stack(tuple(resources))
    return [*evaluate_each(stack, rules, settings), *evaluate_stack_rules(stack, rules, settings)]


def evaluate_each(
    stack: Stack, rules: Sequence[Rule], settings: RuleConfiguration = DEFAULT_CONFIGURATION
) -> list[Finding]:
    """The results of the rules on each resource alone."""
    single: dict[str, list[Rule]] = {}
    for rule in _active(rules, settings):
        for kind in rule.kinds if rule.check else ():
            single.setdefault(kind, []).append(rule)
    return [
        adjusted
        for resource in stack.resources
        for rule in single.get(resource.group_kind, ())
        for finding in check_resource(rule, resource, settings)
        if (adjusted := _adjusted(finding, resource, stack, settings)) is not None
    ]


def _adjusted(
    finding: Finding, resource: Resource, stack: Stack, settings: RuleConfiguration
) -> Finding | None:
    """The finding as adjusted by the rest of the stack; None if it does not apply."""
    adjust = finding.rule.adjust
    if adjust is None or finding.state is not FindingState.OPEN or finding.is_advisory:
        return finding
    try:
        effect = adjust(stack, resource, finding.diagnostic.path)
    except NotEvaluatedError:  # unknown values in other resources never excuse a violation
        return finding
    if effect is ContextEffect.NONE:
        return None
    if effect is ContextEffect.FULL or not _counts_choices_apart(finding.rule, settings):
        return finding
    if effect is ContextEffect.CHOICE:
        return replace(finding, is_advisory=True)
    lowered = finding.diagnostic.severity is Severity.ERROR
    return finding.with_diagnostic(severity=Severity.WARNING) if lowered else finding


def _counts_choices_apart(rule: Rule, settings: RuleConfiguration) -> bool:
    return not settings.counts_advisory and rule.id not in settings.severities


def evaluate_stack_rules(
    stack: Stack, rules: Sequence[Rule], settings: RuleConfiguration = DEFAULT_CONFIGURATION
) -> list[Finding]:
    """The results of the rules on all resources together."""
    return [
        finding
        for rule in _active(rules, settings)
        if rule.check_stack and any(kind in stack.by_kind for kind in rule.kinds)
        for finding in check_stack(rule, stack, settings)
    ]


def _active(rules: Sequence[Rule], settings: RuleConfiguration) -> list[Rule]:
    return [rule for rule in rules if rule.id not in settings.off]


def check_resource(rule: Rule, resource: Resource, settings: RuleConfiguration) -> list[Finding]:
    """The results of one rule on one resource."""
    return _findings(rule, resource, settings, rule.check, resource) if rule.check else []


def check_stack(rule: Rule, stack: Stack, settings: RuleConfiguration) -> list[Finding]:
    """The results of one rule on all resources together."""
    return _findings(rule, None, settings, rule.check_stack, stack) if rule.check_stack else []


class TimeLimitReached(BaseException):
    """Ends all rules: an Exception would be reported as a failure of one rule."""


def _findings(
    rule: Rule,
    resource: Resource | None,
    settings: RuleConfiguration,
    check: Callable[[Any, Parameters], Iterator[Violation]],
    subject: Resource | Stack,
) -> list[Finding]:
    """A rule that raises gives a separate result: an exception would hide the other results."""
    severity = settings.severities.get(rule.id, rule.severity)
    parameters = {**rule.parameters, **settings.parameters.get(rule.id, {})}

    def check_in_time(subject: Resource | Stack) -> Iterator[Violation]:
        if settings.is_over():
            raise TimeLimitReached
        return check(subject, parameters)

    results: list[Finding] = []
    hidden: dict[tuple[int, str], tuple[Resource | None, Path]] = {}
    try:
        # one by one: results before a failure count
        for violation, holds in _with_placeholders(check_in_time, subject):
            about = violation.resource or resource
            if holds:
                results.append(_violated(rule, about, violation, settings))
            else:
                hidden.setdefault((id(about), UNFILLED_PLACEHOLDER), (about, violation.path))
    except NotEvaluatedError:
        hidden[id(resource), _UNKNOWN] = (resource, ())
    except Exception as e:  # noqa: BLE001  for any error of a rule, the report names the rule
        problem = f"the rule failed: {type(e).__name__}: {e}; please report it"
        failed = Diagnostic(rule.id, (), problem, severity=severity)
        results.append(Finding(rule, resource, FindingState.FAILED, failed))
    for (_, why), (about, path) in hidden.items():
        unknown = Diagnostic(rule.id, path, why, severity=severity)
        results.append(Finding(rule, about, FindingState.NOT_EVALUATED, unknown))
    return results


def _with_placeholders(check: _Check, subject: Any) -> Iterator[tuple[Violation, bool]]:
    """The violations of a rule, each with whether it holds for any value of the placeholder."""
    unfilled_count = 0
    for violation in check(subject):
        about = subject if isinstance(subject, Resource) else violation.resource
        properties = about and with_unknowns(about.properties, violation.path)
        if about is None or properties is None or properties is about.properties:
            yield violation, True  # no placeholder at the violated place
            continue
        unfilled_count += 1
        yield (
            violation,
            unfilled_count <= _MOST_PLACEHOLDERS
            and _holds_unfilled(check, subject, violation, about, properties),
        )


def _holds_unfilled(
    check: _Check, subject: Any, violation: Violation, about: Resource, properties: Any
) -> bool:
    """Whether the same place is violated before the rule reaches an unknown value."""
    unfilled = replace(about, properties=properties)
    again: Resource | Stack = unfilled
    if isinstance(subject, Stack):
        again = Stack(tuple(unfilled if each is about else each for each in subject.resources))
    try:
        return any(
            each.path == violation.path and (each.resource or unfilled) is unfilled
            for each in check(again)
        )
    except NotEvaluatedError:
        return False


def _violated(
    rule: Rule, resource: Resource | None, violation: Violation, settings: RuleConfiguration
) -> Finding:
    severity = settings.severities.get(rule.id, violation.severity or rule.severity)
    state, note = FindingState.OPEN, ""
    if (exemption := _exempt(rule, resource, settings)) is not None:
        expired = settings.is_expired(exemption)
        state = FindingState.OPEN if expired else FindingState.EXEMPTED
        until = f"expired on {exemption.expires}" if expired else f"until {exemption.expires}"
        note = f"exception {until}: {exemption.reason}"
    choice = violation.is_advisory and _counts_choices_apart(rule, settings)
    diagnostic = violation.diagnostic(rule.id, severity)
    return Finding(rule, resource, state, diagnostic, note, choice)


def _exempt(rule: Rule, resource: Resource | None, settings: RuleConfiguration) -> Exemption | None:
    """The exemption with the latest end."""
    name = resource.name if resource else ""
    results = (e for e in settings.exemptions if e.rule == rule.id and e.resource == name)
    return max(results, key=lambda e: e.expires, default=None)
