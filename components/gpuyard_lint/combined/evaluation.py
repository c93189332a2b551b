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
    Finding,
    FindingState,
    RuleConfiguration,
    check_resource,
    evaluate_each,
    evaluate_stack_rules,
)

HitKey = tuple[str, int, Path]
"""A rule, a resource, and a path in it."""
HitsByKey = dict[HitKey, list[Finding]]


def evaluate_files(
    reading: LintInput,
    rules: Sequence[Rule],
    settings: RuleConfiguration,
    scopes: Sequence[LintScope],
) -> Iterator[Finding]:
    """The findings in the input as written and as deployed."""
    # commands count only over all files: they excuse a finding there, and never cause one
    stack = Stack((*(item.resource for item in reading.items), *reading.installs))
    yield from _each(stack, rules, settings, scopes)
    findings = evaluate_stack_rules(stack, rules, settings)
    if len(scopes) == 1 and _is_all(scopes[0], len(reading.items)):
        yield from findings
    else:
        by_scope = [_in_scope(each, rules, _by_their_names(settings, each)) for each in scopes]
        yield from _combined(findings, by_scope)


def _is_all(scope: LintScope, items: int) -> bool:
    """Whether it is the whole input, as written."""
    as_written = all(written is as_deployed for written, as_deployed in scope.resources)
    return as_written and not scope.absent_resources and len(scope.resources) == items


def _each(
    stack: Stack, rules: Sequence[Rule], settings: RuleConfiguration, scopes: Sequence[LintScope]
) -> Iterator[Finding]:
    """For one resource: the findings that hold as written, and as deployed at least once."""
    forms: dict[int, list[Resource]] = {}
    for scope in scopes:
        for written, form in scope.resources:
            known_as = form if form is written else replace(form, name=written.name)
            forms.setdefault(id(written), []).append(known_as)
    as_deployed: dict[tuple[str, int], list[Finding]] = {}
    for finding in evaluate_each(stack, rules, settings):
        severities: list[Severity] = []
        for form in forms.get(id(finding.resource), ()):
            key = finding.rule.id, id(form)
            if form is finding.resource:
                severities.append(finding.diagnostic.severity)
                continue
            if key not in as_deployed:
                as_deployed[key] = check_resource(finding.rule, form, settings)
            severities += [
                each.diagnostic.severity for each in as_deployed[key] if _is_same(each, finding)
            ]
        if severities:
            highest = max(severities, key=lambda each: each.rank)
            is_lower = highest.rank < finding.diagnostic.severity.rank
            yield finding.with_diagnostic(severity=highest) if is_lower else finding


def _is_same(one: Finding, other: Finding) -> bool:
    """A list with more items has the same item at another index."""
    a, b = one.diagnostic, other.diagnostic
    return one.state is other.state and (a.path == b.path or a.problem == b.problem)


def _combined(over_all: Sequence[Finding], by_scope: Sequence[HitsByKey]) -> Iterator[Finding]:
    """The most severe finding at a place over all files and in a scope, with the message of the scope.

    Unless all files lower it or make it advisory: another folder may pin an older version.
    """
    scoped: HitsByKey = {}
    for each in by_scope:
        for key, findings in each.items():
            scoped.setdefault(key, findings)
    stopped = {
        each.rule.id
        for each in over_all
        if each.state is FindingState.NOT_EVALUATED and each.resource is None
    }
    unscoped: HitsByKey = {}
    for finding in over_all:
        if finding.state in _BROKEN or finding.rule.is_stack_wide:
            yield finding
        else:
            unscoped.setdefault(_key(finding), []).append(finding)
    for key, findings in unscoped.items():
        if in_scope := scoped.pop(key, []):
            yield from min(in_scope, findings, key=_weight)
    for (rule, _, _), findings in scoped.items():
        if rule in stopped:  # over all files the rule stopped before it had reported everything
            yield from findings


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


def _weight(findings: Sequence[Finding]) -> tuple[bool, int]:
    """An advisory finding ranks below any other, regardless of the severity."""
    return max((not each.is_advisory, each.diagnostic.severity.rank) for each in findings)


_BROKEN = frozenset({FindingState.NOT_EVALUATED, FindingState.FAILED})


def _in_scope(scope: LintScope, rules: Sequence[Rule], settings: RuleConfiguration) -> HitsByKey:
    """Findings that hold with every alternative, such as either of two values files of one chart."""
    absent_ids = [{id(each) for each in absent} for absent in scope.absent_resources or ((),)]
    alternatives = [(absent, _of(scope, absent, rules, settings)) for absent in absent_ids]
    return {
        key: findings
        for _, each in alternatives
        for key, findings in each.items()
        if all(key in other or key[1] in absent for absent, other in alternatives)
    }


def _of(
    scope: LintScope, absent: set[int], rules: Sequence[Rule], settings: RuleConfiguration
) -> HitsByKey:
    pairs = [pair for pair in scope.resources if id(pair[0]) not in absent]
    written: Mapping[int, Resource] = {id(as_deployed): written for written, as_deployed in pairs}
    hits: HitsByKey = {}
    stack = Stack(tuple(as_deployed for _, as_deployed in pairs))
    for finding in evaluate_stack_rules(stack, rules, settings):
        if finding.state not in _BROKEN:
            own = replace(finding, resource=written.get(id(finding.resource)))
            hits.setdefault(_key(own), []).append(own)
    return hits


def _key(finding: Finding) -> HitKey:
    resource = id(finding.resource) if finding.resource else 0
    return finding.rule.id, resource, finding.diagnostic.path
