"""What a rule is, what it looks at, and what it can say."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.findings import Path, Severity


class Unknown:
    """Stands for a value that a preview does not know yet."""

    def __repr__(self) -> str:
        return "(not known yet)"


UNKNOWN = Unknown()


class NotEvaluatedError(Exception):
    """A rule met a value that is not known yet: it has said nothing, which is not the same as passing."""


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource, whatever it came from: Kubernetes objects have their own kind and properties."""

    kind: str
    """`apiVersion/Kind` of a Kubernetes object: `v1/ResourceQuota`."""
    name: str
    properties: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that is wrong in a resource: where, what, and what to do."""

    path: Path
    problem: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One policy: an id that never changes, why it is there, and the predicate."""

    id: str
    title: str
    severity: Severity
    why: str
    sources: tuple[str, ...]
    kinds: tuple[str, ...]
    """Group and kind it looks at, whatever the version: `kueue.x-k8s.io/ClusterQueue`."""
    check: Callable[[Resource], Iterator[Violation]]

    def looks_at(self, resource: Resource) -> bool:
        """True for resources of its kinds, in any API version."""
        return group_kind(resource.kind) in self.kinds


def group_kind(kind: str) -> str:
    """`kueue.x-k8s.io/v1beta2/ClusterQueue` and `v1/ResourceQuota` without their versions."""
    parts = kind.split("/")
    return (
        f"{parts[0]}/{parts[2]}" if len(parts) == len(("group", "version", "kind")) else parts[-1]
    )


def known(value: Any) -> Any:
    """The value, when it is known; NotEvaluatedError ends the rule otherwise."""
    if value is UNKNOWN:
        raise NotEvaluatedError
    return value


def mapping(value: Any) -> Mapping[str, Any]:
    """A mapping, empty when there is none or something else stands there."""
    return value if isinstance(known(value), Mapping) else {}


def items(value: Any) -> list[Any]:
    """A list, empty when there is none or something else stands there."""
    return list(value) if isinstance(known(value), list | tuple) else []
