"""Remediated resources, if that neither replaces a resource nor locks out users."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpuyard_lint.rules.rule import UNKNOWN, Rule
from gpuyard_lint.rules.run import FindingState, RuleConfiguration, check_resource
from pack_resources import plain, resource

_RAW = "__target"
"""The key under which the engine's proxies return their value; its own serializer reads it."""


def remediated_properties(
    args: Any, rules: Sequence[Rule], settings: RuleConfiguration
) -> Mapping[str, Any] | None:
    """The properties with every violation fixed; None if there is none.

    A rule that is off, excepted for this resource, or not evaluated because of an unknown value changes
    nothing.
    """
    before = after = plain(args.props)
    for rule in rules:
        if rule.remediate is None or rule.id in settings.off:
            continue
        found = resource(args, after)
        if found is None or not rule.applies_to(found):
            continue
        outcomes = check_resource(rule, found, settings)
        if outcomes and all(each.state is FindingState.OPEN for each in outcomes):
            after = rule.remediate(after)
    return None if after is before else _merged(args.props, before, after)


def _merged(raw: Any, before: Any, after: Any) -> Any:
    """The changed properties; all others as the engine gave them: secrets stay secret, unknowns unknown."""
    if after is before or after is UNKNOWN:
        return raw
    if isinstance(after, Mapping):
        old = before if isinstance(before, Mapping) else {}
        given = _raw(raw) if old else {}
        return {key: _merged(given.get(key), old.get(key), value) for key, value in after.items()}
    return after


def _raw(value: Any) -> Mapping[str, Any]:
    try:
        return value[_RAW]  # type: ignore[no-any-return]  # a proxy of the engine
    except KeyError:
        return value  # type: ignore[no-any-return]
