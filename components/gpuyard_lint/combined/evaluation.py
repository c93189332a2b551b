"""Rules over files: a finding must hold for the whole input and for what is deployed together.

Within a folder alone a rule would miss resources in another folder; over all files it would mix two
clusters. A finding in both is wrong wherever the files are applied.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gpuyard_core.findings import Path, Severity
from gpuyard_lint.combined.scopes import LintScope
from gpuyard_lint.items import LintInput
from gpuyard_lint.rules.rule import Resource, Rule, Stack
from gpuyard_lint.rules.run import (
    RuleConfiguration,
    RuleOutcome,
    RuleVerdict,
    check_resource,
    evaluate_each,
    evaluate_stack_rules,
)

HitKey = tuple[str, int, Path]
"""A rule, a resource, and a path in it."""
HitsByKey = dict[HitKey, list[RuleOutcome]]


def evaluate_files(
    reading: LintInput,
    rules: Sequence[Rule],
    settings: RuleConfiguration,
    result: Sequence[LintScope],
) -> Iterator[RuleOutcome]:
    """The results of the rules on the input as written and as deployed."""
    # commands count only over all files: they excuse a finding there, and never cause one
    stack = Stack((*(item.resource for item in reading.items), *reading.installs))
    yield from _each(stack, rules, settings, result)
    yield from _of_several(reading, stack, rules, settings, result)


def _of_several(
    reading: LintInput,
    stack: Stack,
    rules: Sequence[Rule],
    settings: RuleConfiguration,
    results: Sequence[LintScope],
) -> Iterator[RuleOutcome]:
    outcomes = evaluate_stack_rules(stack, rules, settings)
    if len(results) == 1 and _is_all(results[0], len(reading.items)):
        yield from outcomes
        return
    by_scope = [_in_scope(each, rules, _by_their_names(settings, each)) for each in results]
    yield from _combined(outcomes, by_scope)


def _is_all(scope: LintScope, items: int) -> bool:
    """Whether it is the whole input, as written."""
    as_written = all(written is as_deployed for written, as_deployed in scope.resources)
    return as_written and not scope.absent_resources and len(scope.resources) == items


def _each(
    stack: Stack, rules: Sequence[Rule], settings: RuleConfiguration, results: Sequence[LintScope]
) -> Iterator[RuleOutcome]:
    """For one resource: the findings that hold as written, and as deployed at least once."""
    forms: dict[int, list[Resource]] = {}
    for scope in results:
        for written, as_deployed in scope.resources:
            forms.setdefault(id(written), []).append(as_deployed)
    for outcome in evaluate_each(stack, rules, settings):
        severities = [
            severity
            for form in forms.get(id(outcome.resource), ())
            if (severity := _severity_as_deployed(outcome, form, settings)) is not None
        ]
        if severities:
            highest = max(severities, key=lambda each: each.rank)
            is_lower = highest.rank < outcome.diagnostic.severity.rank
            yield outcome.with_diagnostic(severity=highest) if is_lower else outcome


def _severity_as_deployed(
    outcome: RuleOutcome, form: Resource, settings: RuleConfiguration
) -> Severity | None:
    """The severity for an object as deployed; None if the finding does not hold there."""
    if form is outcome.resource:
        return outcome.diagnostic.severity
    known_as = replace(form, name=outcome.resource.name) if outcome.resource else form
    same = (
        each.diagnostic.severity
        for each in check_resource(outcome.rule, known_as, settings)
        if each.verdict is outcome.verdict and _is_same_finding(each, outcome)
    )
    return max(same, key=lambda each: each.rank, default=None)


def _is_same_finding(one: RuleOutcome, other: RuleOutcome) -> bool:
    """A list with more items has the same item at another index."""
    a, b = one.diagnostic, other.diagnostic
    return a.path == b.path or a.problem == b.problem


def _combined(
    unscoped: Sequence[RuleOutcome], by_scope: Sequence[HitsByKey]
) -> Iterator[RuleOutcome]:
    """The most severe finding at a place over all files and in a scope, with the message of the scope.

    Unless all files lower it or make it advisory: another folder may pin an older version.
    """
    scoped: HitsByKey = {}
    for each in by_scope:
        for key, scoped_outcomes in each.items():
            scoped.setdefault(key, scoped_outcomes)
    stopped = {
        o.rule.id for o in unscoped if o.verdict is RuleVerdict.NOT_EVALUATED and o.resource is None
    }
    over_all: HitsByKey = {}
    for outcome in unscoped:
        if outcome.verdict in _BROKEN or outcome.rule.is_stack_wide:
            yield outcome
        else:
            over_all.setdefault(_key(outcome), []).append(outcome)
    for key, outcomes in over_all.items():
        if scoped_outcomes := scoped.pop(key, []):
            yield from (
                scoped_outcomes if _weight(scoped_outcomes) <= _weight(outcomes) else outcomes
            )
    for (rule, _, _), scoped_outcomes in scoped.items():
        if rule in stopped:  # over all files the rule stopped before it had reported everything
            yield from scoped_outcomes


def _by_their_names(settings: RuleConfiguration, scope: LintScope) -> RuleConfiguration:
    """Exceptions for an object as written also apply to it as deployed: a kustomization may rename it."""
    if not settings.exemptions:
        return settings
    renamed = {
        (w.name, as_deployed.name)
        for w, as_deployed in scope.resources
        if w.name != as_deployed.name
    }
    more = [
        replace(each, resource=now)
        for each in settings.exemptions
        for name, now in sorted(renamed)
        if each.resource == name
    ]
    return replace(settings, exemptions=(*settings.exemptions, *more))


def _weight(outcomes: Sequence[RuleOutcome]) -> tuple[bool, int]:
    """An advisory finding ranks below any other, regardless of the severity."""
    return max((not each.is_advisory, each.diagnostic.severity.rank) for each in outcomes)


_BROKEN = frozenset({RuleVerdict.NOT_EVALUATED, RuleVerdict.FAILED})


def _in_scope(scope: LintScope, rules: Sequence[Rule], settings: RuleConfiguration) -> HitsByKey:
    """Findings that hold with every alternative, such as either of two values files of one chart."""
    sets = scope.absent_resources or ((),)
    hits_by_set = [_of(scope, {id(each) for each in absent}, rules, settings) for absent in sets]
    absent_ids = [{id(each) for each in absent} for absent in sets]
    return {
        key: outcomes
        for each in hits_by_set
        for key, outcomes in each.items()
        if all(
            key in other or key[1] in absent
            for other, absent in zip(hits_by_set, absent_ids, strict=True)
        )
    }


def _of(
    scope: LintScope, absent: set[int], rules: Sequence[Rule], settings: RuleConfiguration
) -> HitsByKey:
    pairs = [pair for pair in scope.resources if id(pair[0]) not in absent]
    written: Mapping[int, Resource] = {id(as_deployed): written for written, as_deployed in pairs}
    hits: HitsByKey = {}
    for outcome in evaluate_stack_rules(
        Stack(tuple(as_deployed for _, as_deployed in pairs)), rules, settings
    ):
        if outcome.verdict not in _BROKEN:
            own = written.get(id(outcome.resource))
            placed = replace(outcome, resource=own)
            hits.setdefault(_key(placed), []).append(placed)
    return hits


def _key(outcome: RuleOutcome) -> HitKey:
    resource = id(outcome.resource) if outcome.resource else 0
    return outcome.rule.id, resource, outcome.diagnostic.path
