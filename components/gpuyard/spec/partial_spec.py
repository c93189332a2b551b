"""The part of a malformed platform that can be checked, so that one error does not hide others.

If a finding has an applicable fix, the fix is assumed to be applied, so that checks agree with it. Otherwise
the smallest optional part is dropped: an entry, a field, a section. A pool keeps its name, so that references
to it stay valid; what was dropped from it is recorded.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from pydantic import ValidationError

from gpuyard.spec.platform import PlatformSpec
from gpuyard_core.catalogue.tables import read_yaml
from gpuyard_core.findings import Diagnostic, Path
from gpuyard_core.models.problems import validation_findings

_ROUNDS = 12
"""Maximum passes: dropping a part may make its parent invalid, and so on upwards."""
_LISTS = ("pools", "teams", "shapes")
_STAND_INS: Mapping[tuple[str, str], object] = {
    ("pools", "machine"): "p5.48xlarge",
    ("pools", "nodes"): 1,
}
"""Placeholders for required fields of an item. Findings that depend on them are suppressed."""
_ENTRIES = frozenset({"guarantee", "borrow", "lend", "labels", "select"})
"""Fields of items of which only the invalid entry is dropped."""


def suppressed_findings(missing: Iterable[Path]) -> tuple[str, ...]:
    """Id prefixes of findings that may be wrong because these parts were dropped."""
    silenced: Mapping[str, tuple[str, ...]] = read_yaml(
        str(FilePath(__file__).with_name("suppressed_findings")), Mapping[str, tuple[str, ...]]
    )
    results: set[str] = set()
    for path in missing:
        words = [step for step in path if isinstance(step, str)]
        by_field = silenced.get(".".join(words[:2]))
        results.update(silenced.get(words[0], ()) if by_field is None else by_field)
    return tuple(sorted(results))


@dataclass(frozen=True, slots=True)
class SalvagedSpec:
    """The valid part of a malformed platform, and what was dropped."""

    spec: PlatformSpec | None = None
    kept_indexes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """For each list, the indexes of the items in the file that were kept."""
    dropped_fields: Mapping[int, frozenset[str]] = field(default_factory=dict)
    """By index in the kept pools: the fields that were dropped."""
    dropped: frozenset[Path] = frozenset()
    """The path in the file of everything that was dropped."""


def salvage_spec(value: object) -> SalvagedSpec:
    """The part of a malformed platform that can be checked; empty if the cloud is unknown."""
    if not isinstance(value, Mapping):
        return SalvagedSpec()
    work = _Work({k: _copy(v) for k, v in value.items() if isinstance(k, str)})
    for _ in range(_ROUNDS):
        try:
            spec = PlatformSpec.model_validate(work.rest())
        except ValidationError as error:
            if not work.repair(validation_findings(error, PlatformSpec, work.rest())):
                break
        else:
            return SalvagedSpec(spec, work.kept(), work.broken(), frozenset(work.lost))
    return SalvagedSpec()


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _copy(v) for k, v in value.items()}
    return [_copy(v) for v in value] if isinstance(value, list | tuple) else value


class _Work:
    """A platform under repair. Items keep their index in the file; `rest` omits dropped ones."""

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

    def repair(self, findings: Iterable[Diagnostic]) -> bool:
        """Apply every fix and drop parts without one; False if nothing would be left."""
        kept_indexes, done = self.kept(), list[Path]()
        for finding in findings:
            path = placed(finding.path, kept_indexes)
            fix = finding.fix
            if fix is not None and (not fix.at or (finding.id, path) in self.tried):
                fix = None  # it cannot be applied, or was applied before without success
            at = placed(fix.at, kept_indexes) if fix and fix.at else path
            if any(_within(at, each) or _within(each, at) for each in done):
                continue  # handled in the next pass, after the change above or below it
            if fix:
                self.tried.add((finding.id, path))
                changed, parent = at, _parent(self.value, at)
                if fix.value is None:
                    del parent[at[-1]]
                else:
                    parent[at[-1]] = _copy(fix.value)
            else:
                changed = self._drop_part(path)
            if not changed:
                return False
            done.append(changed)
        return True

    def _drop_part(self, path: Path) -> Path:
        """Drop the part; () if the platform is invalid without it."""
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
            # a missing field changes nothing, and the passes end
            item.pop(part, None)
            self.lost.add(at)
        return (name, index)

    def _section_gone(self, path: Path) -> Path:
        """Drop the whole list for an entry of it; its parent if that is missing or not enough."""
        named = path[: next((i for i, step in enumerate(path) if isinstance(step, int)), len(path))]
        parent = _parent(self.value, named)
        while len(named) > 1 and not (isinstance(parent, dict) and named[-1] in parent):
            named = named[:-1]
            parent = _parent(self.value, named)
        parent.pop(named[-1], None)
        self.lost.add(named)
        return named


def placed(path: Path, kept_indexes: Mapping[str, tuple[int, ...]]) -> Path:
    """The path in the file of a path in the kept part."""
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
