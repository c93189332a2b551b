"""What is said of a place holds if it is said as well when what somebody fills in there is unknown.

A template, a substitution or a human puts a value where `${GPUS}` or `<image>` stands. Rules read it as the
text that it is, so that a name of a queue still says which is meant; but it is no wrong number, word or list.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from gpuyard.manifests.placeholders import with_unknowns
from gpuyard.rules.rule import NotEvaluatedError, Parameters, Resource, Stack, Violation

RuleCheck = Callable[[Any, Parameters], Iterator[Violation]]
_ASKED_AGAIN = 50
"""So often in one run: of more places that nobody has filled in, none is told."""


def check_with_placeholders(
    check: RuleCheck, subject: Resource | Stack, parameters: Parameters
) -> Iterator[tuple[Violation, bool]]:
    """What a rule says, and of each whether it holds whatever is filled in."""
    unfilled_count = 0
    for violation in check(subject, parameters):
        about = subject if isinstance(subject, Resource) else violation.resource
        without_fillings = about and _unfilled(about, violation)
        if about is None or without_fillings is None:
            yield violation, True
            continue
        unfilled_count += 1
        again = (
            without_fillings
            if isinstance(subject, Resource)
            else _instead(subject, about, without_fillings)
        )
        yield (
            violation,
            unfilled_count <= _ASKED_AGAIN
            and _is_reported(check, again, parameters, without_fillings, violation),
        )


def _unfilled(resource: Resource, violation: Violation) -> Resource | None:
    """The resource, unknown what somebody fills in where something is said; None where nothing is."""
    properties = with_unknowns(resource.properties, violation.path)
    return None if properties is resource.properties else replace(resource, properties=properties)


def _instead(stack: Stack, one: Resource, other: Resource) -> Stack:
    return Stack(tuple(other if each is one else each for each in stack.resources))


def _is_reported(
    check: RuleCheck,
    subject: Resource | Stack,
    parameters: Parameters,
    by: Resource,
    violation: Violation,
) -> bool:
    """Whether the same place is told, before the rule meets what nobody knows."""
    try:
        return any(
            each.path == violation.path and (each.resource or by) is by
            for each in check(subject, parameters)
        )
    except NotEvaluatedError:
        return False
