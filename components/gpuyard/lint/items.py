"""Resources read from files, with the place each stands at, and what could not be read."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuyard.findings import Path
from gpuyard.rules.rule import Resource
from gpuyard.spec.yaml_tree import Document

_TWO_WORDS = re.compile(r"(?<![\w./])[a-z]+(?:[A-Z][a-z0-9]+)+(?![\w/])")
"""A field whose name is of several words: no other word of a sentence looks like it."""


@dataclass(frozen=True, slots=True)
class FileLocation:
    """Where a resource stands: in a file, in one of its documents, below a path."""

    file: str
    document: Document
    prefix: Path = ()
    """Where in the document the resource's properties begin."""
    first_line: int = 0
    """Lines of the file before the document's first, for a document inside another's text."""

    fixed: tuple[int, int] | None = None
    """Where everything in it is said to stand, for a document inside text on one line."""
    pulumi_name: Callable[[str], str] | None = None
    """What Pulumi, and with it every rule, calls a field of this document; None where names are the same."""
    own_name: Callable[[str], str] | None = None
    """What this document calls a field of Pulumi's: the other way round."""
    written_at: Callable[[int], int] | None = None
    """Of what a program made of the file: the line there that a line of it comes from."""
    override_positions: Mapping[Path, tuple[int, int]] | None = None
    """By path: line and column of what something beside the document says over it."""
    parts: Mapping[Path, Path] | None = None
    """Of an object that values of a chart describe: by path in it, where they say what is there and below."""

    def position(self, path: Path) -> tuple[int, int]:
        """Line and column of something in the resource, or of the nearest thing around it."""
        line, column = self._position(path)
        return (line, column) if self.written_at is None else (self.written_at(line), 1)

    def lines_to(self, path: Path) -> list[int]:
        """The lines of what a path leads through, from the resource's own."""
        return [self.position(path[:end])[0] for end in range(len(path) + 1)]

    def last_line(self) -> int:
        """The line on which the last of the resource begins."""
        last = self.fixed[0] if self.fixed else self.first_line + self.document.last(self.prefix)
        return last if self.written_at is None else self.written_at(last)

    def _position(self, path: Path) -> tuple[int, int]:
        over = self.override_positions or {}
        written = self._written(path) if over or self.fixed is None else ()
        for end in range(len(written), 0, -1) if over else ():
            if position := over.get(written[:end]):
                return position
        if self.fixed is not None:
            return self.fixed
        nearest = self.document.nearest((*self.prefix, *written)) or ()
        line = self.first_line + self.document.lines.get(nearest, 1)
        return line, self.document.columns.get(nearest, 1)

    def nested_in(self, path: Path, document: Document) -> "FileLocation":
        """The place of a document that is the text at a path below this one."""
        line, column = self._position(path)
        if self.fixed is None and (*self.prefix, *self._written(path)) in self.document.blocks:
            # a block begins on the line after its key
            return FileLocation(self.file, document, (), line, written_at=self.written_at)
        return FileLocation(self.file, document, (), 0, (line, column), written_at=self.written_at)

    def document_path(self, path: Path) -> Path:
        """The path in the names of the document's language, also below what it does not have."""
        if self.parts is not None:
            return self._written(path)
        if self.own_name is None:
            return path
        own = self.own_name
        return tuple(own(s) if isinstance(s, str) else s for s in self._written(path))

    def document_text(self, text: str) -> str:
        """What is said about a resource here, with its fields in the names of the document's language."""
        if self.own_name is None:
            return text
        own = self.own_name
        return _TWO_WORDS.sub(lambda found: own(found[0]), text)

    def _written(self, path: Path) -> Path:
        """The path as the document has it: its own names of fields, and lists of one around blocks."""
        if self.parts is not None:
            return _by_parts(self.parts, path)
        if self.pulumi_name is None:
            return path
        value: Any = self.document.value
        for step in self.prefix:
            value = value[step]
        written: list[str | int] = []
        for step in path:
            if isinstance(value, list) and len(value) == 1 and isinstance(step, str):
                written.append(0)
                value = value[0]
            name = self._name_in(value, step)
            written.append(name)
            value = value_at_step(value, name)
        return tuple(written)

    def _name_in(self, value: Any, step: str | int) -> str | int:
        if isinstance(step, int) or not isinstance(value, Mapping) or self.pulumi_name is None:
            return step
        return next((name for name in value if self.pulumi_name(name) == step), step)


def _by_parts(parts: Mapping[Path, Path], path: Path) -> Path:
    """What is written at the longest beginning of a path that is known, and the rest as it is."""
    known_length = next(end for end in range(len(path), -1, -1) if path[:end] in parts)
    return (*parts[path[:known_length]], *path[known_length:])


def value_at_step(value: Any, step: str | int) -> Any:
    """What stands at a step below a value; None where nothing does."""
    if isinstance(value, Mapping):
        return value.get(step)
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        return value[step]
    return None


@dataclass(frozen=True, slots=True)
class ReleasePart:
    """Values that stand in a release."""

    release: Resource
    base: Path
    """Where in it the chart is said that they are for."""


@dataclass(frozen=True, slots=True)
class Item:
    """A resource and where it stands."""

    resource: Resource
    place: FileLocation
    is_uncertain: bool = False
    """Whether it may not be there at all: a variable decides."""
    merged_resource: Resource | None = None
    """A release with the values of the files in view that it names, as it is deployed; so are its values."""
    part: ReleasePart | None = None
    """Of values that stand in a release, what they are there."""
    release: Resource | None = None
    """Of what values of a chart describe: the release that has them, where they do not stand alone."""

    @property
    def described(self) -> bool:
        """Whether it stands in no file as it is: values of a chart describe it."""
        return self.place.parts is not None


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file, or a part of one, that was not understood: it is said, never skipped."""

    file: str
    reason: str
    line: int = 1
    template: bool = False
    """True for a template of Helm or another language: it has to be rendered first."""
    is_unrecognized: bool = False
    """True for what is nobody's here: another program's settings, a schema, data."""


@dataclass(frozen=True, slots=True)
class ValuesOverlay:
    """What one command, or one release of Terraform, hands to helm."""

    files: tuple[str, ...]
    """Files of values in view, those of the chart first, as helm lays them over each other."""
    set_values: tuple[Any, ...] = ()
    """What `--set` lays over them."""
    chart: str = ""
    """For which chart a release of Terraform says that they are; "" where commands say it, or nobody."""


@dataclass(frozen=True, slots=True)
class LintInput:
    """Everything that was found in some files."""

    items: tuple[Item, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()
    files: tuple[str, ...] = field(default=())
    """Every file that was looked at, in order."""
    samples: frozenset[str] = frozenset()
    """Those of them that nobody deploys: examples, data of tests, copies of what is somebody else's."""
    kustomizations: Mapping[str, tuple[Resource, ...]] = field(
        default_factory=dict[str, tuple[Resource, ...]]
    )
    """By folder of a kustomization: what a run of kustomize made of all that it takes."""
    installs: tuple[Resource, ...] = ()
    """Programs that commands beside the files install: they stand in none of `files`."""
    values_overlays: tuple[ValuesOverlay, ...] = ()
    """What such commands hand to helm."""
    values_variants: Mapping[str, tuple[Any, ...]] = field(
        default_factory=dict[str, tuple[Any, ...]]
    )
    """By file of values: all of a release's, for each release that names it."""

    def __add__(self, other: "LintInput") -> "LintInput":
        return LintInput(
            self.items + other.items,
            self.skipped + other.skipped,
            self.files + other.files,
            self.samples | other.samples,
            {**self.kustomizations, **other.kustomizations},
            self.installs + other.installs,
            self.values_overlays + other.values_overlays,
            {**self.values_variants, **other.values_variants},
        )
