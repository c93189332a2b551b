"""The unknown value that a rule needed: the last one that it read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpuyard_core.findings import Path
from gpuyard_lint.rules.rule import UNKNOWN, Resource, Rule, Stack
from gpuyard_lint.rules.run import (
    RuleConfiguration,
    RuleOutcome,
    RuleVerdict,
    check_resource,
    check_stack,
)

_MOST = 1000
"""Maximum number of resources that are observed at once: a rule that reads more reports the first."""


@dataclass(frozen=True, slots=True)
class UnknownValueFinder:
    """Runs a rule again that met an unknown value, and records the values that it reads."""

    resources: Sequence[Resource]
    settings: RuleConfiguration

    def find_unknown_value(self, outcome: RuleOutcome) -> tuple[Resource, Path] | None:
        """The resource and the path in it; None if unknown."""
        rule = outcome.rule
        if outcome.verdict is not RuleVerdict.NOT_EVALUATED or outcome.diagnostic.path:
            return None
        if outcome.resource is not None:
            return self._alone(rule, outcome.resource)
        return self._among(rule)

    def _alone(self, rule: Rule, resource: Resource) -> tuple[Resource, Path] | None:
        unknown_reads: list[tuple[Resource, Path]] = []
        outcomes = check_resource(rule, _watched(resource, unknown_reads), self.settings)
        return _last(outcomes, unknown_reads)

    def _among(self, rule: Rule) -> tuple[Resource, Path] | None:
        unknown_reads: list[tuple[Resource, Path]] = []
        watched = [_watched(each, unknown_reads) for each in self.resources[:_MOST]]
        stack = Stack((*watched, *self.resources[_MOST:]))
        return _last(check_stack(rule, stack, self.settings), unknown_reads)


def _last(
    outcomes: Sequence[RuleOutcome], unknown_reads: Sequence[tuple[Resource, Path]]
) -> tuple[Resource, Path] | None:
    stopped = any(each.verdict is RuleVerdict.NOT_EVALUATED for each in outcomes)
    return unknown_reads[-1] if stopped and unknown_reads else None


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
