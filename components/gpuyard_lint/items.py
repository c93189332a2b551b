"""Resources read from files, with their places, and skipped files."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuyard_core.findings import Path
from gpuyard_core.yaml_tree import Document
from gpuyard_lint.rules.rule import Resource

_TWO_WORDS = re.compile(r"(?<![\w./])[a-z]+(?:[A-Z][a-z0-9]+)+(?![\w/])")
"""A field name of several words, which is not an ordinary word in a sentence."""


@dataclass(frozen=True, slots=True)
class FileLocation:
    """The location of a resource: a file, one of its documents, and a path."""

    file: str
    document: Document
    prefix: Path = ()
    """The path in the document at which the resource's properties begin."""
    first_line: int = 0
    """Lines of the file before the document's first, for a document inside another's text."""

    fixed_position: tuple[int, int] | None = None
    """The location of all its content, for a document inside a one-line text."""
    pulumi_name: Callable[[str], str] | None = None
    """The Pulumi name, which rules use, of each field of this document; None if names are equal."""
    to_document_name: Callable[[str], str] | None = None
    """The name in this document of each Pulumi field."""
    to_source_line: Callable[[int], int] | None = None
    """For a rendered file: the source line of each line."""
    override_positions: Mapping[Path, tuple[int, int]] | None = None
    """By path: line and column of values that override the document."""

    def position(self, path: Path) -> tuple[int, int]:
        """Line and column of a place in the resource, or of the nearest parent."""
        line, column = self._position(path)
        return (line, column) if self.to_source_line is None else (self.to_source_line(line), 1)

    def _position(self, path: Path) -> tuple[int, int]:
        over = self.override_positions or {}
        written = self._written(path) if over or self.fixed_position is None else ()
        for end in range(len(written), 0, -1) if over else ():
            if position := over.get(written[:end]):
                return position
        if self.fixed_position is not None:
            return self.fixed_position
        nearest = self.document.nearest_located_path((*self.prefix, *written)) or ()
        line = self.first_line + self.document.lines.get(nearest, 1)
        return line, self.document.columns.get(nearest, 1)

    def nested_in(self, path: Path, document: Document) -> "FileLocation":
        """The place of a document that is the text at a path below this one."""
        line, column = self._position(path)
        if (
            self.fixed_position is None
            and (*self.prefix, *self._written(path)) in self.document.blocks
        ):
            # a block begins on the line after its key
            return FileLocation(self.file, document, (), line, to_source_line=self.to_source_line)
        return FileLocation(
            self.file, document, (), 0, (line, column), to_source_line=self.to_source_line
        )

    def document_path(self, path: Path) -> Path:
        """The path in the document's field names, also below unmapped fields."""
        if self.to_document_name is None:
            return path
        own = self.to_document_name
        return tuple(own(s) if isinstance(s, str) else s for s in self._written(path))

    def with_document_names(self, text: str) -> str:
        """A message about a resource here, with the document's field names."""
        if self.to_document_name is None:
            return text
        own = self.to_document_name
        return _TWO_WORDS.sub(lambda found: own(found[0]), text)

    def _written(self, path: Path) -> Path:
        """The path in the document: its own field names, with single-item lists for blocks."""
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


def value_at_step(value: Any, step: str | int) -> Any:
    """The value at a step; None if there is none."""
    if isinstance(value, Mapping):
        return value.get(step)
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        return value[step]
    return None


@dataclass(frozen=True, slots=True)
class Item:
    """A resource and its place."""

    resource: Resource
    place: FileLocation
    is_uncertain: bool = False
    """Whether it may be absent: a variable decides."""
    merged_resource: Resource | None = None
    """A Terraform release merged with the values files that it opens, as deployed."""


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file, or a part of one, that lint could not read: it is reported."""

    file: str
    reason: str
    line: int = 1
    template: bool = False
    """True for a template of Helm or another language: it must be rendered first."""
    is_unrecognized: bool = False
    """True for irrelevant files: settings of other programs, a schema, data."""


@dataclass(frozen=True, slots=True)
class ValuesOverlay:
    """Values that one command, or one Terraform release, passes to helm."""

    files: tuple[str, ...]
    """Values files in the input, in merge order: the chart's first."""
    set_values: tuple[Any, ...] = ()
    """Values set by `--set`."""
    chart: str = ""
    """The chart in a Terraform release; "" for commands, or if unknown."""


@dataclass(frozen=True, slots=True)
class LintInput:
    """All resources from some files."""

    items: tuple[Item, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()
    files: tuple[str, ...] = field(default=())
    """Every file that was read, in order."""
    example_files: frozenset[str] = frozenset()
    """Files that are not deployed: examples, test data, vendored copies."""
    kustomizations: Mapping[str, tuple[Resource, ...]] = field(
        default_factory=dict[str, tuple[Resource, ...]]
    )
    """By folder of a kustomization: the result of `kustomize build`."""
    installs: tuple[Resource, ...] = ()
    """Programs that commands next to the files install: they are in none of `files`."""
    values_overlays: tuple[ValuesOverlay, ...] = ()
    """Values that such commands pass to helm."""

    def __add__(self, other: "LintInput") -> "LintInput":
        return joined((self, other))


def joined(inputs: Iterable[LintInput]) -> LintInput:
    """The content of several inputs."""
    each = tuple(inputs)
    return LintInput(
        tuple(item for one in each for item in one.items),
        tuple(skipped for one in each for skipped in one.skipped),
        tuple(file for one in each for file in one.files),
        frozenset(file for one in each for file in one.example_files),
        {folder: built for one in each for folder, built in one.kustomizations.items()},
        tuple(resource for one in each for resource in one.installs),
        tuple(overlay for one in each for overlay in one.values_overlays),
    )
