"""Rules: the definition of a rule, its input and its output."""

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import Enum, auto
from functools import cache, wraps
from pathlib import Path as FilePath
from typing import Any, Concatenate, ParamSpec, TypeVar

from gpuyard_core.catalogue.tables import load_yaml
from gpuyard_core.findings import Path, Severity
from gpuyard_core.manifests.fields import (
    UNKNOWN,
    NotEvaluatedError,
    PartlyKnown,
    UnknownValue,
)
from gpuyard_core.manifests.quantities import Resource, Violation, group_kind

__all__ = [
    "UNKNOWN",
    "AdjustForContext",
    "AuditReference",
    "ContextEffect",
    "NotEvaluatedError",
    "Parameters",
    "PartlyKnown",
    "Resource",
    "Rule",
    "Stack",
    "UnknownValue",
    "Violation",
    "group_kind",
    "load_rule",
    "once_per_stack",
    "read_table",
]


@dataclass(frozen=True, slots=True)
class Stack:
    """All resources that are checked together, for rules about resources that must agree."""

    resources: tuple[Resource, ...]
    by_kind: Mapping[str, tuple[Resource, ...]] = field(init=False, repr=False)
    indexes: dict[Hashable, Any] = field(
        init=False, repr=False, compare=False, default_factory=dict[Hashable, Any]
    )
    """Results of the functions that are `once_per_stack`, by function and arguments."""

    def __post_init__(self) -> None:
        results: dict[str, list[Resource]] = {}
        for resource in self.resources:
            results.setdefault(resource.group_kind, []).append(resource)
        object.__setattr__(self, "by_kind", {kind: tuple(all_) for kind, all_ in results.items()})

    def resources_named(self, name: str, *kinds: str) -> list[Resource]:
        """The resources of these kinds with a name."""
        return _by_name(self, *kinds).get(name, [])

    def resources_of_kinds(self, *kinds: str) -> tuple[Resource, ...]:
        """The resources of these kinds, in any version."""
        if len(kinds) == 1:
            return self.by_kind.get(kinds[0], ())
        return tuple(r for kind in kinds for r in self.by_kind.get(kind, ()))


_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def once_per_stack(
    function: Callable[Concatenate[Stack, _Arguments], _Result],
) -> Callable[Concatenate[Stack, _Arguments], _Result]:
    """Cache a function by stack and arguments, including a NotEvaluatedError.

    Rules call it for each resource: it must not scan the stack again each time.
    """

    @wraps(function)
    def indexed(stack: Stack, /, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        key = (function, args, tuple(kwargs.items()))
        if key not in stack.indexes:
            try:
                stack.indexes[key] = function(stack, *args, **kwargs)
            except NotEvaluatedError as unknown:
                stack.indexes[key] = unknown
        matches = stack.indexes[key]
        if isinstance(matches, NotEvaluatedError):
            raise NotEvaluatedError
        result: _Result = matches
        return result

    return indexed


@once_per_stack
def _by_name(stack: Stack, *kinds: str) -> Mapping[str, list[Resource]]:
    results: dict[str, list[Resource]] = {}
    for resource in stack.resources_of_kinds(*kinds):
        results.setdefault(resource.name, []).append(resource)
    return results


Parameters = Mapping[str, Any]
"""The parameters of a rule by name: its defaults unless a user sets them."""


class ContextEffect(Enum):
    """How the rest of the stack affects a violation of one resource."""

    FULL = auto()
    UNSURE = auto()
    """It depends on something that is not in the input: at most a warning."""
    CHOICE = auto()
    """A defensible choice: advisory."""
    NONE = auto()
    """Another resource in the input makes it correct."""


AdjustForContext = Callable[[Stack, Resource, Path], ContextEffect]


@dataclass(frozen=True, slots=True)
class AuditReference:
    """A requirement of an audit framework that asks for the same."""

    framework: str
    section: str

    def __str__(self) -> str:
        return f"{self.framework} {self.section}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One policy: a stable id, its rationale and its predicate."""

    id: str
    title: str
    severity: Severity
    why: str
    fix: str
    """What to do, in a sentence; each violation has a fix with the names of the case."""
    sources: tuple[str, ...]
    checked_on: date | None = None
    """When it was recorded with its first sources."""
    references: tuple[AuditReference, ...] = ()
    kinds: tuple[str, ...]
    """Group and kind that it checks, in any version: `kueue.x-k8s.io/ClusterQueue`."""
    parameters: Parameters = field(default_factory=dict)
    check: Callable[[Resource, Parameters], Iterator[Violation]] | None = None
    """Checks one resource of its kinds."""
    check_stack: Callable[[Stack, Parameters], Iterator[Violation]] | None = None
    """Checks all resources; called if at least one is of its kinds."""
    adjust: AdjustForContext | None = None
    """The effect of the rest of the stack on a violation of `check` at a path.

    Called only with the whole stack. A policy that sees one resource reports the violation unchanged.
    """
    is_stack_wide: bool = False
    """Whether it applies to the whole input, and not only to what is deployed together."""
    remediate: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    """The corrected properties, if that neither replaces a resource nor locks out users."""

    def applies_to(self, resource: Resource) -> bool:
        """True for resources of its kinds, in any API version."""
        return resource.group_kind in self.kinds


def load_rule(rule_id: str, **predicates: Any) -> Rule:
    """The rule with these predicates and kinds; `rules.yaml` has its other fields."""
    row = {name: _loaded(name, value) for name, value in _read_data("rules.yaml")[rule_id].items()}
    return Rule(id=rule_id, **row, **predicates)


def _loaded(name: str, value: Any) -> Any:
    match name:
        case "severity":
            return Severity(value)
        case "sources":
            return tuple(value)
        case "references":
            return tuple(AuditReference(*each) for each in value)
        case "parameters":
            return {key: tuple(v) if isinstance(v, list) else v for key, v in value.items()}
    return value


@cache
def _read_data(name: str) -> Mapping[str, Mapping[str, Any]]:
    """The rows of a file of this folder, by id or name."""
    rows: Mapping[str, Mapping[str, Any]] = load_yaml(FilePath(__file__).with_name(name))
    return rows


def read_table(name: str) -> Any:
    """The values of a table in `tables.yaml`."""
    return _read_data("tables.yaml")[name]["values"]
