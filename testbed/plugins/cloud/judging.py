"""Makes a whole graph in an account in memory: what the provider and its cloud say on the way.

`refusals` judges one resource by itself; this one sees that a subnet is there, that ranges do not meet,
that a group and its launch template agree, and that what is read of a resource is there once it is made.
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
    """A question of a graph."""

    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def args(self) -> Mapping[str, Any]: ...


class Graph(Protocol):
    """What is judged: a `CloudGraph`."""

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
    """Everything that is said against a graph when it is made; nothing is good.

    `called` gives the names of resources in a program, with which those begin that an engine gives.
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
    """Make one resource; what is said against it."""
    try:
        prepared = preparing.prepared(
            node.kind, preparing.Naming(called, called.encode()), {}, inputs
        )
        if message := checking.of_provider(node.kind, prepared):
            return message
        if has_unknown(prepared):  # what it rests on was refused, and that was said
            return checking.of_service(node.kind, prepared)
        done = account.create(node.kind, called, prepared, place)
    except (Refused, Failed, preparing.TooLong) as error:
        return [str(error)]
    created[node.name] = {**done.state, "id": done.id}
    return []


def _settled(
    value: Any, created: Mapping[str, Mapping[str, Any]], who: str, results: list[str]
) -> dict[str, Any]:
    """The values with what others gave; unknown where that one was not made."""
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
