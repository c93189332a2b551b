"""Creates a whole graph in an account in memory, and returns the errors of the provider and its cloud.

`refusals` validates one resource; this module checks that a subnet exists, that ranges do not overlap, that
a group and its launch template agree, and that outputs that are read exist after the resource is created.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from testbed.plugins.cloud import asking, checking, preparing
from testbed.plugins.cloud.account import Account, Failed, Refused
from testbed.plugins.cloud.checking import known
from testbed.plugins.cloud.shapes import Place
from testbed.plugins.kubernetes.values import UNKNOWN, has_unknown, transform


class Node(Protocol):
    """A resource of a graph."""

    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def inputs(self) -> Mapping[str, Any]: ...


class Call(Protocol):
    """A function call of a graph."""

    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def args(self) -> Mapping[str, Any]: ...


class Graph(Protocol):
    """The graph to check: a `CloudGraph`."""

    @property
    def resources(self) -> Sequence[Node]: ...
    @property
    def calls(self) -> Sequence[Call]: ...


def judged(
    graph: Graph,
    place: Place,
    account: Account | None = None,
    called: Callable[[Any], str] = lambda node: node.name,
) -> list[str]:
    """All errors on creating a graph; none if it is valid.

    `called` gives the names of resources in a program, with which the names that an engine gives begin.
    """
    existing = account or Account()
    created: dict[str, Mapping[str, Any]] = {}
    results: list[str] = []
    for call in graph.calls:
        args = _settled(call.args, created, call.name, results)
        results += asking.failures(call.kind, args)
        try:
            created[call.name] = transform(asking.answer(call.kind, args, existing, place), _leaf)
        except (Refused, KeyError) as error:
            results.append(f"{call.name}: {error}")
    for node in graph.resources:
        inputs = _settled(node.inputs, created, node.name, results)
        message = _made(node, called(node), inputs, existing, place, created)
        results += [f"{node.name}: {each}" for each in message]
    return results


def _made(
    node: Node,
    called: str,
    inputs: dict[str, Any],
    account: Account,
    place: Place,
    created: dict[str, Mapping[str, Any]],
) -> list[str]:
    """Create one resource; returns its errors."""
    try:
        prepared = preparing.prepared(
            node.kind, preparing.Naming(called, called.encode()), {}, inputs
        )
        if message := checking.of_provider(node.kind, prepared):
            return message
        if has_unknown(prepared):  # a dependency was rejected, which is already reported
            return checking.of_service(node.kind, prepared)
        done = account.create(node.kind, called, prepared, place)
    except (Refused, Failed, preparing.TooLong) as error:
        return [str(error)]
    created[node.name] = {**done.state, "id": done.id}
    return []


def _settled(
    value: Any, created: Mapping[str, Mapping[str, Any]], who: str, results: list[str]
) -> dict[str, Any]:
    """The values with the outputs of others; unknown if those were not created."""
    from gpuyard.render.cloud.graph import resolve_values

    def of(name: str) -> Any:
        holder, _, output = name.partition(".")
        if holder not in created:
            return UNKNOWN
        answer: Any = created[holder]
        for step in output.split("."):
            answer = _step(answer, step)
        if answer is None:
            results.append(f"{who}: {name} is not there once {holder} is made")
            return UNKNOWN
        return answer

    settled: dict[str, Any] = known(resolve_values(value, of))
    return settled


def _step(value: Any, step: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(step)
    return value[int(step)] if isinstance(value, list) and int(step) < len(value) else None


def _leaf(value: Any) -> Any:
    return value
