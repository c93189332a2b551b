"""The unknown value that a rule needed: the last one that it read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpuyard_core.findings import Path
from gpuyard_lint.rules.rule import UNKNOWN, Resource, Stack
from gpuyard_lint.rules.run import (
    Finding,
    FindingState,
    RuleConfiguration,
    check_resource,
    check_stack,
)

_MOST = 1000
"""Maximum number of resources that are observed at once: a rule that reads more reports the first."""


def find_unknown_value(
    finding: Finding, resources: Sequence[Resource], settings: RuleConfiguration
) -> tuple[Resource, Path] | None:
    """Run a rule again that met an unknown value: the resource and the path of the value; None if unknown."""
    if finding.state is not FindingState.NOT_EVALUATED or finding.diagnostic.path:
        return None
    reads: list[tuple[Resource, Path]] = []
    if finding.resource is not None:
        again = check_resource(finding.rule, _watched(finding.resource, reads), settings)
    else:
        watched = [_watched(each, reads) for each in resources[:_MOST]]
        again = check_stack(finding.rule, Stack((*watched, *resources[_MOST:])), settings)
    stopped = any(each.state is FindingState.NOT_EVALUATED for each in again)
    return reads[-1] if stopped and reads else None


def _watched(resource: Resource, unknown_reads: list[tuple[Resource, Path]]) -> Resource:
    return replace(resource, properties=_Watched(resource.properties, (), resource, unknown_reads))


@dataclass(frozen=True, slots=True, eq=False)
class _Watched(Mapping[Any, Any]):
    """A mapping that records each unknown value that is read from it."""

    given: Mapping[Any, Any]
    path: Path
    resource: Resource
    met: list[tuple[Resource, Path]]

    def __getitem__(self, key: Any) -> Any:
        return self._seen(self.given[key], (*self.path, key))

    def get(self, key: Any, default: Any = None) -> Any:
        """As the mapping itself: a partly known one has its own answer."""
        return self._seen(self.given.get(key, default), (*self.path, key))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.given)

    def __len__(self) -> int:
        return len(self.given)

    def _seen(self, value: Any, path: Path) -> Any:
        if value is UNKNOWN:
            self.met.append((self.resource, path))
        if isinstance(value, Mapping):
            return _Watched(value, path, self.resource, self.met)
        if isinstance(value, list | tuple):
            return [self._seen(each, (*path, number)) for number, each in enumerate(value)]
        return value
