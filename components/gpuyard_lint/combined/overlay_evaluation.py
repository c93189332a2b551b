"""Findings that a kustomization introduces: for an object as deployed, but not as written.

Reported at the patch, image or label that introduces it: the change after which it is wrong. Only certain
changes cause a finding: a change that is assumed to apply may excuse an object, but causes none.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import items
from gpuyard_lint.combined.change_index import apply_changes
from gpuyard_lint.combined.changes import Change
from gpuyard_lint.combined.scopes import KustomizedObject, LintScope
from gpuyard_lint.items import FileLocation, Item, value_at_step
from gpuyard_lint.rules.rule import Resource, Rule, Stack
from gpuyard_lint.rules.run import (
    DEFAULT_CONFIGURATION,
    RuleConfiguration,
    RuleOutcome,
    RuleVerdict,
    apply_context,
    check_resource,
)
from gpuyard_lint.rules.subjects.installed_versions import IMAGES


@dataclass(frozen=True, slots=True)
class LocatedOutcome:
    """The finding."""

    outcome: RuleOutcome
    causing_change: Item | None = None
    """The change that causes it; None if the cause is the object's own."""


def evaluate_overlays(
    stack: Stack,
    rules: Sequence[Rule],
    settings: RuleConfiguration,
    results: Sequence[LintScope],
    samples: Collection[str],
) -> Iterator[LocatedOutcome]:
    """For one object each: findings that a kustomization introduces, once for each place."""
    by_kind: dict[str, list[Rule]] = {}
    for rule in rules:
        if rule.check and rule.id not in settings.off:
            for kind in rule.kinds:
                by_kind.setdefault(kind, []).append(rule)
    seen: set[tuple[object, ...]] = set()
    for scope in results:
        for each in scope.kustomized:
            if each.item.place.file in samples or each.file in samples:
                continue
            for rule in by_kind.get(each.deployed.group_kind, ()):
                for outcome, place in _of_one(each, rule, stack, settings):
                    key = (
                        rule.id,
                        id(each.item.resource),
                        place.file,
                        place.fixed_position,
                        outcome.diagnostic.problem,
                    )
                    if key not in seen and place.file not in samples:
                        seen.add(key)
                        thing = replace(each.item.resource)
                        item = replace(each.item, resource=thing, place=place)
                        yield LocatedOutcome(replace(outcome, resource=thing), item)


def are_changes_certain(scope: LintScope) -> bool:
    """Whether all changes of a kustomization are known, and none is only assumed to apply."""
    changed = [w for w, as_deployed in scope.resources if w is not as_deployed]
    return len(changed) == len(scope.kustomized) and all(
        each.is_kustomize_output
        or apply_changes(each.original, each.changes, sure=True)
        == apply_changes(each.original, each.changes)
        for each in scope.kustomized
    )


def _of_one(
    each: KustomizedObject, rule: Rule, stack: Stack, settings: RuleConfiguration
) -> Iterator[tuple[RuleOutcome, FileLocation]]:
    violations = _wrong(rule, each.deployed, settings)
    if not violations:
        return
    written = each.item.resource
    before = [o for r in (each.original, written) for o in _wrong(rule, r, settings)]
    for outcome in violations:
        if any(is_same_finding(outcome, other) for other in before) or not _is_sure(each, outcome):
            continue
        changed_stack = stack  # as written, if the rule checks no other resource
        if rule.adjust is not None:
            changed_stack = Stack(
                tuple(each.deployed if r is written else r for r in stack.resources)
            )
        weight = apply_context(outcome, each.deployed, changed_stack, settings)
        # a command may set the image by its written name
        as_written = apply_context(outcome, written, stack, settings)
        if weight is None or as_written is None or weight.is_advisory or as_written.is_advisory:
            continue
        blamed = _blamed(each, outcome)
        if blamed is None or blamed[0].image not in _set_by_commands(stack):
            yield _placed(each, weight, blamed)


def _set_by_commands(stack: Stack) -> set[str]:
    """Images to which `kustomize edit set image` assigns another tag before deployment."""
    return {
        name
        for each in stack.resources_of_kinds(IMAGES)
        for name in items(each.properties.get("names"))
    }


def _wrong(rule: Rule, resource: Resource, settings: RuleConfiguration) -> list[RuleOutcome]:
    outcomes = check_resource(rule, resource, settings)
    return [each for each in outcomes if each.verdict is RuleVerdict.VIOLATED]


def is_same_finding(one: RuleOutcome, other: RuleOutcome) -> bool:
    """A list with more items has the same item at another index."""
    a, b = one.diagnostic, other.diagnostic
    return a.path == b.path or a.problem == b.problem


def _holds(each: KustomizedObject, outcome: RuleOutcome, value: Any) -> bool:
    form = replace(each.deployed, properties=value)
    return any(
        is_same_finding(outcome, other)
        for other in _wrong(outcome.rule, form, DEFAULT_CONFIGURATION)
    )


def _is_sure(each: KustomizedObject, outcome: RuleOutcome) -> bool:
    """Whether it holds without assumed changes; a result of kustomize itself has none."""
    if each.is_kustomize_output:
        return True
    form = apply_changes(each.original, each.changes, sure=True)
    return form is not None and _holds(each, outcome, form.value)


def is_certain_outcome(each: KustomizedObject, outcome: RuleOutcome) -> bool:
    """The same message word for word: whether no assumed change provides these names."""
    form = (
        None if each.is_kustomize_output else apply_changes(each.original, each.changes, sure=True)
    )
    known_form = each.deployed if form is None else replace(each.deployed, properties=form.value)
    violations = _wrong(outcome.rule, known_form, DEFAULT_CONFIGURATION)
    return (each.is_kustomize_output or form is not None) and any(
        o.diagnostic.problem == outcome.diagnostic.problem for o in violations
    )


def _placed(
    each: KustomizedObject, outcome: RuleOutcome, blamed: tuple[Change, Any] | None
) -> tuple[RuleOutcome, FileLocation]:
    """At the change that introduces it; at the object as written if that is unknown."""
    if blamed is None:
        problem = f"{outcome.diagnostic.problem} (as {each.file} deploys it)"
        return outcome.with_diagnostic(problem=problem), each.item.place
    (change, value), path = blamed, outcome.diagnostic.path
    spot = change.place.position((*change.path, *change.object_path(value, path)))
    place = replace(change.place, fixed_position=spot, to_source_line=None)
    note = f"as {change.deployer_file or each.file} deploys it, of {_written(each, path)}"
    return replace(outcome, note=outcome.note or note), place


def _written(each: KustomizedObject, path: Path) -> str:
    """File and line of the changed object, or of the part that is certainly the same."""
    own, as_deployed = each.item.resource.properties, each.deployed.properties
    end = next((n for n in range(len(path), 0, -1) if _is_one_thing(own, as_deployed, path[:n])), 0)
    return f"{each.item.place.file}:{each.item.place.position(path[:end])[0]}"


def _is_one_thing(own: Any, as_deployed: Any, path: Path) -> bool:
    """Whether a path leads to the same item in both: in a changed list another one may be at its index."""
    for step in path:
        own, as_deployed = value_at_step(own, step), value_at_step(as_deployed, step)
        if own is None or as_deployed is None:
            return False
        if isinstance(step, int) and _name(own) != _name(as_deployed):
            return False
    return True


def _name(value: Any) -> Any:
    return value.get("name") if isinstance(value, Mapping) else None


def _blamed(each: KustomizedObject, outcome: RuleOutcome) -> tuple[Change, Any] | None:
    """The change since which it is wrong, and the object after it."""
    results: tuple[Change, Any] | None = None
    uncertain: tuple[Change, Any] | None = None
    was_violated = False
    value: Any = each.original.properties
    for change, after in each.changes.applied(each.original):
        if after is None or after.value is value:
            continue
        holds = _holds(each, outcome, after.value)
        if not change.is_certain:
            uncertain = change, after.value
        if holds and not was_violated:
            results = change, after.value
        results = results if holds else None
        value, was_violated = after.value, holds
    return results or uncertain
