"""Check resources against rules: violations, unknown values and exemptions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from typing import Any

from gpuyard_core.findings import Diagnostic, Path, Severity
from gpuyard_lint.rules.placeholders import RuleCheck, check_with_placeholders
from gpuyard_lint.rules.rule import (
    AdjustForContext,
    ContextEffect,
    NotEvaluatedError,
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
)


class RuleVerdict(StrEnum):
    """The verdict of a rule on a resource. Not evaluated is not passed."""

    VIOLATED = "violated"
    NOT_EVALUATED = "not-evaluated"
    FAILED = "failed"
    EXEMPTED = "excepted"


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

    def is_expired(self, exemption: Exemption) -> bool:
        """Whether the exemption has expired."""
        return self.today is not None and exemption.expires <= self.today


_UNKNOWN = "it needs a value that is not known yet"
UNFILLED_PLACEHOLDER = "it needs a value that is still a placeholder"
DEFAULT_CONFIGURATION = RuleConfiguration()
"""Every rule at its own severity, without exemptions."""


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """One result of a rule."""

    rule: Rule
    resource: Resource | None
    """None if the rule is about the whole stack."""
    verdict: RuleVerdict
    diagnostic: Diagnostic
    note: str = ""
    """The reason of an exemption, or that it has expired."""
    is_advisory: bool = False
    """Whether it is a defensible choice that does not count by default."""

    def with_diagnostic(self, **fields: Any) -> "RuleOutcome":
        """The outcome with other fields of its diagnostic."""
        return replace(self, diagnostic=replace(self.diagnostic, **fields))


def evaluate(
    resources: Iterable[Resource],
    rules: Sequence[Rule],
    settings: RuleConfiguration = DEFAULT_CONFIGURATION,
) -> list[RuleOutcome]:
    """All results of the rules: for each resource, then for all together."""
    stack = Stack(tuple(resources))
    return [*evaluate_each(stack, rules, settings), *evaluate_stack_rules(stack, rules, settings)]


def evaluate_each(
    stack: Stack, rules: Sequence[Rule], settings: RuleConfiguration = DEFAULT_CONFIGURATION
) -> list[RuleOutcome]:
    """The results of the rules on each resource alone."""
    single: dict[str, list[Rule]] = {}
    for rule in _active(rules, settings):
        for kind in rule.kinds if rule.check else ():
            single.setdefault(kind, []).append(rule)
    return [
        outcome
        for resource in stack.resources
        for rule in single.get(resource.group_kind, ())
        for outcome in _among_others(rule, resource, stack, settings)
    ]


def _among_others(
    rule: Rule, resource: Resource, stack: Stack, settings: RuleConfiguration
) -> list[RuleOutcome]:
    """The results for one resource, adjusted by the rest of the stack."""
    outcomes = check_resource(rule, resource, settings)
    weighted = (apply_context(each, resource, stack, settings) for each in outcomes)
    return [each for each in weighted if each is not None]


def apply_context(
    outcome: RuleOutcome, resource: Resource, stack: Stack, settings: RuleConfiguration
) -> RuleOutcome | None:
    """One result for a resource, adjusted by the rest of the stack; None if it does not apply."""
    weighs = outcome.rule.adjust
    if weighs is None or outcome.verdict is not RuleVerdict.VIOLATED or outcome.is_advisory:
        return outcome
    weight = _context_effect(weighs, stack, resource, outcome.diagnostic.path)
    if weight is ContextEffect.NONE:
        return None
    return _adjusted(outcome, weight) if _counts_choices_apart(outcome.rule, settings) else outcome


def _context_effect(
    weighs: AdjustForContext, stack: Stack, resource: Resource, path: Path
) -> ContextEffect:
    """Unknown values in other resources never excuse a violation."""
    try:
        return weighs(stack, resource, path)
    except NotEvaluatedError:
        return ContextEffect.FULL


def _adjusted(outcome: RuleOutcome, weight: ContextEffect) -> RuleOutcome:
    if weight is ContextEffect.CHOICE:
        return replace(outcome, is_advisory=True)
    lowered = outcome.diagnostic.severity is Severity.ERROR and weight is ContextEffect.UNSURE
    return outcome.with_diagnostic(severity=Severity.WARNING) if lowered else outcome


def _counts_choices_apart(rule: Rule, settings: RuleConfiguration) -> bool:
    return not settings.counts_advisory and rule.id not in settings.severities


def evaluate_stack_rules(
    stack: Stack, rules: Sequence[Rule], settings: RuleConfiguration = DEFAULT_CONFIGURATION
) -> list[RuleOutcome]:
    """The results of the rules on all resources together."""
    return [
        outcome
        for rule in _active(rules, settings)
        if rule.check_stack and any(kind in stack.by_kind for kind in rule.kinds)
        for outcome in check_stack(rule, stack, settings)
    ]


def _active(rules: Sequence[Rule], settings: RuleConfiguration) -> list[Rule]:
    return [rule for rule in rules if rule.id not in settings.off]


def check_resource(
    rule: Rule, resource: Resource, settings: RuleConfiguration
) -> list[RuleOutcome]:
    """The results of one rule on one resource."""
    if rule.check is None:
        return []
    return _outcomes(rule, resource, settings, rule.check, resource)


def check_stack(rule: Rule, stack: Stack, settings: RuleConfiguration) -> list[RuleOutcome]:
    """The results of one rule on all resources together."""
    if rule.check_stack is None:
        return []
    return _outcomes(rule, None, settings, rule.check_stack, stack)


def _outcomes(
    rule: Rule,
    resource: Resource | None,
    settings: RuleConfiguration,
    check: RuleCheck,
    subject: Resource | Stack,
) -> list[RuleOutcome]:
    """A rule that raises gives a separate result: an exception would hide the other results."""
    severity = settings.severities.get(rule.id, rule.severity)
    parameters = {**rule.parameters, **settings.parameters.get(rule.id, {})}
    results: list[RuleOutcome] = []
    hidden: dict[tuple[int, str], tuple[Resource | None, Path]] = {}
    try:
        # one by one: results before a failure count
        for violation, holds in check_with_placeholders(check, subject, parameters):
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
        results.append(RuleOutcome(rule, resource, RuleVerdict.FAILED, failed))
    for (_, why), (about, path) in hidden.items():
        unknown = Diagnostic(rule.id, path, why, severity=severity)
        results.append(RuleOutcome(rule, about, RuleVerdict.NOT_EVALUATED, unknown))
    return results


def _violated(
    rule: Rule, resource: Resource | None, violation: Violation, settings: RuleConfiguration
) -> RuleOutcome:
    severity = settings.severities.get(rule.id, violation.severity or rule.severity)
    verdict, note = RuleVerdict.VIOLATED, ""
    if (exemption := _exempt(rule, resource, settings)) is not None:
        expired = settings.is_expired(exemption)
        verdict = RuleVerdict.VIOLATED if expired else RuleVerdict.EXEMPTED
        until = f"expired on {exemption.expires}" if expired else f"until {exemption.expires}"
        note = f"exception {until}: {exemption.reason}"
    choice = violation.is_advisory and _counts_choices_apart(rule, settings)
    diagnostic = violation.diagnostic(rule.id, severity)
    return RuleOutcome(rule, resource, verdict, diagnostic, note, choice)


def _exempt(rule: Rule, resource: Resource | None, settings: RuleConfiguration) -> Exemption | None:
    """The exemption with the latest end."""
    name = resource.name if resource else ""
    results = (e for e in settings.exemptions if e.rule == rule.id and e.resource == name)
    return max(results, key=lambda e: e.expires, default=None)
