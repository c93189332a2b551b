"""Find the id of each resource from the graph, the user and the cloud; and why others stay unknown."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard.preflight.probes import UNEXPECTED_FORMAT, Probe, ProbeAnswer, RunProbes
from gpuyard.render.cloud.graph import (
    CLUSTER,
    CloudCall,
    CloudGraph,
    CloudResource,
    late_value_names,
    platform_resource_name,
    resolve_values,
)
from gpuyard_core.catalogue.cloud_fields import DEFAULTS, cloud_kind
from gpuyard_core.catalogue.software.cloud_ids import IDENTITIES, IdForm
from gpuyard_core.catalogue.software.providers import PROVIDERS
from gpuyard_core.catalogue.tables import read_yaml
from gpuyard_core.names import SYSTEM_POOL


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupCommand:
    """One query, and how its result is read. Fields of a resource are in braces."""

    arguments: tuple[str, ...]
    items: str = ""
    """Path of the items in the result; a single item is not a list."""
    id: str = ""
    """Path of the id in an item; empty when an item is a string."""
    id_template: str = "{item}"
    """Template of the provider's id."""
    matches: Mapping[str, str] = field(default_factory=dict[str, str])
    """Fields that must match, by their paths in an item."""
    required_values: Mapping[str, object] = field(default_factory=dict[str, object])
    """Required values of an item."""
    named: bool = False
    """Match by the generated name if nothing else does."""
    listed: bool = False
    """The item is found by its known id."""
    outputs: Mapping[str, str] = field(default_factory=dict[str, str])
    """Outputs that other resources use."""
    reference_fields: Mapping[str, str] = field(default_factory=dict[str, str])
    """Fields with the id or ARN of another resource."""
    compared_fields: Mapping[str, str] = field(default_factory=dict[str, str])
    """Fields whose differences are reported."""


LOOKS: Mapping[str, tuple[LookupCommand, ...]] = read_yaml(
    str(Path(__file__).with_name("lookup_commands")), Mapping[str, tuple[LookupCommand, ...]]
)
"""By kind. For ids that are derived from names, a query shows whether they exist."""


_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Match:
    """The item of the resource, or why there is none."""

    item: Any = None
    id: str = ""
    why: str = ""


def value_at(value: Any, path: str) -> Any:
    """The value at a path of field names and indices; None if absent."""
    for step in path.split(".") if path else ():
        if isinstance(value, list):
            value = value[int(step)] if step.isdigit() and int(step) < len(value) else None
        else:
            value = value.get(step) if isinstance(value, Mapping) else None
    return value


def match_resource(
    look: LookupCommand, answer: ProbeAnswer, inputs: Mapping[str, Any], called: str, known: str
) -> Match:
    """Match by common fields; among several, by the tag Name and by the generated name.

    `called` is the name in the program, `known` the id if already known.
    """
    if answer.error:
        return Match(why=f"not found ({answer.error})")
    listed = value_at(answer.value, look.items)
    items = [listed] if isinstance(listed, Mapping) else listed
    if not isinstance(items, list):
        return Match(why=UNEXPECTED_FORMAT)
    candidates = [each for each in items if _fits(look, each, inputs)]
    for narrow, strict in _narrowing(look, inputs, called, known):
        narrowed = [each for each in candidates if narrow(each)]
        candidates = narrowed if narrowed or strict else candidates
    if len(candidates) == 1:
        return Match(candidates[0], id_of(look, candidates[0]))
    if not candidates:
        return Match(why=f"not found among {len(items)}")
    some = ", ".join(id_of(look, each) for each in candidates[:_SHOWN])
    return Match(why=f"{len(candidates)} candidates: {some}")


def id_of(look: LookupCommand, item: Any) -> str:
    """The id of an item."""
    if isinstance(item, str):
        return item
    return str(value_at(item, look.id) or "") if look.id else ""


def last_part(identity: str) -> str:
    """The last part of `lab:train` and `projects/p/global/networks/lab`."""
    return re.split(r"[:/]", identity)[-1]


def _fits(look: LookupCommand, item: Any, inputs: Mapping[str, Any]) -> bool:
    pairs = ((value_at(inputs, name), value_at(item, at)) for name, at in look.matches.items())
    return all(
        value_at(item, path) == value for path, value in look.required_values.items()
    ) and all(expected is None or str(expected) == str(actual) for expected, actual in pairs)


NarrowingFilter = tuple[Callable[[Any], bool], bool]
"""Whether an item may match, and whether it matches exclusively."""


def _narrowing(
    look: LookupCommand, inputs: Mapping[str, Any], called: str, known: str
) -> Iterator[NarrowingFilter]:
    if look.listed:
        # an id with slashes, such as that of a log group, is compared as a whole
        yield (
            lambda item: (
                id_of(look, item) == known or (last_part(id_of(look, item)) == last_part(known))
            ),
            True,
        )
    elif look.named:
        one = re.compile(rf"{re.escape(called)}(-[0-9a-f]{{7}})?")
        yield lambda item: one.fullmatch(last_part(id_of(look, item))) is not None, True
    if name := value_at(inputs, "tags.Name"):
        tag = ("Name", name)
        yield (
            lambda item: any(
                (each.get("Key"), each.get("Value")) == tag for each in value_at(item, "Tags") or ()
            ),
            False,
        )


_ASKED = IdForm()
"""For kinds whose id the cloud generates and import accepts unchanged."""


def identity_format(kind: str) -> IdForm:
    """The id format of a kind."""
    return IDENTITIES.get(kind, _ASKED)


def resolve_identity(template: str, inputs: Mapping[str, Any]) -> str | None:
    """Fill a template with fields; None if a field is unknown or the template is empty."""
    known = {key: value for key, value in inputs.items() if value is not None}
    try:
        return template.format_map(known) or None
    except KeyError:
        return None


def import_id(kind: str, identity: str, inputs: Mapping[str, Any]) -> str | None:
    """The `pulumi import` id of a resource with this id."""
    form = identity_format(kind)
    if not form.imported:
        return identity or None
    return resolve_identity(form.imported, {**inputs, "id": identity or inputs.get("id")})


_ACCOUNT = "gcp:serviceaccount/account:Account"
_OUTPUTS = {
    ("aws:iam/role:Role", "name"): "{}",
    ("aws:cloudwatch/eventRule:EventRule", "name"): "{}",
    ("aws:iam/instanceProfile:InstanceProfile", "name"): "{}",
    ("aws:sqs/queue:Queue", "name"): "{}",
    (_ACCOUNT, "email"): "{}",
    (_ACCOUNT, "member"): "serviceAccount:{}",
}
"""Outputs of a resource that are derived from the last part of its id."""


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """A field whose value in the cloud differs from the stack file."""

    name: str
    field: str
    actual: Any
    expected: Any


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result, by names in the graph."""

    ids: Mapping[str, str]
    """Ids for `pulumi import`."""
    missing: Mapping[str, str]
    """Why the ids of the others are unknown."""
    differences: tuple[FieldDifference, ...]
    not_queried: Mapping[str, str]
    """Why queries failed, by command."""


def search(
    plan: PlatformPlan,
    graph: CloudGraph,
    inputs: Mapping[str, str],
    ask: RunProbes | None,
    component: str,
) -> SearchResult:
    """Search the ids; `given` are known ids by names in the graph, and late values by name."""
    by_name = {each.name: each for each in graph.resources}
    searcher = _Search(plan, graph, component, dict(inputs), by_name)
    searcher.derive()
    # A result enables the next query: a network, its groups, their rules.
    while ask is not None and (questions := searcher.questions()):
        answers = ask(list(questions.values()))
        searcher.hear({words: answers[each.name] for words, each in questions.items()})
        searcher.derive()
    return searcher.result()


@dataclass(slots=True)
class _Search:
    plan: PlatformPlan
    graph: CloudGraph
    component: str
    given: dict[str, str]
    resources: dict[str, CloudResource]
    ids: dict[str, str] = field(default_factory=dict[str, str])
    """Ids of the cloud; from the user, import ids."""
    known: dict[str, Any] = field(default_factory=dict[str, Any])
    """Late values by name, besides ids and inputs."""
    asked: dict[tuple[str, ...], ProbeAnswer] = field(
        default_factory=dict[tuple[str, ...], ProbeAnswer]
    )
    why: dict[str, str] = field(default_factory=dict[str, str])
    """Why a query failed."""
    gone: dict[str, str] = field(default_factory=dict[str, str])
    """Results for resources that were not found."""
    differs: list[FieldDifference] = field(default_factory=list[FieldDifference])

    # ── derived ids ───────────────────────────────────────────────────────────
    def derive(self) -> None:
        """Derive ids in the order of the graph, where dependencies come first."""
        for each in self.graph.resources:
            if each.name in self.given:
                self.ids.setdefault(each.name, self.given[each.name])
            elif result := resolve_identity(identity_format(each.kind).id, self._inputs(each)):
                self.ids.setdefault(each.name, result)

    def _inputs(self, each: CloudResource | CloudCall) -> dict[str, Any]:
        """Its known fields, and its location."""
        where = {"region": self.plan.region, "location": self.plan.region}
        where["project"] = self.given.get("client.project")
        inputs = {key: self._settled(value) for key, value in search_inputs(each).items()}
        return {**where, **{key: value for key, value in inputs.items() if value is not None}}

    def _settled(self, value: Any) -> Any:
        names = set(late_value_names(value))
        late = {name: self._late(name) for name in names}
        if any(each is None for each in late.values()):
            return None
        return resolve_values(value, late.__getitem__)

    def _late(self, name: str) -> Any:
        if name in self.given or name in self.known:
            return self.given.get(name, self.known.get(name))
        if name == "partition.partition":
            return "aws"
        holder, _, output = name.partition(".")
        each, identity = self.resources.get(holder), self.ids.get(holder)
        if each is None or output == "id":
            return identity
        if output in each.inputs:
            return self._settled(each.inputs[output])
        template = _OUTPUTS.get((each.kind, output), "") if identity else ""
        return template.format(last_part(identity or "")) or None

    # ── queries ────────────────────────────────────────────────────────────────────────────────────
    def questions(self) -> dict[tuple[str, ...], Probe]:
        """Queries that are possible now, each once for all its resources."""
        results: dict[tuple[str, ...], Probe] = {}
        for each, look in self._queries():
            words = self._arguments(each, look)
            if words and words not in self.asked:
                results.setdefault(words, Probe(" ".join(words), " ".join(words[1:3]), words))
        return results

    def _queries(self) -> Iterator[tuple[CloudResource | CloudCall, LookupCommand]]:
        holders: list[CloudResource | CloudCall] = [*self.graph.calls, *self.graph.resources]
        for each in holders:
            for look in LOOKS.get(each.kind, ()):
                # a known id needs no search by name
                if not (look.named and each.name in self.ids and not look.outputs):
                    yield each, look

    def _arguments(
        self, each: CloudResource | CloudCall, look: LookupCommand
    ) -> tuple[str, ...] | None:
        inputs = self._inputs(each)
        named = {**inputs, "last": last_part(self.ids.get(each.name, "")) or None}
        wanted = [word for word in look.arguments if inputs.get("region") or "{region}" not in word]
        words = [resolve_identity(word, named) for word in wanted]
        return None if None in words else tuple(word for word in words if word is not None)

    def hear(self, answers: Mapping[tuple[str, ...], ProbeAnswer]) -> None:
        """Process each result for every resource in it."""
        for each, look in list(self._queries()):
            words = self._arguments(each, look)
            if words is not None and words in answers:
                self._record_answer(each, look, answers[words])
        self.asked |= answers

    def _record_answer(
        self, each: CloudResource | CloudCall, look: LookupCommand, answer: ProbeAnswer
    ) -> None:
        if answer.failure_reason:
            self.why[each.name] = f"not queried: {answer.failure_reason}"
            return
        called = (
            platform_resource_name(self.component, each) if isinstance(each, CloudResource) else ""
        )
        inputs = self._inputs(each)
        result = match_resource(look, answer, inputs, called, self.ids.get(each.name, ""))
        if result.item is None:
            self.gone[each.name] = result.why
            return
        self.gone.pop(each.name, None)
        if result.id and (
            identity := resolve_identity(look.id_template, {**inputs, "item": result.id})
        ):
            self.ids.setdefault(each.name, identity)
        for path, at in look.outputs.items():
            value = value_at(result.item, at)
            if value is not None:
                self.known.setdefault(f"{each.name}.{path}", value)
        for path, at in look.reference_fields.items():
            self._rests(value_at(search_inputs(each), path), value_at(result.item, at))
        for name, at in look.compared_fields.items():
            actual, expected = value_at(result.item, at), value_at(inputs, name)
            if None not in (actual, expected) and not _same(actual, expected):
                self.differs.append(FieldDifference(each.name, name, actual, expected))

    def _rests(self, field_: Any, value: Any) -> None:
        """Record the id of a dependency in the result."""
        names = list(late_value_names(field_))
        if len(names) != 1 or not isinstance(value, str):
            return
        holder, _, output = names[0].partition(".")
        self.known.setdefault(names[0], value)
        self.ids.setdefault(holder, value.rpartition("/")[2] if output == "arn" else value)

    # ── result ───────────────────────────────────────────────────────────────────────────────────
    def result(self) -> SearchResult:
        """Found and missing resources, in the order of the graph."""
        ids: dict[str, str] = {}
        missing: dict[str, str] = {}
        for each in self.graph.resources:
            import_identity = self.given.get(each.name)
            if import_identity is None and each.name not in self.gone:
                name = self.ids.get(each.name, "")
                import_identity = import_id(each.kind, name, self._inputs(each))
            if import_identity:
                ids[each.name] = import_identity
            else:
                missing[each.name] = self._reason(each)
        unasked = {
            " ".join(words): got.failure_reason
            for words, got in self.asked.items()
            if got.failure_reason
        }
        return SearchResult(ids, missing, tuple(self.differs), unasked)

    def _reason(self, each: CloudResource) -> str:
        if why := self.gone.get(each.name) or self.why.get(each.name):
            return why
        form = identity_format(each.kind)
        if form.id or form.imported:
            return "its id contains ids that are unknown"
        return "its id is generated by the cloud"


def search_inputs(each: CloudResource | CloudCall) -> Mapping[str, Any]:
    """The inputs of a resource or a query."""
    return each.inputs if isinstance(each, CloudResource) else each.args


def _same(actual: Any, expected: Any) -> bool:
    """Compare strings and numbers by value, lists by content."""
    if isinstance(actual, list) and isinstance(expected, list):
        return sorted(map(str, actual)) == sorted(map(str, expected))
    return str(actual).lower() == str(expected).lower()


def import_file(
    plan: PlatformPlan, graph: CloudGraph, ids: Mapping[str, str], component: str
) -> dict[str, Any]:
    """Parents first: the platform, its cluster and pools, then the resources with an id.

    `ids` are import ids by names in the graph; `component` is the name of the Platform in the program.
    """
    imported = [each for each in graph.resources if each.name in ids]
    top = _component("Platform", component)
    above: dict[str, dict[str, Any]] = {}
    resources: list[dict[str, Any]] = []
    for each in imported:
        kind = "GpuNodePool" if _in_pool(each) else plan.provider.cluster_kind
        name = f"{component}-{each.part if _in_pool(each) else CLUSTER}"
        parent = above.setdefault(name, {**_component(kind, name), "parent": top["name"]})
        resources.append(
            {
                "type": each.kind,
                # keys of the file must be unique; names in a program need not be
                "name": f"{each.kind.rpartition(':')[2]} {each.name}",
                "logicalName": platform_resource_name(component, each),
                "id": ids[each.name],
                "parent": parent["name"],
                "version": PROVIDERS[each.kind.partition(":")[0]].version,
            }
        )
    return {"nameTable": {}, "resources": [top, *above.values(), *resources]}


def _in_pool(each: CloudResource) -> bool:
    return each.part not in {"", SYSTEM_POOL}


def _component(kind: str, name: str) -> dict[str, Any]:
    return {
        "type": f"gpuyard:index:{kind}",
        "name": f"{kind} {name}",
        "logicalName": name,
        "component": True,
    }


def with_explicit_names(deployment: Mapping[str, Any], adopted: Iterable[str]) -> dict[str, Any]:
    """Mark the names of adopted resources in an exported deployment as generated by Pulumi.

    An import records them as inputs. A program without explicit names would then request a generated one,
    which replaces the resource. `adopted` are names in the program.
    """
    adopted_names = set(adopted)
    resources: list[Any] = []
    for each in deployment.get("resources") or []:
        inputs = each.get("inputs") or {}
        ours = each["urn"].rpartition("::")[2] in adopted_names and each.get("custom") is True
        named = cloud_kind(each["type"]).named if ours else ""
        if named in inputs:
            defaults = sorted({*inputs.get(DEFAULTS, ()), named})
            resources.append({**each, "inputs": {**inputs, DEFAULTS: defaults}})
        else:
            resources.append(each)
    return {**deployment, "resources": resources}
