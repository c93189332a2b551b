"""Rules: the definition of a rule, its input and its output."""

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from gpuyard.findings import Path, Severity
from gpuyard.manifests.fields import (
    UNKNOWN,
    NotEvaluatedError,
    PartlyKnown,
    UnknownValue,
    at,
    block,
    complete_mapping,
    enum_value,
    is_true,
    items,
    known_value,
    mapping,
    mappings,
    number,
    text,
)

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
    "at",
    "block",
    "complete_mapping",
    "enum_value",
    "group_kind",
    "is_true",
    "items",
    "known_value",
    "mapping",
    "mappings",
    "number",
    "once_per_stack",
    "text",
]


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """A resource that rules check, from any input format. Compared by identity."""

    kind: str
    """A Kubernetes object is its `apiVersion/Kind`, such as v1/ResourceQuota.

    A cloud resource is `aws:eks/NodeGroup` or `gcp:container/NodePool`, its fields named as Pulumi has them.
    The values of a chart are `values:gpu-operator`, a configuration inside another `config:mig-parted`.
    """
    name: str
    properties: Mapping[str, Any]
    protected: bool | None = None
    """Whether Pulumi rejects its deletion; None if unknown, for example in a manifest."""
    source: str = ""
    """The source, if the input has several: a file, a provider, a module."""

    @property
    def group_kind(self) -> str:
        """The kind without its version."""
        return group_kind(self.kind)

    @property
    def namespace(self) -> str:
        """The namespace of a Kubernetes object, "" if it has none."""
        metadata = self.properties.get("metadata")
        result = metadata.get("namespace") if isinstance(metadata, Mapping) else None
        return result if isinstance(result, str) else ""


@dataclass(frozen=True, slots=True)
class Violation:
    """One problem: its place in the resource, a description and a fix."""

    path: Path
    problem: str
    fix: str
    resource: Resource | None = None
    """The resource, if the rule checked several; None for the one it was called with."""
    severity: Severity | None = None
    """A severity below that of the rule. A level that a user sets applies to all violations."""
    is_advisory: bool = False
    """A defensible choice: shown separately, unless a user asks for it or sets a level."""


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

    @property
    def docs_command(self) -> str:
        """The command that shows the documentation of the rule."""
        return f"gpuyard why {self.id}"

    def applies_to(self, resource: Resource) -> bool:
        """True for resources of its kinds, in any API version."""
        return resource.group_kind in self.kinds


_VERSIONED = len(("group", "version", "kind"))


def group_kind(kind: str) -> str:
    """A Kubernetes kind without its version, `kueue.x-k8s.io/ClusterQueue`; other kinds unchanged."""
    if ":" in kind:
        return kind
    parts = kind.split("/")
    return f"{parts[0]}/{parts[2]}" if len(parts) == _VERSIONED else parts[-1]
