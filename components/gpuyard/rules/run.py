"""Holds resources against rules: what is wrong, what could not be seen, and what a user has let pass."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum

from gpuyard.findings import Path, Severity
from gpuyard.rules.filled_in import RuleCheck, certain
from gpuyard.rules.rule import (
    NotEvaluatedError,
    Parameters,
    Resource,
    Rule,
    Stack,
    Standing,
    Violation,
    Weighs,
)


class RuleVerdict(StrEnum):
    """What a rule says of a resource. Not evaluated is not passed."""

    VIOLATED = "violated"
    NOT_EVALUATED = "not-evaluated"
    FAILED = "failed"
    EXCEPTED = "excepted"


@dataclass(frozen=True, slots=True)
class Exemption:
    """A place where a rule need not hold for a while."""

    rule: str
    resource: str
    reason: str
    expires: date


@dataclass(frozen=True, slots=True)
class Strictness:
    """How strictly a user wants rules held."""

    off: frozenset[str] = frozenset()
    severities: Mapping[str, Severity] = field(default_factory=dict)
    parameters: Mapping[str, Parameters] = field(default_factory=dict)
    exemptions: tuple[Exemption, ...] = ()
    today: date | None = None
    """The day exemptions are judged by; without one, none has expired."""
    choices: bool = False
    """Whether what can be defended counts as well."""

    def is_over(self, exemption: Exemption) -> bool:
        """Whether the rule holds again."""
        return self.today is not None and exemption.expires <= self.today


_UNKNOWN = "it needs a value that is not known yet"
FILLED_IN = "it needs a value that somebody fills in later"
AS_THEY_ARE = Strictness()
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
    choice: bool = False
    """Whether it can be defended, and nobody has asked for it."""


def evaluate(
    resources: Iterable[Resource], rules: Sequence[Rule], settings: Strictness = AS_THEY_ARE
) -> list[RuleOutcome]:
    """Everything that the rules have to say, resource by resource, then of all together."""
    stack = Stack(tuple(resources))
    return [
        *evaluate_each(stack, rules, settings),
        *evaluate_together(stack, rules, settings),
    ]


def evaluate_each(
    stack: Stack, rules: Sequence[Rule], settings: Strictness = AS_THEY_ARE
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
    rule: Rule, resource: Resource, stack: Stack, settings: Strictness
) -> list[RuleOutcome]:
    """What is said of one, as much as it weighs by all that is in view."""
    said = check_resource(rule, resource, settings)
    heard = (weighed(each, resource, stack, settings) for each in said)
    return [each for each in heard if each is not None]


def weighed(
    said: RuleOutcome, resource: Resource, stack: Stack, settings: Strictness
) -> RuleOutcome | None:
    """One thing that is said of a resource, as much as it weighs by all that is in view; None for nothing."""
    weighs = said.rule.weighs
    if weighs is None or said.verdict is not RuleVerdict.VIOLATED or said.choice:
        return said
    weight = _standing(weighs, stack, resource, said.path)
    if weight is Standing.NONE:
        return None
    return _weighed(said, weight) if _counts_choices_apart(said.rule, settings) else said


def _standing(weighs: Weighs, stack: Stack, resource: Resource, path: Path) -> Standing:
    """What cannot be known of the others defends nobody."""
    try:
        return weighs(stack, resource, path)
    except NotEvaluatedError:
        return Standing.FULL


def _weighed(said: RuleOutcome, weight: Standing) -> RuleOutcome:
    if weight is Standing.CHOICE:
        return replace(said, choice=True)
    grave = said.severity is Severity.REFUSE and weight is Standing.UNSURE
    return replace(said, severity=Severity.WARN) if grave else said


def _counts_choices_apart(rule: Rule, settings: Strictness) -> bool:
    return not settings.choices and rule.id not in settings.severities


def evaluate_together(
    stack: Stack, rules: Sequence[Rule], settings: Strictness = AS_THEY_ARE
) -> list[RuleOutcome]:
    """What the rules have to say of all resources together."""
    return [
        outcome
        for rule in _active(rules, settings)
        if rule.check_stack and any(kind in stack.by_kind for kind in rule.kinds)
        for outcome in check_stack(rule, stack, settings)
    ]


def _active(rules: Sequence[Rule], settings: Strictness) -> list[Rule]:
    return [rule for rule in rules if rule.id not in settings.off]


def check_resource(rule: Rule, resource: Resource, settings: Strictness) -> list[RuleOutcome]:
    """What one rule has to say of one resource."""
    if rule.check is None:
        return []
    return _said(rule, resource, settings, rule.check, resource)


def check_stack(rule: Rule, stack: Stack, settings: Strictness) -> list[RuleOutcome]:
    """What one rule has to say of all resources together."""
    if rule.check_stack is None:
        return []
    return _said(rule, None, settings, rule.check_stack, stack)


def _said(
    rule: Rule,
    resource: Resource | None,
    settings: Strictness,
    check: RuleCheck,
    subject: Resource | Stack,
) -> list[RuleOutcome]:
    """A rule that fails is an outcome of its own: an exception would hide what all others have to say."""
    severity = settings.severities.get(rule.id, rule.severity)
    parameters = {**rule.parameters, **settings.parameters.get(rule.id, {})}
    found: list[RuleOutcome] = []
    hidden: dict[tuple[int, str], tuple[Resource | None, Path]] = {}
    try:
        # one by one: what was said before a failure counts
        for said, holds in certain(check, subject, parameters):
            about = said.resource or resource
            if holds:
                found.append(_violated(rule, about, said, settings))
            else:
                hidden.setdefault((id(about), FILLED_IN), (about, said.path))
    except NotEvaluatedError:
        hidden[id(resource), _UNKNOWN] = (resource, ())
    except Exception as e:  # noqa: BLE001  whatever a rule did wrong, the user is told which one
        problem = f"the rule failed: {type(e).__name__}: {e}; please report it"
        found.append(RuleOutcome(rule, resource, RuleVerdict.FAILED, severity, (), problem))
    found.extend(
        RuleOutcome(rule, about, RuleVerdict.NOT_EVALUATED, severity, path, why)
        for (_, why), (about, path) in hidden.items()
    )
    return found


def _violated(
    rule: Rule, resource: Resource | None, said: Violation, settings: Strictness
) -> RuleOutcome:
    severity = settings.severities.get(rule.id, said.severity or rule.severity)
    verdict, note = RuleVerdict.VIOLATED, ""
    if (exemption := _exempt(rule, resource, settings)) is not None:
        expired = settings.is_over(exemption)
        verdict = RuleVerdict.VIOLATED if expired else RuleVerdict.EXCEPTED
        until = f"expired on {exemption.expires}" if expired else f"until {exemption.expires}"
        note = f"exception {until}: {exemption.reason}"
    choice = said.choice and _counts_choices_apart(rule, settings)
    return RuleOutcome(
        rule, resource, verdict, severity, said.path, said.problem, said.fix, note, choice
    )


def _exempt(rule: Rule, resource: Resource | None, settings: Strictness) -> Exemption | None:
    """Of several the one that ends last."""
    name = resource.name if resource else ""
    found = (e for e in settings.exemptions if e.rule == rule.id and e.resource == name)
    return max(found, key=lambda e: e.expires, default=None)
