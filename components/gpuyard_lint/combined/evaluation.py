"""Rules over files: a finding must hold for the whole input and for what is deployed together.

Within a folder alone a rule would miss resources in another folder; over all files it would mix two
clusters. A finding in both is wrong wherever the files are applied.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gpuyard_core.findings import Path
from gpuyard_lint.combined.overlay_evaluation import (
    LocatedOutcome,
    are_changes_certain,
    evaluate_overlays,
    is_certain_outcome,
    is_same_finding,
)
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
) -> Iterator[LocatedOutcome]:
    """The results of the rules on the input as written and as deployed."""
    # commands count only over all files: they excuse a finding there, and never cause one
    stack = Stack((*(item.resource for item in reading.items), *reading.installs))
    for outcome in _each(stack, rules, settings, result):
        yield LocatedOutcome(outcome)
    yield from evaluate_overlays(stack, rules, settings, result, reading.example_files)
    for outcome in _of_several(reading, stack, rules, settings, result):
        yield LocatedOutcome(outcome)


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
    known = {_key(outcome) for outcome in outcomes}
    for scope, hits in zip(results, by_scope, strict=True):
        new = {key: each for key, each in hits.items() if key not in known}
        if new and scope.file not in {"", *reading.example_files} and are_changes_certain(scope):
            for outcome in _put_in_scope(stack, rules, settings, scope, new):
                if outcome.resource is None or outcome.resource.source not in reading.example_files:
                    yield outcome


def _is_all(scope: LintScope, items: int) -> bool:
    """Whether it is the whole input, as written."""
    as_written = all(written is as_deployed for written, as_deployed in scope.resources)
    return as_written and not scope.absent_resources and len(scope.resources) == items


def _each(
    stack: Stack, rules: Sequence[Rule], settings: RuleConfiguration, results: Sequence[LintScope]
) -> Iterator[RuleOutcome]:
    """For one resource: the findings that hold as written, and as deployed at least once."""
    forms: dict[int, list[tuple[Resource, LintScope]]] = {}
    for scope in results:
        for written, as_deployed in scope.resources:
            forms.setdefault(id(written), []).append((as_deployed, scope))
    for outcome in evaluate_each(stack, rules, settings):
        adjusted = _as_it_holds(outcome, forms.get(id(outcome.resource), ()), settings)
        if adjusted is not None:
            yield adjusted


def _as_it_holds(
    outcome: RuleOutcome, forms: Sequence[tuple[Resource, LintScope]], settings: RuleConfiguration
) -> RuleOutcome | None:
    """The severity as deployed, at most that as written; None if it does not hold.

    With the message for the deployed object, if a kustomization changes it and none deploys it as written.
    """
    holds: list[tuple[RuleOutcome, LintScope]] = []
    for form, scope in forms:
        deployed_outcome = _deployed_outcome(outcome, form, settings)
        if deployed_outcome is None:
            continue
        if (
            deployed_outcome.diagnostic.severity.rank >= outcome.diagnostic.severity.rank
            and deployed_outcome.diagnostic.problem == outcome.diagnostic.problem
        ):
            return outcome
        holds.append((deployed_outcome, scope))
    if not holds:
        return None
    highest = max(
        (deployed_outcome.diagnostic.severity for deployed_outcome, _ in holds),
        key=lambda each: each.rank,
    )
    capped = min(outcome.diagnostic.severity, highest, key=lambda each: each.rank)
    adjusted = outcome.with_diagnostic(severity=capped)
    if (
        len({deployed_outcome.diagnostic.problem for deployed_outcome, _ in holds}) > 1
        or outcome.verdict in _BROKEN
    ):
        return adjusted
    return _in_its_words(adjusted, *holds[0])


def _in_its_words(
    outcome: RuleOutcome, deployed_outcome: RuleOutcome, scope: LintScope
) -> RuleOutcome:
    """The name of an object that a kustomization certainly creates."""
    deployed = deployed_outcome.diagnostic
    for each in scope.kustomized if deployed.problem != outcome.diagnostic.problem else ():
        if each.item.resource is outcome.resource and is_certain_outcome(each, deployed_outcome):
            note = outcome.note or f"as {each.file} deploys it"
            named = outcome.with_diagnostic(problem=deployed.problem, fix=deployed.fix)
            return replace(named, note=note)
    return outcome


def _deployed_outcome(
    outcome: RuleOutcome, form: Resource, settings: RuleConfiguration
) -> RuleOutcome | None:
    """The same for an object as deployed, which may lower the severity; None if it does not hold."""
    if form is outcome.resource:
        return outcome
    known_as = replace(form, name=outcome.resource.name) if outcome.resource else form
    outcomes = check_resource(outcome.rule, known_as, settings)
    # a list with more items has the same item at another index
    same = (
        each
        for each in outcomes
        if each.verdict is outcome.verdict and is_same_finding(each, outcome)
    )
    return max(same, key=lambda each: each.diagnostic.severity.rank, default=None)


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


def _put_in_scope(
    stack: Stack,
    rules: Sequence[Rule],
    settings: RuleConfiguration,
    scope: LintScope,
    hits: HitsByKey,
) -> Iterator[RuleOutcome]:
    """For several resources: findings that a kustomization introduces."""
    named = {rule for rule, _, _ in hits}
    changed_rules = [rule for rule in rules if rule.id in named and not rule.is_stack_wide]
    written = replace(scope, resources=tuple((w, w) for w, _ in scope.resources))
    before = _in_scope(written, changed_rules, settings)
    deployed_by_id = {id(w): t for w, t in scope.resources}
    own = {id(t): w for w, t in scope.resources}
    everything = Stack(tuple(deployed_by_id.get(id(each), each) for each in stack.resources))
    everywhere = {
        _key(replace(each, resource=own.get(id(each.resource), each.resource)))
        for each in evaluate_stack_rules(everything, changed_rules, settings)
    }
    for key, outcomes in hits.items():
        if key in everywhere and key not in before:
            yield from (_as_deployed(each, scope) for each in outcomes if _accuses(each))


def _accuses(outcome: RuleOutcome) -> bool:
    return outcome.verdict is RuleVerdict.VIOLATED and not outcome.is_advisory


def _as_deployed(outcome: RuleOutcome, scope: LintScope) -> RuleOutcome:
    problem = f"{outcome.diagnostic.problem} (as {scope.file} deploys it)"
    return outcome.with_diagnostic(problem=problem)


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
