"""Provider versions that a Terraform module admits, by its `required_providers`."""

import re
from collections.abc import Iterable

from gpuyard_lint.languages.hcl import HclBlock
from gpuyard_lint.languages.hcl_values import Module

PINS = re.compile(rb"\brequired_providers\b")
"""Text in files with provider constraints."""
_PART = re.compile(r"\s*(=|~>|<=?)?\s*v?(\d{1,9}(?:\.\d{1,9})*)\s*")
_WITH_A_PATCH = 3

_Version = tuple[int, ...]


def provider_before(
    blocks: Iterable[HclBlock], module: Module, provider: str, since: _Version
) -> bool:
    """Whether a folder admits only provider versions before another one."""
    return any(
        admits_before(constraint, since)
        for block in blocks
        if block.type == "terraform"
        for each in block.blocks
        if each.type == "required_providers" and provider in each.attributes
        for constraint in _constraints(module.value(each.attributes[provider].value))
    )


def admits_before(constraint: str, since: _Version) -> bool:
    """Whether every version of a constraint is before another one: one of its parts decides."""
    return any(_ends_before(part, since) for part in constraint.split(","))


def _constraints(requirement: object) -> list[str]:
    """The constraint, in the form before Terraform 0.13 or with a source."""
    constraint = requirement.get("version") if isinstance(requirement, dict) else requirement
    return [constraint] if isinstance(constraint, str) else []


def _ends_before(part: str, since: _Version) -> bool:
    read = _PART.fullmatch(part)
    if read is None:
        return False
    numbers = tuple(map(int, read[2].split(".")))
    match read[1]:
        case (
            "~>"
        ):  # the last number may grow, the others not: a single number admits all later versions
            fixed_numbers = numbers[: min(len(numbers), _WITH_A_PATCH) - 1]
            return bool(fixed_numbers) and (*fixed_numbers[:-1], fixed_numbers[-1] + 1) <= since
        case "<":
            return numbers <= since
        case _:
            return numbers < since
