"""From what the engine shows a policy to plain resources, and from violations to reports."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pulumi_policy import (
    EnforcementLevel,
    Policy,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
)
from pulumi_policy.proxy import UnknownValueError

from gpuyard.findings import show_path
from gpuyard.rules import RULES
from gpuyard.rules.rule import UNKNOWN, NotEvaluatedError, Resource, Rule


def policies() -> list[Policy]:
    """One policy for rules that stop a deployment, one for what they could not see."""
    return [
        ResourceValidationPolicy(
            name="gpuyard",
            description=_list(RULES),
            enforcement_level=EnforcementLevel.MANDATORY,
            validate=_validator(RULES, violations=True),
        ),
        ResourceValidationPolicy(
            name="gpuyard-not-evaluated",
            description="Rules that met values which a preview does not know: not evaluated is not passed",
            enforcement_level=EnforcementLevel.ADVISORY,
            validate=_validator(RULES, violations=False),
        ),
    ]


def _list(rules: Sequence[Rule]) -> str:
    return "; ".join(f"{rule.id} {rule.title}" for rule in rules)


def _validator(
    rules: Sequence[Rule], *, violations: bool
) -> Callable[[ResourceValidationArgs, ReportViolation], None]:
    def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
        resource = kubernetes_resource(args.resource_type, args.name, args.props)
        if resource is None:
            return
        for rule in rules:
            if rule.looks_at(resource):
                for text in messages(rule, resource, violations=violations):
                    report(text, None)

    return validate


def messages(rule: Rule, resource: Resource, *, violations: bool) -> list[str]:
    """What to report: the rule's violations, or (for the other policy) that it was not evaluated.

    A rule that fails is a violation of its own: an exception would end the whole preview without a word.
    """
    found: list[str] = []
    try:
        for violation in rule.check(resource, rule.parameters) if rule.check else ():
            where, what = show_path(violation.path), violation.problem
            found.append(f"{rule.id} {where}: {what}; {violation.fix}")
    except NotEvaluatedError:
        return (
            found
            if violations
            else [f"{rule.id} not evaluated: it needs a value that is not known yet"]
        )
    except Exception as e:  # noqa: BLE001  whatever a rule did wrong, the user is told which one
        return (
            [f"{rule.id} failed: {type(e).__name__}: {e}; please report it"] if violations else []
        )
    return found if violations else []


def kubernetes_resource(token: str, name: str, props: Any) -> Resource | None:
    """A Kubernetes object by its Pulumi token `kubernetes:<apiVersion>:<Kind>`; None for anything else."""
    package, _, rest = token.partition(":")
    api, _, kind = rest.rpartition(":")
    if package != "kubernetes" or not api:
        return None
    properties = plain(props)
    api_version = properties.get("apiVersion") if isinstance(properties, dict) else None
    shown = api_version if isinstance(api_version, str) else api.removeprefix("core/")
    return Resource(f"{shown}/{kind}", name, properties)


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
