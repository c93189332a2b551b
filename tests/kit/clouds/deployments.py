"""A platform after `pulumi up` on the fakes, without an engine, and the effect of the next `up`."""

from collections.abc import Iterable, Mapping
from typing import Any

from testbed.plugins.cloud import asking, diff, preparing
from testbed.plugins.cloud.account import Account
from testbed.plugins.cloud.shapes import Place
from testbed.plugins.kubernetes.values import UNKNOWN, Unknown, has_unknown

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.cloud.graph import (
    CloudGraph,
    CloudResource,
    late_value_names,
    platform_resource_name,
    resolve_values,
)

NAME = "platform"

_HEAD = "urn:pulumi:dev::lab::gpuyard:index:Platform"


class Deployment:
    """Resources of a graph, created in an account in memory."""

    def __init__(self, graph: CloudGraph, place: Place) -> None:
        self.graph, self.place, self.account = graph, place, Account()
        self.inputs: dict[str, dict[str, Any]] = {}
        self.states: dict[str, dict[str, Any]] = {}
        self.kinds = {each.name: each.kind for each in graph.resources}
        self.answers = _answers(graph, self.account, place)
        for each in graph.resources:
            value = _settled(each.inputs, {**self.answers, **self.states})
            created = preparing.prepared(each.kind, _naming(each), {}, value)
            done = self.account.create(each.kind, each.name, created, place)
            self.inputs[each.name] = created
            self.states[each.name] = {**done.state, "id": done.id}

    def export(self, plan: PlatformPlan) -> dict[str, Any]:
        """The output of `pulumi stack export`."""
        resources = [_component(plan)]
        resources += [
            {
                "urn": f"{_HEAD}${kind}::{platform_resource_name(NAME, self.graph.resource(name))}",
                "type": kind,
                "id": self.states[name]["id"],
                "custom": True,
                "inputs": self.inputs[name],
                "outputs": self.states[name],
                "protect": self.graph.resource(name).protect,
            }
            for name, kind in self.kinds.items()
        ]
        return {"version": 3, "deployment": {"resources": resources}}

    def next(self, graph: CloudGraph) -> dict[str, str]:
        """An engine's operations for another graph, with the fake provider's Diff of every change."""
        return _Engine(self, graph).verdicts()


def _component(plan: PlatformPlan) -> dict[str, Any]:
    from gpuyard.changes.platforms import pool_report
    from gpuyard.resources.platform import _team_summary

    outputs = {
        "pools": {pool.name: pool_report(plan, pool) for pool in plan.pools},
        "teams": {team.name: _team_summary(team) for team in plan.teams},
    }
    kind = "gpuyard:index:Platform"
    return {"urn": f"{_HEAD}::{NAME}", "type": kind, "custom": False, "outputs": outputs}


def exported(plan: PlatformPlan) -> dict[str, Any]:
    """The state of a platform without cloud resources."""
    return {"version": 3, "deployment": {"resources": [_component(plan)]}}


class _Engine:
    """Pulumi's processing of a program's resources, with the fake provider's Diff."""

    def __init__(self, before: Deployment, graph: CloudGraph) -> None:
        self.before, self.graph = before, graph
        self.known: dict[str, Mapping[str, Any]] = dict(
            _answers(graph, before.account, before.place)
        )
        self.found: dict[str, str] = {}
        self.gone_first: set[str] = set()

    def verdicts(self) -> dict[str, str]:
        for each in self.graph.resources:
            self.found[each.name] = self._verdict(each)
        remaining = {name for name, kind in self.before.kinds.items() if self._left(name, kind)}
        return {**self.found, **dict.fromkeys(remaining, "delete")}

    def _left(self, name: str, kind: str) -> bool:
        return all((each.name, each.kind) != (name, kind) for each in self.graph.resources)

    def _verdict(self, each: CloudResource) -> str:
        old = self.before.inputs.get(each.name)
        same_kind = self.before.kinds.get(each.name) == each.kind
        value = _settled(each.inputs, self.known)
        created = preparing.prepared(each.kind, _naming(each), old or {}, value)
        if old is None or not same_kind:
            self.known[each.name] = _expected(each.kind, created)
            return "create"
        _ignored(created, old, each.ignores)
        state = self.before.states[each.name]
        changes = diff.compare(each.kind, state, created)
        if not changes.replaces and self._goes_along(each, old, state):
            changes.found["…"] = ("update", True)
        if changes.replaces:
            if changes.delete_first or each.delete_first or _named(each.kind, created):
                self.gone_first.add(each.name)
            self.known[each.name] = _expected(each.kind, created)
            return "replace"
        self.known[each.name] = state
        if changes.found:
            after = {**state, **{k: v for k, v in created.items() if k != preparing.DEFAULTS}}
            for key in diff.unknown_when_changed(each.kind, changes.fields):
                after[key] = UNKNOWN
            self.known[each.name] = _merged(state, after)
            return "update"
        return "same"

    def _goes_along(
        self, each: CloudResource, old: Mapping[str, Any], state: Mapping[str, Any]
    ) -> bool:
        """Whether it is deleted with a dependency: the engine runs Diff with each such input unknown."""
        rests = {
            key
            for key, value in each.inputs.items()
            if {name.partition(".")[0] for name in late_value_names(value)} & self.gone_first
        }
        requested = {**old, **dict.fromkeys(rests & set(old), UNKNOWN)}
        return bool(rests and diff.compare(each.kind, state, requested).replaces)


def _named(kind: str, created: Mapping[str, Any]) -> bool:
    """Whether the program set a name that must be unique."""
    from testbed.plugins.cloud import facts

    about = facts.resource(kind) or {}
    field = (about.get("autoname") or {}).get("property")
    return bool(about.get("deleteBeforeReplace")) or (
        field in created and field not in created[preparing.DEFAULTS]
    )


def _merged(state: Any, after: Any) -> Any:
    """The state after a change; blocks keep values that the provider filled in."""
    if isinstance(state, Mapping) and isinstance(after, Mapping):
        return {**state, **{k: _merged(state.get(k), v) for k, v in after.items()}}
    return after


def _expected(kind: str, created: Mapping[str, Any]) -> dict[str, Any]:
    """The preview of a new resource: its inputs."""
    return {key: value for key, value in created.items() if key != preparing.DEFAULTS}


def _ignored(created: dict[str, Any], old: Mapping[str, Any], paths: Iterable[str]) -> None:
    """Keep the old inputs of ignored fields, as the engine does."""
    for path in paths:
        *blocks, last = path.split(".")
        new_block, old_block = created, old
        for name in blocks:
            new_block, old_block = new_block.get(name, {}), old_block.get(name, {})
        if last in old_block:
            new_block[last] = old_block[last]
        else:
            new_block.pop(last, None)


def _naming(each: CloudResource) -> preparing.Naming:
    return preparing.Naming(f"{NAME}-{each.name}", each.name.encode())


def _answers(graph: CloudGraph, account: Account, place: Place) -> dict[str, Mapping[str, Any]]:
    answers: dict[str, Mapping[str, Any]] = {}
    for call in graph.calls:
        args = _settled(call.args, answers)
        answers[call.name] = asking.answer(call.kind, args, account, place)
    return answers


def _settled(value: Any, known: Mapping[str, Mapping[str, Any]]) -> Any:
    """The tree with known values; a value that refers to an unknown one is unknown as a whole."""
    if isinstance(value, Mapping):
        return {key: _settled(each, known) for key, each in value.items() if each is not None}
    if isinstance(value, list | tuple):
        return [_settled(each, known) for each in value]
    results = {name: _of(name, known) for name in late_value_names(value)}
    if any(isinstance(each, Unknown) or has_unknown(each) for each in results.values()):
        return UNKNOWN
    return resolve_values(value, results.__getitem__)


def _of(name: str, known: Mapping[str, Mapping[str, Any]]) -> Any:
    holder, *steps = name.split(".")
    value: Any = known[holder]
    for step in steps:
        if isinstance(value, Unknown):
            return value
        if isinstance(value, Mapping):
            value = value.get(step)
        else:
            value = value[int(step)] if isinstance(value, list) and int(step) < len(value) else None
    return UNKNOWN if value is None else value
