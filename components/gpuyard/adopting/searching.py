"""From what a graph, a user and a cloud say to the id of each resource; and what stays unknown, and why."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuyard.adopting.identities import filled, form_of, import_id
from gpuyard.adopting.looks import LOOKS, CloudLook
from gpuyard.adopting.matching import Matched, last_part, matched, value_at
from gpuyard.plan.records import PlatformPlan
from gpuyard.preflight.asking import Answer, Question
from gpuyard.preflight.rounds import Ask
from gpuyard.render.cloud.graph import (
    CloudCall,
    CloudGraph,
    CloudResource,
    called_in,
    names_in,
    settle,
)

_ACCOUNT = "gcp:serviceaccount/account:Account"
_OUTPUTS = {
    ("aws:iam/role:Role", "name"): "{}",
    ("aws:cloudwatch/eventRule:EventRule", "name"): "{}",
    ("aws:iam/instanceProfile:InstanceProfile", "name"): "{}",
    ("aws:sqs/queue:Queue", "name"): "{}",
    (_ACCOUNT, "email"): "{}",
    (_ACCOUNT, "member"): "serviceAccount:{}",
}
"""What others read of a resource, made of the last part of its id."""


@dataclass(frozen=True, slots=True)
class Differs:
    """A field that a cloud has otherwise than the stack file gives it."""

    name: str
    field: str
    there: Any
    wanted: Any


@dataclass(frozen=True, slots=True)
class Searched:
    """What came of it, by the names in the graph."""

    ids: Mapping[str, str]
    """As `pulumi import` takes them."""
    missing: Mapping[str, str]
    """Why nobody knows the id of the others."""
    differs: tuple[Differs, ...]
    unasked: Mapping[str, str]
    """By what was asked: why there is no answer."""


def search(
    plan: PlatformPlan,
    graph: CloudGraph,
    given: Mapping[str, str],
    ask: Ask | None,
    component: str,
) -> Searched:
    """`given` are ids by names in the graph, and values that only the cloud knows, by their late names."""
    by_name = {each.name: each for each in graph.resources}
    state = _Search(plan, graph, component, dict(given), by_name)
    state.derive()
    # An answer leads to the next question: a network, its groups, their rules.
    while ask is not None and (questions := state.questions()):
        answers = ask(list(questions.values()))
        state.hear({words: answers[each.name] for words, each in questions.items()})
        state.derive()
    return state.result()


@dataclass(slots=True)
class _Search:
    plan: PlatformPlan
    graph: CloudGraph
    component: str
    given: dict[str, str]
    resources: dict[str, CloudResource]
    ids: dict[str, str] = field(default_factory=dict[str, str])
    """What the cloud calls it; or, of a user, what import takes."""
    known: dict[str, Any] = field(default_factory=dict[str, Any])
    """By late names, beyond ids and inputs."""
    asked: dict[tuple[str, ...], Answer] = field(default_factory=dict[tuple[str, ...], Answer])
    why: dict[str, str] = field(default_factory=dict[str, str])
    """Why nobody said anything of it."""
    gone: dict[str, str] = field(default_factory=dict[str, str])
    """What the cloud said of those that it has not."""
    differs: list[Differs] = field(default_factory=list[Differs])

    # ── what follows from what is known ───────────────────────────────────────────────────────────
    def derive(self) -> None:
        """In the order of the graph each rests on those before it."""
        for each in self.graph.resources:
            if each.name in self.given:
                self.ids.setdefault(each.name, self.given[each.name])
            elif found := filled(form_of(each.kind).id, self._inputs(each)):
                self.ids.setdefault(each.name, found)

    def _inputs(self, each: CloudResource | CloudCall) -> dict[str, Any]:
        """Its fields as far as their values are known, and where it is."""
        where = {"region": self.plan.region, "location": self.plan.region}
        where["project"] = self.given.get("client.project")
        inputs = {key: self._settled(value) for key, value in given_to(each).items()}
        return {**where, **{key: value for key, value in inputs.items() if value is not None}}

    def _settled(self, value: Any) -> Any:
        names = set(names_in(value))
        late = {name: self._late(name) for name in names}
        if any(each is None for each in late.values()):
            return None
        return settle(value, late.__getitem__)

    def _late(self, name: str) -> Any:
        if name in self.given or name in self.known:
            return self.given.get(name, self.known.get(name))
        if self.plan.cloud.value == "aws" and name == "partition.partition":
            return "aws"
        holder, _, output = name.partition(".")
        each, identity = self.resources.get(holder), self.ids.get(holder)
        if each is None or output == "id":
            return identity
        if output in each.inputs:
            return self._settled(each.inputs[output])
        made = _OUTPUTS.get((each.kind, output), "") if identity else ""
        return made.format(last_part(identity or "")) or None

    # ── asking ────────────────────────────────────────────────────────────────────────────────────
    def questions(self) -> dict[tuple[str, ...], Question]:
        """Those that can be put now and were not; one for all that it tells of."""
        found: dict[tuple[str, ...], Question] = {}
        for each, look in self._looks():
            words = self._words(each, look)
            if words and words not in self.asked:
                found.setdefault(words, Question(" ".join(words), " ".join(words[1:3]), words))
        return found

    def _looks(self) -> Iterator[tuple[CloudResource | CloudCall, CloudLook]]:
        holders: tuple[CloudResource | CloudCall, ...]
        holders = (*self.graph.calls, *self.graph.resources)
        for each in holders:
            for look in LOOKS.get(each.kind, ()):
                # an id that is known need not be looked for by its name
                if not (look.named and each.name in self.ids and not look.tells):
                    yield each, look

    def _words(self, each: CloudResource | CloudCall, look: CloudLook) -> tuple[str, ...] | None:
        inputs = self._inputs(each)
        named = {**inputs, "last": last_part(self.ids.get(each.name, "")) or None}
        wanted = [word for word in look.words if inputs.get("region") or "{region}" not in word]
        words = [filled(word, named) for word in wanted]
        return None if None in words else tuple(word for word in words if word is not None)

    def hear(self, answers: Mapping[tuple[str, ...], Answer]) -> None:
        """Read each answer for every resource that it tells of."""
        for each, look in list(self._looks()):
            words = self._words(each, look)
            if words is not None and words in answers:
                self._read(each, look, answers[words])
        self.asked |= answers

    def _read(self, each: CloudResource | CloudCall, look: CloudLook, answer: Answer) -> None:
        if answer.why:
            self.why[each.name] = f"nobody could ask: {answer.why}"
            return
        called = called_in(self.component, each) if isinstance(each, CloudResource) else ""
        inputs = self._inputs(each)
        found = matched(look, answer, inputs, called, self.ids.get(each.name, ""))
        if found.item is None:
            self.gone[each.name] = found.why
        else:
            self._take(each, look, found, inputs)

    def _take(
        self,
        each: CloudResource | CloudCall,
        look: CloudLook,
        found: Matched,
        inputs: Mapping[str, Any],
    ) -> None:
        self.gone.pop(each.name, None)
        if found.id and (whole := filled(look.whole, {**inputs, "item": found.id})):
            self.ids.setdefault(each.name, whole)
        for path, at in look.tells.items():
            value = found.at(at)
            if value is not None:
                self.known.setdefault(f"{each.name}.{path}", value)
        for path, at in look.rests.items():
            self._rests(value_at(given_to(each), path), found.at(at))
        for name, at in look.compares.items():
            there, wanted = found.at(at), value_at(inputs, name)
            if None not in (there, wanted) and not _same(there, wanted):
                self.differs.append(Differs(each.name, name, there, wanted))

    def _rests(self, field_: Any, value: Any) -> None:
        """An answer about one resource names another that it rests on."""
        names = list(names_in(field_))
        if len(names) != 1 or not isinstance(value, str):
            return
        holder, _, output = names[0].partition(".")
        self.known.setdefault(names[0], value)
        self.ids.setdefault(holder, value.rpartition("/")[2] if output == "arn" else value)

    # ── the end ───────────────────────────────────────────────────────────────────────────────────
    def result(self) -> Searched:
        """What is found, in the order of the graph, and what is not."""
        ids: dict[str, str] = {}
        missing: dict[str, str] = {}
        for each in self.graph.resources:
            taken = self.given.get(each.name)
            if taken is None and each.name not in self.gone:
                name = self.ids.get(each.name, "")
                taken = import_id(each.kind, name, self._inputs(each))
            if taken:
                ids[each.name] = taken
            else:
                missing[each.name] = self._why(each)
        unasked = {" ".join(words): got.why for words, got in self.asked.items() if got.why}
        return Searched(ids, missing, tuple(self.differs), unasked)

    def _why(self, each: CloudResource) -> str:
        if why := self.gone.get(each.name) or self.why.get(each.name):
            return why
        form = form_of(each.kind)
        if form.id or form.imported:
            return "its id is made of others that are not known"
        return "its id is the cloud's own"


def given_to(each: CloudResource | CloudCall) -> Mapping[str, Any]:
    """What a resource, or a question of the program, is given."""
    return each.inputs if isinstance(each, CloudResource) else each.args


def _same(there: Any, wanted: Any) -> bool:
    """Texts and numbers by what they say, lists by what is in them."""
    if isinstance(there, list) and isinstance(wanted, list):
        return sorted(map(str, there)) == sorted(map(str, wanted))
    return str(there).lower() == str(wanted).lower()
