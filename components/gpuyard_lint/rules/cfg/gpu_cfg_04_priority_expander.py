"""GPU-CFG-04: the priority expander tries the groups in the intended order."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from gpuyard_core.findings import Path, Severity
from gpuyard_lint.rules.rule import (
    ContextEffect,
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    items,
    mapping,
    number,
    once_per_stack,
    text,
)
from gpuyard_lint.rules.subjects.pools import POOL_KINDS, gpu_pool

EXPANDER = "config:priority-expander"
VALUES = "values:cluster-autoscaler"
_BOUGHT = (
    (
        "reserved",
        re.compile(r"reserv|odcr|capacity-?block|(^|[^a-z])(cb|cr)([^a-z]|$)", re.IGNORECASE),
    ),
    ("on-demand", re.compile(r"on-?_?demand", re.IGNORECASE)),
    ("spot", re.compile(r"spot|preempt", re.IGNORECASE)),
)
"""Capacity types by pattern, in the order in which to try them."""
_ALL = re.compile(r"\^?\.[*+]\$?")


def _check(resource: Resource, parameters: Parameters) -> Iterator[Violation]:
    in_values = resource.group_kind == VALUES
    path: Path = ("expanderPriorities",) if in_values else ()
    results = list(_patterns(mapping(at(resource.properties, *path))))
    if not results:
        return
    best: dict[str, tuple[float, Any, str]] = {}
    for priority, key, pattern in sorted(results, key=lambda each: each[0]):
        for name, expression in _BOUGHT:
            if expression.search(pattern):
                best[name] = (priority, key, pattern)
                break
    spot_first = parameters["spot_first"] or not _are_ranks(results)
    yield from _order(best, path, spot_first=spot_first)
    if not any(_ALL.fullmatch(pattern) for _, _, pattern in results):
        lowest = min(results, key=lambda each: each[0])[1]
        yield Violation(
            (*path, lowest),
            "no pattern matches all groups: an unlisted group does not scale while another one matches",
            "add the lowest priority with `.*`",
        )


def _are_ranks(results: list[tuple[float, Any, str]]) -> bool:
    """1, 2, 3 may be ranks. 10 and 50 usually mean spot before on-demand."""
    numbers = sorted({priority for priority, _, _ in results})
    return numbers == list(range(1, len(numbers) + 1))


def _patterns(results: Mapping[Any, Any]) -> Iterator[tuple[float, Any, str]]:
    for key, patterns in results.items():
        priority = number(key)
        for pattern in items(patterns) if priority is not None else ():
            yield priority or 0.0, key, text(pattern)


def _order(
    best: Mapping[str, tuple[float, Any, str]], path: Path, *, spot_first: bool
) -> Iterator[Violation]:
    names = [name for name, _ in _BOUGHT if name in best]
    for first, second in pairwise(names):
        if spot_first and (first, second) == ("on-demand", "spot"):
            continue
        (low, _, low_pattern), (high, key, pattern) = best[first], best[second]
        if high > low:
            yield Violation(
                (*path, key),
                f"the autoscaler tries the highest number first: {pattern} ({high:g}) before {low_pattern} ({low:g}),"
                f" {second} before {first}",
                f"give {first} the higher number; to prefer {second}, set spot_first"
                if first == "on-demand"
                else f"give {first} the higher number: it is already paid for",
            )


def _context_effect(stack: Stack, _: Resource, __: Path) -> ContextEffect:
    """If pools are in the input and none has GPUs, the groups are not expensive."""
    return ContextEffect.CHOICE if _has_other_pools_alone(stack) else ContextEffect.FULL


@once_per_stack
def _has_other_pools_alone(stack: Stack) -> bool:
    pools = stack.resources_of_kinds(*POOL_KINDS)
    return bool(pools) and not any(map(gpu_pool, pools))


RULE = Rule(
    id="GPU-CFG-04",
    title="The priority expander ranks the preferred groups highest and has a default",
    severity=Severity.WARNING,
    why="If you number groups as ranks with 1 as best, every job goes to the last choice first.",
    fix="Give the preferred group the highest number, and add `.*` with the lowest.",
    sources=(
        "kubernetes/autoscaler cluster-autoscaler/expander/priority: readme.md and priority.go",
    ),
    kinds=(EXPANDER, VALUES),
    parameters={"spot_first": False},
    check=_check,
    adjust=_context_effect,
)
