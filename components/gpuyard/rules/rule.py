"""Rules: what one is, what it looks at, and what it can say."""

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
    "ContextEffect",
    "NotEvaluatedError",
    "Parameters",
    "PartlyKnown",
    "Reference",
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
    """One thing that rules look at, whatever it came from. Two of them are never the same one."""

    kind: str
    """A Kubernetes object is its `apiVersion/Kind`, such as v1/ResourceQuota.

    A cloud resource is `aws:eks/NodeGroup` or `gcp:container/NodePool`, its fields named as Pulumi has them.
    The values of a chart are `values:gpu-operator`, a configuration inside another `config:mig-parted`.
    """
    name: str
    properties: Mapping[str, Any]
    protected: bool | None = None
    """Whether the engine refuses to delete it; None where nobody can say, as in a manifest."""
    source: str = ""
    """What it was read from, where several can stand side by side: a file, a provider, a module."""

    @property
    def group_kind(self) -> str:
        """The kind without its version."""
        return group_kind(self.kind)

    @property
    def namespace(self) -> str:
        """The namespace of a Kubernetes object, "" when it says none."""
        metadata = self.properties.get("metadata")
        result = metadata.get("namespace") if isinstance(metadata, Mapping) else None
        return result if isinstance(result, str) else ""


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that is wrong: where in the resource, what, and what to do."""

    path: Path
    problem: str
    fix: str
    resource: Resource | None = None
    """Which resource, when the rule looked at several; None for the one it was given."""
    severity: Severity | None = None
    """Where this is less grave than what the rule is about; a level that a user sets holds for all of it."""
    is_advisory: bool = False
    """Right, and can be defended: it is shown apart, unless a user asks for it or sets a level."""


@dataclass(frozen=True, slots=True)
class Stack:
    """Everything that is looked at together, for rules about resources that must agree."""

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

    def named(self, name: str, *kinds: str) -> list[Resource]:
        """The resources of these kinds that have a name."""
        return _by_name(self, *kinds).get(name, [])

    def of(self, *kinds: str) -> tuple[Resource, ...]:
        """The resources of these kinds, whatever the version."""
        if len(kinds) == 1:
            return self.by_kind.get(kinds[0], ())
        return tuple(r for kind in kinds for r in self.by_kind.get(kind, ()))


_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def once_per_stack(
    function: Callable[Concatenate[Stack, _Arguments], _Result],
) -> Callable[Concatenate[Stack, _Arguments], _Result]:
    """Run a function once for each stack and arguments, also where it ends with NotEvaluatedError.

    Rules call it for each resource: what scans the stack must not scan it again each time.
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
    for resource in stack.of(*kinds):
        results.setdefault(resource.name, []).append(resource)
    return results


Parameters = Mapping[str, Any]
"""What can be set for a rule, by name: its own defaults unless a user says otherwise."""


class ContextEffect(Enum):
    """How much of what is said of one resource stands when those beside it are seen."""

    FULL = auto()
    UNSURE = auto()
    """It hangs on what nobody here can see: a warning at most."""
    CHOICE = auto()
    """Whoever made it can defend it."""
    NONE = auto()
    """Something else in view makes it right."""


AdjustForContext = Callable[[Stack, Resource, Path], ContextEffect]


@dataclass(frozen=True, slots=True)
class Reference:
    """Where a framework that auditors know asks for the same."""

    framework: str
    section: str

    def __str__(self) -> str:
        return f"{self.framework} {self.section}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One policy: an id that never changes, why it is there, and the predicate."""

    id: str
    title: str
    severity: Severity
    why: str
    fix: str
    """What to do, in a sentence; each violation says it with the names of the case."""
    sources: tuple[str, ...]
    references: tuple[Reference, ...] = ()
    kinds: tuple[str, ...]
    """Group and kind it looks at, whatever the version: `kueue.x-k8s.io/ClusterQueue`."""
    parameters: Parameters = field(default_factory=dict)
    check: Callable[[Resource, Parameters], Iterator[Violation]] | None = None
    """Looks at one resource of its kinds."""
    check_stack: Callable[[Stack, Parameters], Iterator[Violation]] | None = None
    """Looks at all resources; called when at least one is of its kinds."""
    adjust: AdjustForContext | None = None
    """How much what `check` says at a place weighs, by all that is in view.

    Asked where all is in view: a policy that is shown one resource says what it says."""
    is_stack_wide: bool = False
    """Whether it holds over everything in view, and not only within what is deployed together."""
    remediate: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    """The properties as they should be, where that neither replaces anything nor locks anybody out."""

    @property
    def docs_url(self) -> str:
        """The command that shows the page about it."""
        return f"gpuyard why {self.id}"

    def applies_to(self, resource: Resource) -> bool:
        """True for resources of its kinds, in any API version."""
        return resource.group_kind in self.kinds


_VERSIONED = len(("group", "version", "kind"))


def group_kind(kind: str) -> str:
    """A Kubernetes kind without its version, `kueue.x-k8s.io/ClusterQueue`; others as they are."""
    if ":" in kind:
        return kind
    parts = kind.split("/")
    return f"{parts[0]}/{parts[2]}" if len(parts) == _VERSIONED else parts[-1]
