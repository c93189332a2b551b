"""Rules over files: what holds of everything in view, and also of what is deployed together.

Both have to agree. Within a folder alone a rule would miss what stands in the next one, and over all files it
would take two clusters for one; what is said in both is wrong wherever the files are applied.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gpuyard.findings import Path
from gpuyard.lint.items import FilesRead
from gpuyard.lint.together.put_in import JudgedOutcome, is_sure, is_surely_said, put_in
from gpuyard.lint.together.scopes import LintScope
from gpuyard.rules.rule import Resource, Rule, Stack
from gpuyard.rules.run import (
    RuleOutcome,
    RuleVerdict,
    Strictness,
    check_resource,
    evaluate_each,
    evaluate_together,
)

HitKey = tuple[str, int, Path]
"""A rule, a resource, and a place in it."""
HitsByKey = dict[HitKey, list[RuleOutcome]]


def judged(
    reading: FilesRead,
    rules: Sequence[Rule],
    settings: Strictness,
    found: Sequence[LintScope],
) -> Iterator[JudgedOutcome]:
    """What the rules have to say about what was read, and about what of it is deployed together."""
    # what commands install is known over all files alone: it excuses there, and accuses nowhere
    stack = Stack((*(item.resource for item in reading.items), *reading.installs))
    for outcome in _each(stack, rules, settings, found):
        yield JudgedOutcome(outcome)
    yield from put_in(stack, rules, settings, found, reading.samples)
    for outcome in _of_several(reading, stack, rules, settings, found):
        yield JudgedOutcome(outcome)


def _of_several(
    reading: FilesRead,
    stack: Stack,
    rules: Sequence[Rule],
    settings: Strictness,
    found: Sequence[LintScope],
) -> Iterator[RuleOutcome]:
    whole = evaluate_together(stack, rules, settings)
    if len(found) == 1 and _is_all(found[0], len(reading.items)):
        yield from whole
        return
    by_scope = [_in_scope(each, rules, _by_their_names(settings, each)) for each in found]
    yield from _together(whole, by_scope)
    said = {_key(outcome) for outcome in whole}
    for scope, hits in zip(found, by_scope, strict=True):
        new = {key: each for key, each in hits.items() if key not in said}
        if new and scope.file not in {"", *reading.samples} and is_sure(scope):
            for outcome in _put_in_scope(stack, rules, settings, scope, new):
                if outcome.resource is None or outcome.resource.source not in reading.samples:
                    yield outcome


def _is_all(scope: LintScope, items: int) -> bool:
    """Whether it is everything, as it is written."""
    as_written = all(written is there for written, there in scope.resources)
    return as_written and not scope.alternatives and len(scope.resources) == items


def _each(
    stack: Stack, rules: Sequence[Rule], settings: Strictness, found: Sequence[LintScope]
) -> Iterator[RuleOutcome]:
    """Of one resource: what holds as it is written, and as it is deployed at least once."""
    there: dict[int, list[tuple[Resource, LintScope]]] = {}
    for scope in found:
        for written, as_deployed in scope.resources:
            there.setdefault(id(written), []).append((as_deployed, scope))
    for outcome in evaluate_each(stack, rules, settings):
        said = _as_it_holds(outcome, there.get(id(outcome.resource), ()), settings)
        if said is not None:
            yield said


def _as_it_holds(
    outcome: RuleOutcome, forms: Sequence[tuple[Resource, LintScope]], settings: Strictness
) -> RuleOutcome | None:
    """How grave it is as it is deployed, never more than as it is written; None where it is not so.

    In words of what is deployed, where a kustomization changes that and none deploys it as it is written.
    """
    holds: list[tuple[RuleOutcome, LintScope]] = []
    for form, scope in forms:
        held = _held(outcome, form, settings)
        if held is None:
            continue
        if held.severity.rank >= outcome.severity.rank and held.problem == outcome.problem:
            return outcome
        holds.append((held, scope))
    if not holds:
        return None
    grave = max((held.severity for held, _ in holds), key=lambda each: each.rank)
    capped = min(outcome.severity, grave, key=lambda each: each.rank)
    said = outcome if capped is outcome.severity else replace(outcome, severity=capped)
    if len({held.problem for held, _ in holds}) > 1 or outcome.verdict in _BROKEN:
        return said
    return _in_its_words(said, *holds[0])


def _in_its_words(outcome: RuleOutcome, held: RuleOutcome, scope: LintScope) -> RuleOutcome:
    """As what a kustomization surely makes of an object is called."""
    for each in scope.kustomized if held.problem != outcome.problem else ():
        if each.item.resource is outcome.resource and is_surely_said(each, held):
            note = outcome.note or f"as {each.file} deploys it"
            return replace(outcome, problem=held.problem, fix=held.fix, note=note)
    return outcome


def _held(outcome: RuleOutcome, form: Resource, settings: Strictness) -> RuleOutcome | None:
    """The same of an object as it is deployed, which may make it less grave; None where it is not so."""
    if form is outcome.resource:
        return outcome
    known_as = replace(form, name=outcome.resource.name) if outcome.resource else form
    said = check_resource(outcome.rule, known_as, settings)
    # a list that has more in it has the same thing at another place
    same = (
        each
        for each in said
        if each.verdict is outcome.verdict
        and (each.path == outcome.path or each.problem == outcome.problem)
    )
    return max(same, key=lambda each: each.severity.rank, default=None)


def _together(whole: Sequence[RuleOutcome], by_scope: Sequence[HitsByKey]) -> Iterator[RuleOutcome]:
    """Of several: what is said of a place over all files and in a scope, in the words of the scope.

    Unless all files make it less grave, or a choice: a program of yesterday may be pinned in another folder.
    """
    held: HitsByKey = {}
    for each in by_scope:
        for key, said in each.items():
            held.setdefault(key, said)
    stopped = {
        o.rule.id for o in whole if o.verdict is RuleVerdict.NOT_EVALUATED and o.resource is None
    }
    over_all: HitsByKey = {}
    for outcome in whole:
        if outcome.verdict in _BROKEN or outcome.rule.wide:
            yield outcome
        else:
            over_all.setdefault(_key(outcome), []).append(outcome)
    for key, outcomes in over_all.items():
        if said := held.pop(key, []):
            yield from said if _weight(said) <= _weight(outcomes) else outcomes
    for (rule, _, _), said in held.items():
        if rule in stopped:  # over all files it came to an end before it had said everything
            yield from said


def _put_in_scope(
    stack: Stack,
    rules: Sequence[Rule],
    settings: Strictness,
    scope: LintScope,
    hits: HitsByKey,
) -> Iterator[RuleOutcome]:
    """Of several: what a kustomization makes wrong, which is not so as it is written."""
    named = {rule for rule, _, _ in hits}
    asked = [rule for rule in rules if rule.id in named and not rule.wide]
    written = replace(scope, resources=tuple((w, w) for w, _ in scope.resources))
    before = _in_scope(written, asked, settings)
    there = {id(w): t for w, t in scope.resources}
    own = {id(t): w for w, t in scope.resources}
    everything = Stack(tuple(there.get(id(each), each) for each in stack.resources))
    everywhere = {
        _key(replace(each, resource=own.get(id(each.resource), each.resource)))
        for each in evaluate_together(everything, asked, settings)
    }
    for key, outcomes in hits.items():
        if key in everywhere and key not in before:
            yield from (_as_deployed(each, scope) for each in outcomes if _accuses(each))


def _accuses(outcome: RuleOutcome) -> bool:
    return outcome.verdict is RuleVerdict.VIOLATED and not outcome.choice


def _as_deployed(outcome: RuleOutcome, scope: LintScope) -> RuleOutcome:
    return replace(outcome, problem=f"{outcome.problem} (as {scope.file} deploys it)")


def _by_their_names(settings: Strictness, scope: LintScope) -> Strictness:
    """Exceptions for what is written hold for what it is deployed as: a kustomization may rename it."""
    if not settings.exemptions:
        return settings
    renamed = {(w.name, there.name) for w, there in scope.resources if w.name != there.name}
    more = [
        replace(each, resource=now)
        for each in settings.exemptions
        for name, now in sorted(renamed)
        if each.resource == name
    ]
    return replace(settings, exemptions=(*settings.exemptions, *more))


def _weight(said: Sequence[RuleOutcome]) -> tuple[bool, int]:
    """What can be defended weighs less than what cannot, however grave it would be."""
    return max((not each.choice, each.severity.rank) for each in said)


_BROKEN = frozenset({RuleVerdict.NOT_EVALUATED, RuleVerdict.FAILED})


def _in_scope(scope: LintScope, rules: Sequence[Rule], settings: Strictness) -> HitsByKey:
    """What is said with every alternative: of two values files, a third thing has to be wrong with both."""
    sets = scope.alternatives or ((),)
    made = [_of(scope, {id(each) for each in absent}, rules, settings) for absent in sets]
    gone = [{id(each) for each in absent} for absent in sets]
    return {
        key: said
        for each in made
        for key, said in each.items()
        if all(key in other or key[1] in absent for other, absent in zip(made, gone, strict=True))
    }


def _of(
    scope: LintScope, absent: set[int], rules: Sequence[Rule], settings: Strictness
) -> HitsByKey:
    pairs = [pair for pair in scope.resources if id(pair[0]) not in absent]
    written: Mapping[int, Resource] = {id(there): written for written, there in pairs}
    said: HitsByKey = {}
    for outcome in evaluate_together(Stack(tuple(there for _, there in pairs)), rules, settings):
        if outcome.verdict not in _BROKEN:
            own = written.get(id(outcome.resource))
            placed = replace(outcome, resource=own)
            said.setdefault(_key(placed), []).append(placed)
    return said


def _key(outcome: RuleOutcome) -> HitKey:
    return outcome.rule.id, id(outcome.resource) if outcome.resource else 0, outcome.path
