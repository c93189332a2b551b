"""Graph of the resources that a stack program registered, for assertions in tests."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuyard_core.errors import GpuYardError


@dataclass
class Registered:
    """One resource as the program registered it, in the wire's names (camelCase)."""

    type: str
    """The type token, for example `kubernetes:core/v1:ConfigMap`."""
    name: str
    urn: str
    """URN as the engine builds it: the types of all parents, then the name."""
    parent: str | None
    """The parent's URN; None directly under the stack."""
    custom: bool
    """True if a provider manages it, False for a component."""
    inputs: dict[str, Any]
    """Plain values, integral numbers as ints; a secret is unwrapped (see `secrets`), a value that
    is not known yet is `UNKNOWN`.
    """
    secrets: frozenset[str] = frozenset()
    """Paths of the inputs that were secret, for example `stringData`."""
    id: str | None = None
    """The id that the mock returned; None for a component, or if outputs are unknown."""
    outputs: dict[str, Any] = field(default_factory=dict[str, Any])
    """Outputs that the mock engine returned."""
    dependencies: tuple[str, ...] = ()
    """URNs of all its dependencies, sorted: the SDK sends them in no defined order."""
    property_dependencies: dict[str, tuple[str, ...]] = field(
        default_factory=dict[str, tuple[str, ...]]
    )
    """For each input that came from other resources, their URNs."""
    provider: str | None = None
    """`URN::id` of an explicit provider."""
    providers: dict[str, str] = field(default_factory=dict[str, str])
    """Providers handed to a component for its children, by package."""
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    """Every other option that was set: protect, aliases, deletedWith, ignoreChanges, version, …"""
    registered_outputs: dict[str, Any] | None = None
    """The outputs that the component registered; None if it never did."""
    remote: bool = False
    """True if the component runs in a provider; its children do not exist under mocks."""
    read: bool = False
    """True if the resource was read (`get`), not created."""

    @property
    def label(self) -> str:
        """Type and name, as in messages."""
        return f"{self.type} {self.name!r}"


@dataclass(frozen=True)
class Log:
    """One log message of the program; debug messages are not recorded."""

    severity: str
    """`info`, `warning` or `error`."""
    message: str
    urn: str | None = None


@dataclass(frozen=True)
class StackViolation:
    """One violation in a strict run, with the resource that it is about."""

    rule: str
    resource: str
    message: str

    def __str__(self) -> str:
        return f"[{self.rule}] {self.resource}: {self.message}"


class StackViolations(GpuYardError, AssertionError):
    """A program registered resources that a deployment would reject or get wrong; the message lists all."""

    def __init__(self, violations: list[StackViolation]) -> None:
        self.violations = violations
        count = "1 violation" if len(violations) == 1 else f"{len(violations)} violations"
        super().__init__("\n  ".join([f"{count} in the stack program:", *map(str, violations)]))


@dataclass
class Graph:
    """Everything one run of a program registered, in order."""

    resources: list[Registered] = field(default_factory=list[Registered])
    stack_outputs: dict[str, Any] = field(default_factory=dict[str, Any])
    secret_stack_outputs: frozenset[str] = frozenset()
    """Paths of the stack outputs that are secret."""
    logs: list[Log] = field(default_factory=list[Log])
    violations: list[StackViolation] = field(default_factory=list[StackViolation])
    unchecked: list[Registered] = field(default_factory=list[Registered])
    """Custom resources whose fields neither an installed SDK nor a CRD could check."""

    def __iter__(self) -> Iterator[Registered]:
        return iter(self.resources)

    def __len__(self) -> int:
        return len(self.resources)

    def of_type(self, type_: str) -> list[Registered]:
        """Return the resources of one type token, in order of registration."""
        return [one for one in self.resources if one.type == type_]

    def one(self, type_: str | None = None, name: str | None = None) -> Registered:
        """Return the only resource of this type and name, either of which may be omitted."""
        results = [
            one
            for one in self.resources
            if (type_ is None or one.type == type_) and (name is None or one.name == name)
        ]
        if len(results) == 1:
            return results[0]
        description = " ".join(part for part in (type_, repr(name) if name else None) if part)
        if results:
            listed = ", ".join(one.label for one in results)
            raise LookupError(
                f"{len(results)} resources are {description}: {listed}; ask for one of them"
            )
        labels = [one.label for one in self.resources]
        close = difflib.get_close_matches(description, labels, n=3, cutoff=0.3) or labels[:10]
        nearest = ", ".join(close) or "none, because no resource was registered"
        raise LookupError(f"no resource is {description}; nearest of {len(labels)}: {nearest}")

    def children(self, parent: Registered | None) -> list[Registered]:
        """Return the direct children of a resource, or of the stack for None."""
        urn = parent.urn if parent is not None else None
        return [one for one in self.resources if one.parent == urn]

    def ancestors(self, resource: Registered) -> list[Registered]:
        """Return the parents of a resource, nearest first, without the stack."""
        by_urn = {one.urn: one for one in self.resources}
        results: list[Registered] = []
        urn = resource.parent
        while urn is not None and urn in by_urn:
            results.append(by_urn[urn])
            urn = by_urn[urn].parent
        return results

    def shape(self) -> list[tuple[str, str | None]]:
        """Return (URN, parent) of every resource, in order: the same in every run of a program."""
        return [(one.urn, one.parent) for one in self.resources]


def graph_difference(first: Graph, second: Graph) -> Mapping[str, list[str]]:
    """The URNs that only one of two graphs has; empty if both have the same."""
    urns = [{one.urn for one in graph} for graph in (first, second)]
    results = {"only_first": sorted(urns[0] - urns[1]), "only_second": sorted(urns[1] - urns[0])}
    return {key: value for key, value in results.items() if value}
