"""What a deployment of a graph does to each resource that is there: nothing, a change in place, or a new one.

A resource that is made anew gives those that rest on it new values, and may so replace them too.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from gpuyard.catalogue.cloud_fields import cloud_kind
from gpuyard.changes.deployed import Deployed
from gpuyard.changes.fields import FieldChange, field_changes
from gpuyard.changes.settling import Mark, at_path, has_mark, settled
from gpuyard.plan.records.late import Late
from gpuyard.render.cloud.graph import CloudCall, CloudGraph, CloudResource, names_in

_PICKS = frozenset(
    {"aws:index/getAvailabilityZones:getAvailabilityZones", "aws:ec2/getSubnets:getSubnets"}
)
"""Questions that have another answer when the stack file, or the cloud, has changed."""
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"


class Fate(StrEnum):
    """What happens to a resource."""

    SAME = "same"
    UPDATE = "update"
    REPLACE = "replace"
    CREATE = "create"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceChange:
    """One resource of the graph, or one that is there and in the graph no more."""

    verdict: Fate
    kind: str
    name: str
    part: str = ""
    fields: tuple[FieldChange, ...] = ()
    because: tuple[str, ...] = ()
    """Resources whose replacement is enough to replace this one."""
    asks: bool = False
    """Some of its inputs are answers of the cloud, taken for what they were."""
    hangs: bool = False
    """Another answer would make it anew."""
    protect: bool = False
    there: Deployed | None = None

    @property
    def replacing(self) -> tuple[FieldChange, ...]:
        """The fields that make it anew."""
        return tuple(each for each in self.fields if each.replaces)


def graph_changes(graph: CloudGraph, there: Mapping[str, Deployed]) -> tuple[ResourceChange, ...]:
    """In the order of the graph; what goes comes last."""
    walk = _Walk(there, {call.name: call for call in graph.calls})
    for each in graph.resources:
        walk.visit(each)
    known = {each.name: each.kind for each in graph.resources}
    gone = (name for name, each in there.items() if known.get(name) != each.kind)
    return (*walk.found.values(), *(_gone(name, there[name]) for name in sorted(gone)))


def _gone(name: str, there: Deployed) -> ResourceChange:
    return ResourceChange(
        verdict=Fate.DELETE, kind=there.kind, name=name, protect=there.protect, there=there
    )


def roots(changes: Iterable[ResourceChange]) -> dict[str, tuple[ResourceChange, ...]]:
    """By each replacement that has its own reason: itself, and all that is replaced because of it."""
    made_anew = {each.name: each for each in changes if each.verdict is Fate.REPLACE}
    found: dict[str, list[ResourceChange]] = {}
    for each in made_anew.values():
        for root in sorted(set(_roots(each, made_anew))):
            found.setdefault(root, []).append(each)
    return {root: tuple(what) for root, what in found.items()}


def _roots(each: ResourceChange, made_anew: Mapping[str, ResourceChange]) -> Iterator[str]:
    if not each.because:
        yield each.name
    for name in each.because:
        yield from _roots(made_anew[name], made_anew)


@dataclass(slots=True)
class _Walk:
    there: Mapping[str, Deployed]
    calls: Mapping[str, CloudCall]
    found: dict[str, ResourceChange] = field(default_factory=dict[str, ResourceChange])
    after: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """What is known of each resource's outputs before the deployment."""
    deleted_first: set[str] = field(default_factory=set[str])
    """Those that go before the new ones come."""

    def visit(self, each: CloudResource) -> None:
        """Compare one resource, given what became of those before it."""
        given = settled(
            {key: value for key, value in each.inputs.items() if value is not None}, self._known
        )
        there = self.there.get(each.name)
        if there is None or there.kind != each.kind:
            self._say(each, Fate.CREATE, given)
            return
        state = {**there.outputs, "id": there.id}
        given |= {
            key: Mark.LATER for key in given if self._excluded(each.inputs[key], state.get(key))
        }
        fields = field_changes(each.kind, state, given, each.ignores)
        if not any(one.replaces for one in fields) and (taken := self._taken_along(each, given)):
            # Deleted beside what it rests on, before that comes again: even when its name is the same.
            along = field_changes(each.kind, state, {**given, **taken}, each.ignores)
            fields = tuple(one for one in along if one.replaces) or fields
        verdict = Fate.SAME
        if fields:
            replaced = any(one.replaces for one in fields)
            verdict = Fate.REPLACE if replaced else Fate.UPDATE
        self._say(each, verdict, given, there, fields)

    def _excluded(self, wanted: Any, old: Any) -> bool:
        """Whether an answer of the cloud was one that the question excludes by now: it will be another."""
        call = self.calls.get(wanted.name.partition(".")[0]) if isinstance(wanted, Late) else None
        return call is not None and old in call.args.get("excludeNames", ())

    def _taken_along(self, each: CloudResource, given: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs that rest on what is deleted before it is made anew: unknown, for the engine."""
        first = {name.partition(".")[0] for key in given for name in names_in(each.inputs[key])}
        first &= self.deleted_first
        return {
            key: Mark.LATER
            for key in given
            if first & {name.partition(".")[0] for name in names_in(each.inputs[key])}
        }

    def _say(
        self,
        each: CloudResource,
        verdict: Fate,
        given: Mapping[str, Any],
        there: Deployed | None = None,
        fields: tuple[FieldChange, ...] = (),
    ) -> None:
        if verdict is Fate.REPLACE and _deletes_first(each, given):
            self.deleted_first.add(each.name)
        self.after[each.name] = _outputs(each.kind, verdict, given, there, fields)
        self.found[each.name] = ResourceChange(
            verdict=verdict,
            kind=each.kind,
            name=each.name,
            part=each.part,
            fields=fields,
            because=self._because(each, fields),
            asks=has_mark(given, Mark.ASKED),
            hangs=any(self._hangs(each, key) for key in given),
            protect=bool(there and there.protect),
            there=there,
        )

    def _known(self, name: str) -> Any:
        holder, *steps = name.split(".")
        if holder in self.calls:
            return Mark.ASKED
        found = at_path(self.after[holder], steps)
        return Mark.LATER if found is None else found

    def _because(self, each: CloudResource, fields: tuple[FieldChange, ...]) -> tuple[str, ...]:
        """The replaced ones that give it a new value, and so replace it whatever else changes of it."""
        names: set[str] = set()
        for change in fields:
            if change.replaces and has_mark(change.new, Mark.LATER):
                top = change.path.partition(".")[0].partition("[")[0]
                names |= {name.partition(".")[0] for name in names_in(each.inputs.get(top))}
        return tuple(sorted(name for name in names if self._is_replaced(name)))

    def _hangs(self, each: CloudResource, key: str) -> bool:
        """Whether another answer to the same question would be another resource."""
        names = (name.partition(".")[0] for name in names_in(each.inputs[key]))
        picks = any(name in self.calls and self.calls[name].kind in _PICKS for name in names)
        return picks and bool(cloud_kind(each.kind).fields[key].replace)

    def _is_replaced(self, name: str) -> bool:
        return name in self.found and self.found[name].verdict is Fate.REPLACE


def _deletes_first(each: CloudResource, given: Mapping[str, Any]) -> bool:
    """By the graph's word, always for some kinds, and where the name is ours: it can be there only once."""
    about = cloud_kind(each.kind)
    return each.delete_first or about.deletes_first or given.get(about.named) is not None


def _outputs(
    kind: str,
    verdict: Fate,
    given: Mapping[str, Any],
    there: Deployed | None,
    fields: tuple[FieldChange, ...],
) -> Mapping[str, Any]:
    """What those that rest on a resource can know of it."""
    if there is None or verdict is Fate.REPLACE:
        return given
    old = {**there.outputs, "id": there.id}
    if verdict is Fate.SAME:
        return old
    made = _over(old, given)
    if kind == TEMPLATE and any(each.path.partition("[")[0] not in _NO_VERSION for each in fields):
        made |= dict.fromkeys(("latestVersion", "defaultVersion"), Mark.LATER)
    return made


_NO_VERSION = frozenset({"description", "defaultVersion", "tags"})
"""Every other change of a launch template is a new version of it."""


def _over(old: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs over what there was, block by block: what the provider filled in stays."""
    made = dict(old)
    for key, value in given.items():
        before = made.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            made[key] = _over(before, value)
        else:
            made[key] = value
    return made
