"""From what the engine shows a policy to plain resources, and from what the rules say to reports."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pulumi_policy import (
    EnforcementLevel,
    Policy,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.proxy import UnknownValueError

from gpuyard.findings import Severity, show_path
from gpuyard.lint.inside import with_inside
from gpuyard.lint.items import Item, Place
from gpuyard.lint.pulumi import pulumi_resource
from gpuyard.rules import RULES
from gpuyard.rules.rule import UNKNOWN, Resource, Rule, Stack
from gpuyard.rules.run import AS_THEY_ARE, Outcome, Verdict, check_resource, check_stack
from gpuyard.spec.yaml_tree import Document

Keep = Callable[[Outcome], bool]
_NOWHERE = Place("", Document(None, {}))
"""A resource of the engine stands in no file."""


def stops(outcome: Outcome) -> bool:
    """What ends a preview: a grave violation, or a rule that failed and so has judged nothing."""
    grave = outcome.severity is Severity.REFUSE
    return outcome.verdict is Verdict.FAILED or (grave and outcome.verdict is Verdict.VIOLATED)


def advises(outcome: Outcome) -> bool:
    """Everything else that is to be read, what could not be evaluated among it."""
    return not stops(outcome) and outcome.verdict is not Verdict.EXCEPTED


def policies(rules: Sequence[Rule] = RULES) -> list[Policy]:
    """Four, with every rule inside: of one resource and of all together, to stop and to advise."""
    made: list[Policy] = []
    for suffix, level, keep in (
        ("", EnforcementLevel.MANDATORY, stops),
        ("-advice", EnforcementLevel.ADVISORY, advises),
    ):
        made.append(
            ResourceValidationPolicy(
                name=f"gpuyard{suffix}",
                description=_list(rule for rule in rules if rule.check),
                enforcement_level=level,
                validate=_validator(rules, keep),
            )
        )
        made.append(
            StackValidationPolicy(
                name=f"gpuyard-stack{suffix}",
                description=_list(rule for rule in rules if rule.check_stack),
                enforcement_level=level,
                validate=_stack_validator(rules, keep),
            )
        )
    return made


def _list(rules: Iterable[Rule]) -> str:
    return "; ".join(f"{rule.id} {rule.title}" for rule in rules) or "no rule yet"


def _validator(
    rules: Sequence[Rule], keep: Keep
) -> Callable[[ResourceValidationArgs, ReportViolation], None]:
    by_kind: dict[str, list[Rule]] = {}
    for rule in rules:
        for kind in rule.kinds:
            by_kind.setdefault(kind, []).append(rule)

    def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
        for resource in resources(args):
            for rule in by_kind.get(resource.group_kind, ()):
                for outcome in check_resource(rule, resource, AS_THEY_ARE):
                    if keep(outcome):
                        report(message(outcome), None)

    return validate


def _stack_validator(
    rules: Sequence[Rule], keep: Keep
) -> Callable[[StackValidationArgs, ReportViolation], None]:
    together = [rule for rule in rules if rule.check_stack]

    def validate(args: StackValidationArgs, report: ReportViolation) -> None:
        shown = [(resource, each.urn) for each in args.resources for resource in resources(each)]
        urns = {id(resource): urn for resource, urn in shown}
        stack = Stack(tuple(resource for resource, _ in shown))
        for rule in together:
            if not stack.of(*rule.kinds):
                continue
            for outcome in check_stack(rule, stack, AS_THEY_ARE):
                if keep(outcome):
                    report(message(outcome), urns.get(id(outcome.resource)))

    return validate


def message(outcome: Outcome) -> str:
    """One line: the rule, where, what, and what to do."""
    where = f" {show_path(outcome.path)}" if outcome.path else ""
    if outcome.verdict is Verdict.NOT_EVALUATED:
        return f"{outcome.rule.id} not evaluated: {outcome.problem}"
    fix = f"; {outcome.fix}" if outcome.fix else ""
    return f"{outcome.rule.id}{where}: {outcome.problem}{fix}"


def resources(args: Any) -> list[Resource]:
    """What the engine shows as rules see it: the resource, and the configuration inside it."""
    found = pulumi_resource(
        args.resource_type, args.name, plain(args.props), protected=_protected(args)
    )
    return [] if found is None else [each.resource for each in with_inside(Item(found, _NOWHERE))]


def _protected(args: Any) -> bool | None:
    options = getattr(args, "opts", None)
    return None if options is None else bool(getattr(options, "protect", False))


def plain(value: Any) -> Any:
    """The engine's proxies as plain values; a sentinel where a preview does not know one.

    Proxies are mappings and sequences but neither dict nor list, raise when an unknown is read, and give
    every number as a float.
    """
    if isinstance(value, Mapping):
        return {key: _entry(value, key) for key in value}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_entry(value, index) for index in range(len(value))]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _entry(container: Any, key: Any) -> Any:
    try:
        return plain(container[key])
    except UnknownValueError:
        return UNKNOWN
