"""Holds resources against rules: what is wrong, what could not be seen, and what a user has let pass."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum

from gpuyard.findings import Path, Severity
from gpuyard.rules.placeholders import RuleCheck, check_with_placeholders
from gpuyard.rules.rule import (
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
    """What a rule says of a resource. Not evaluated is not passed."""

    VIOLATED = "violated"
    NOT_EVALUATED = "not-evaluated"
    FAILED = "failed"
    EXEMPTED = "excepted"


@dataclass(frozen=True, slots=True)
class Exemption:
    """A place where a rule need not hold for a while."""

    rule: str
    resource: str
    reason: str
    expires: date


@dataclass(frozen=True, slots=True)
class RuleConfiguration:
    """How strictly a user wants rules held."""

    off: frozenset[str] = frozenset()
    severities: Mapping[str, Severity] = field(default_factory=dict)
    parameters: Mapping[str, Parameters] = field(default_factory=dict)
    exemptions: tuple[Exemption, ...] = ()
    today: date | None = None
    """The day exemptions are judged by; without one, none has expired."""
    advisory: bool = False
    """Whether what can be defended counts as well."""

    def is_over(self, exemption: Exemption) -> bool:
        """Whether the rule holds again."""
        return self.today is not None and exemption.expires <= self.today


_UNKNOWN = "it needs a value that is not known yet"
UNFILLED_PLACEHOLDER = "it needs a value that somebody fills in later"
DEFAULT_CONFIGURATION = RuleConfiguration()
"""Every rule at its own severity, nothing excepted."""


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """One thing a rule has to say."""

    rule: Rule
    resource: Resource | None
    """None where the rule was about the whole stack."""
    verdict: RuleVerdict
    severity: Severity
    path: Path
    problem: str
    fix: str = ""
    note: str = ""
    """The reason of an exemption, or that it has expired."""
    is_advisory: bool = False
    """Whether it can be defended, and nobody has asked for it."""


def evaluate(
    resources: Iterable[Resource],
    rules: Sequence[Rule],
    settings: RuleConfiguration = DEFAULT_CONFIGURATION,
) -> list[RuleOutcome]:
    """Everything that the rules have to say, resource by resource, then of all together."""
    stack = Stack(tuple(resources))
    return [
        *evaluate_each(stack, rules, settings),
        *evaluate_stack_rules(stack, rules, settings),
    ]


def evaluate_each(
    stack: Stack, rules: Sequence[Rule], settings: RuleConfiguration = DEFAULT_CONFIGURATION
) -> list[RuleOutcome]:
    """What the rules have to say of each resource alone."""
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
    """What is said of one, as much as it weighs by all that is in view."""
    outcomes = check_resource(rule, resource, settings)
    weighted = (apply_context(each, resource, stack, settings) for each in outcomes)
    return [each for each in weighted if each is not None]


def apply_context(
    outcome: RuleOutcome, resource: Resource, stack: Stack, settings: RuleConfiguration
) -> RuleOutcome | None:
    """One thing that is said of a resource, as much as it weighs by all that is in view; None for nothing."""
    weighs = outcome.rule.adjust
    if weighs is None or outcome.verdict is not RuleVerdict.VIOLATED or outcome.is_advisory:
        return outcome
    weight = _context_effect(weighs, stack, resource, outcome.path)
    if weight is ContextEffect.NONE:
        return None
    return _adjusted(outcome, weight) if _counts_choices_apart(outcome.rule, settings) else outcome


def _context_effect(
    weighs: AdjustForContext, stack: Stack, resource: Resource, path: Path
) -> ContextEffect:
    """What cannot be known of the others defends nobody."""
    try:
        return weighs(stack, resource, path)
    except NotEvaluatedError:
        return ContextEffect.FULL


def _adjusted(outcome: RuleOutcome, weight: ContextEffect) -> RuleOutcome:
    if weight is ContextEffect.CHOICE:
        return replace(outcome, is_advisory=True)
    grave = outcome.severity is Severity.ERROR and weight is ContextEffect.UNSURE
    return replace(outcome, severity=Severity.WARNING) if grave else outcome


def _counts_choices_apart(rule: Rule, settings: RuleConfiguration) -> bool:
    return not settings.advisory and rule.id not in settings.severities


def evaluate_stack_rules(
    stack: Stack, rules: Sequence[Rule], settings: RuleConfiguration = DEFAULT_CONFIGURATION
) -> list[RuleOutcome]:
    """What the rules have to say of all resources together."""
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
    """What one rule has to say of one resource."""
    if rule.check is None:
        return []
    return _outcomes(rule, resource, settings, rule.check, resource)


def check_stack(rule: Rule, stack: Stack, settings: RuleConfiguration) -> list[RuleOutcome]:
    """What one rule has to say of all resources together."""
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
    """A rule that fails is an outcome of its own: an exception would hide what all others have to say."""
    severity = settings.severities.get(rule.id, rule.severity)
    parameters = {**rule.parameters, **settings.parameters.get(rule.id, {})}
    results: list[RuleOutcome] = []
    hidden: dict[tuple[int, str], tuple[Resource | None, Path]] = {}
    try:
        # one by one: what was said before a failure counts
        for violation, holds in check_with_placeholders(check, subject, parameters):
            about = violation.resource or resource
            if holds:
                results.append(_violated(rule, about, violation, settings))
            else:
                hidden.setdefault((id(about), UNFILLED_PLACEHOLDER), (about, violation.path))
    except NotEvaluatedError:
        hidden[id(resource), _UNKNOWN] = (resource, ())
    except Exception as e:  # noqa: BLE001  whatever a rule did wrong, the user is told which one
        problem = f"the rule failed: {type(e).__name__}: {e}; please report it"
        results.append(RuleOutcome(rule, resource, RuleVerdict.FAILED, severity, (), problem))
    results.extend(
        RuleOutcome(rule, about, RuleVerdict.NOT_EVALUATED, severity, path, why)
        for (_, why), (about, path) in hidden.items()
    )
    return results


def _violated(
    rule: Rule, resource: Resource | None, violation: Violation, settings: RuleConfiguration
) -> RuleOutcome:
    severity = settings.severities.get(rule.id, violation.severity or rule.severity)
    verdict, note = RuleVerdict.VIOLATED, ""
    if (exemption := _exempt(rule, resource, settings)) is not None:
        expired = settings.is_over(exemption)
        verdict = RuleVerdict.VIOLATED if expired else RuleVerdict.EXEMPTED
        until = f"expired on {exemption.expires}" if expired else f"until {exemption.expires}"
        note = f"exception {until}: {exemption.reason}"
    choice = violation.is_advisory and _counts_choices_apart(rule, settings)
    return RuleOutcome(
        rule,
        resource,
        verdict,
        severity,
        violation.path,
        violation.problem,
        violation.fix,
        note,
        choice,
    )


def _exempt(rule: Rule, resource: Resource | None, settings: RuleConfiguration) -> Exemption | None:
    """Of several the one that ends last."""
    name = resource.name if resource else ""
    results = (e for e in settings.exemptions if e.rule == rule.id and e.resource == name)
    return max(results, key=lambda e: e.expires, default=None)
