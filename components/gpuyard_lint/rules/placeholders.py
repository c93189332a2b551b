"""A violation at a placeholder counts only if it also holds when the value there is unknown.

A template, a substitution or a user replaces `${GPUS}` or `<image>`. Rules read it as text, so that a queue
name still identifies a queue, but it is not a wrong number, string or list.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from gpuyard_core.manifests.placeholders import with_unknowns
from gpuyard_lint.rules.rule import NotEvaluatedError, Parameters, Resource, Stack, Violation

RuleCheck = Callable[[Any, Parameters], Iterator[Violation]]
_ASKED_AGAIN = 50
"""Maximum number of placeholders that one run reports."""


def check_with_placeholders(
    check: RuleCheck, subject: Resource | Stack, parameters: Parameters
) -> Iterator[tuple[Violation, bool]]:
    """The violations of a rule, each with whether it holds for any value of the placeholder."""
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
    """The resource with placeholders at violated places replaced by unknown; None if there is none."""
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
    """Whether the same place is violated before the rule reaches an unknown value."""
    try:
        return any(
            each.path == violation.path and (each.resource or by) is by
            for each in check(subject, parameters)
        )
    except NotEvaluatedError:
        return False
