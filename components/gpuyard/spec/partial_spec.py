"""As much of a malformed platform as can be judged, so that one slip hides no other.

Where a finding has a fix that a program can apply, the fix is taken to be made: what is judged then agrees
with what is proposed. Else the smallest part that can go without is left out: an entry, a field, a section.
A pool stays under its name, so that nobody who refers to it is blamed; what is left out of it is known.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from gpuyard.findings import Finding, Path
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.problems import validation_findings

_ROUNDS = 12
"""A part that is left out may leave its parent without what that needs, and so on up."""
_LISTS = ("pools", "teams", "shapes")
_STAND_INS: Mapping[tuple[str, str], object] = {
    ("pools", "machine"): "p5.48xlarge",
    ("pools", "nodes"): 1,
}
"""For fields that an item cannot go without. What is read out of them is not heard."""
_ENTRIES = frozenset({"guarantee", "borrow", "lend", "labels", "select"})
"""Fields of items that lose one entry, not all."""
_QUEUES = (
    *(
        "borrow.",
        "clusters.",
        "cohort.",
        "idle.",
        "kueue.",
        "lend.",
        "priority.",
        "provisioning.",
        "queue.",
    ),
    *("shape.no_quota", "slices.", "start.", "stop.", "team.nothing", "team.priority", "topology."),
)
_CLAIMS = ("cohort.", "lend.", "pool.left_over", "shape.no_quota", "team.nothing")
_SILENCED: Mapping[str, tuple[str, ...]] = {
    "admission": ("egress.", "idle.", "team.limits", "team.privileged"),
    "cluster": ("cluster", "kueue.", "system."),
    "observability": ("idle.",),
    "prices": ("budget.", "prices."),
    "priorities": ("idle.", "priority.", "targets.", "team.priority"),
    "queueing": _QUEUES,
    "queueing.engine": (),
    "queueing.fair_sharing": ("weight.",),
    "queueing.preemption": ("idle.", "priority.", "queue."),
    "software": ("software.",),
    "system": ("budget.", "system."),
    "shapes": ("fabric.", "numa.", "workloads."),
    "teams": (*_CLAIMS, "idle.", "pool.owner", "workloads."),
    "teams.borrow": _CLAIMS,
    "teams.guarantee": _CLAIMS,
    "teams.isolation": ("tenancy.",),
    "teams.lend": _CLAIMS,
    "teams.name": ("pool.owner", "workloads."),
}
"""By the part of a platform of which something was lost: beginnings of what is not known without it.

What a lost part of a pool leaves unknown depends on the part: the plan says it.
"""


def suppressed_findings(missing: Iterable[Path]) -> tuple[str, ...]:
    """Beginnings of the ids of findings that could be mistaken where these were lost."""
    results: set[str] = set()
    for path in missing:
        words = [step for step in path if isinstance(step, str)]
        by_field = _SILENCED.get(".".join(words[:2]))
        results.update(_SILENCED.get(words[0], ()) if by_field is None else by_field)
    return tuple(sorted(results))


@dataclass(frozen=True, slots=True)
class PartialSpec:
    """What is left of a malformed platform, and what was lost."""

    spec: PlatformSpec | None = None
    valid: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """For each list, which items of the file it holds."""
    invalid: Mapping[int, frozenset[str]] = field(default_factory=dict)
    """By index in the salvaged list of pools: the fields that were lost of it."""
    dropped: frozenset[Path] = frozenset()
    """Everything that was left out, by its path in the file."""


def read_partial(value: object) -> PartialSpec:
    """What can be judged of a platform that is not well-formed; nothing where the cloud itself is unknown."""
    if not isinstance(value, Mapping):
        return PartialSpec()
    work = _Work({k: _copy(v) for k, v in value.items() if isinstance(k, str)})
    for _ in range(_ROUNDS):
        try:
            spec = PlatformSpec.model_validate(work.rest())
        except ValidationError as error:
            if not work.mend(validation_findings(error, PlatformSpec, work.rest())):
                break
        else:
            return PartialSpec(spec, work.kept(), work.broken(), frozenset(work.lost))
    return PartialSpec()


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _copy(v) for k, v in value.items()}
    return [_copy(v) for v in value] if isinstance(value, list | tuple) else value


class _Work:
    """A platform under repair. Items keep their places in the file; `rest` is without those that are gone."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.value = value
        self.lost: set[Path] = set()
        self.gone: dict[str, set[int]] = {name: set() for name in _LISTS}
        self.tried: set[tuple[str, Path]] = set()

    def kept(self) -> dict[str, tuple[int, ...]]:
        return {
            name: tuple(i for i in range(len(items)) if i not in self.gone[name])
            for name in _LISTS
            if isinstance(items := self.value.get(name), list)
        }

    def rest(self) -> dict[str, Any]:
        kept_items = {
            name: [self.value[name][i] for i in here] for name, here in self.kept().items()
        }
        return self.value | kept_items

    def broken(self) -> dict[int, frozenset[str]]:
        places = {place: index for index, place in enumerate(self.kept()["pools"])}
        results: dict[int, set[str]] = {}
        for path in self.lost:
            match path:
                case ("pools", int(place), str(name), *_) if place in places:
                    results.setdefault(places[place], set()).add(name)
                case _:
                    pass
        return {index: frozenset(names) for index, names in results.items()}

    def mend(self, findings: Iterable[Finding]) -> bool:
        """Take every fix to be made, and leave out what has none; False where nothing would be left."""
        kept_indexes, done = self.kept(), list[Path]()
        for finding in findings:
            path = _placed(finding.path, kept_indexes)
            mend = self._fix_location(finding, path, kept_indexes)
            at = mend or path
            if any(_within(at, each) or _within(each, at) for each in done):
                continue  # its turn comes when what was changed above or below it has been read again
            changed = self._apply_fix(finding, path, at) if mend else self._drop_part(path)
            if not changed:
                return False
            done.append(changed)
        return True

    def _fix_location(
        self, finding: Finding, path: Path, kept: Mapping[str, tuple[int, ...]]
    ) -> Path:
        """Where the fix changes something; () without one, and where it was made once and did not help."""
        if finding.fix is None or not finding.fix.at or (finding.id, path) in self.tried:
            return ()
        return _placed(finding.fix.at, kept)

    def _apply_fix(self, finding: Finding, path: Path, at: Path) -> Path:
        self.tried.add((finding.id, path))
        parent = _parent(self.value, at)
        if finding.fix is None or finding.fix.value is None:
            del parent[at[-1]]
        else:
            parent[at[-1]] = _copy(finding.fix.value)
        return at

    def _drop_part(self, path: Path) -> Path:
        """The part that goes: () when the platform is none without it."""
        match path:
            case (str(name), int(index)) if name in _LISTS:
                return self._item_gone(name, index)
            case (str(name), int(index), str(part), *more) if name in _LISTS:
                return self._part_gone(name, index, part, more)
            case (("cloud" | "kubernetes" | "pools" | "teams" | "shapes"), *_) | ():
                return ()
            case ("name", *_):
                self.value["name"] = "platform"
                self.lost.add(("name",))
                return ("name",)
            case _:
                return self._section_gone(path)

    def _item_gone(self, name: str, index: int) -> Path:
        self.gone[name].add(index)
        self.lost.add((name, index))
        return (name, index)

    def _part_gone(self, name: str, index: int, part: str, more: list[str | int]) -> Path:
        item, at = self.value[name][index], (name, index, part)
        if part in _ENTRIES and more and more[0] in item[part]:
            del item[part][more[0]]
            self.lost.add((*at, more[0]))
        elif (name, part) in _STAND_INS:
            item[part] = _STAND_INS[name, part]
            self.lost.add(at)
        elif name == "shapes":
            return self._item_gone(name, index)
        elif part == "name":
            item["name"] = f"{name[:-1]}-{index + 1}-of-the-file"
            self.lost.add(at)
        else:
            # of a field that is not there nothing changes, and the rounds end
            item.pop(part, None)
            self.lost.add(at)
        return (name, index)

    def _section_gone(self, path: Path) -> Path:
        """From an entry of a list the whole list goes; where that is not there or not enough, its parent."""
        named = path[: next((i for i, step in enumerate(path) if isinstance(step, int)), len(path))]
        while not (len(named) == 1 or _is_there(self.value, named)):
            named = named[:-1]
        _parent(self.value, named).pop(named[-1], None)
        self.lost.add(named)
        return named


def _placed(path: Path, kept_indexes: Mapping[str, tuple[int, ...]]) -> Path:
    match path:
        case (str(name), int(index), *rest) if name in kept_indexes:
            return (name, kept_indexes[name][index], *rest)
        case _:
            return path


def _within(path: Path, other: Path) -> bool:
    return path[: len(other)] == other


def _parent(value: Any, path: Path) -> Any:
    for step in path[:-1]:
        value = value.get(step, {}) if isinstance(value, dict) else value[step]
    return value


def _is_there(value: Any, path: Path) -> bool:
    parent = _parent(value, path)
    return isinstance(parent, dict) and path[-1] in parent
