"""What was read from files: resources with the place each stands at, and what could not be read."""

from dataclasses import dataclass, field

from gpuyard.findings import Path
from gpuyard.rules.rule import Resource
from gpuyard.spec.yaml_tree import Document


@dataclass(frozen=True, slots=True)
class Place:
    """Where a resource stands: in a file, in one of its documents, below a path."""

    file: str
    document: Document
    prefix: Path = ()
    """Where in the document the resource's properties begin."""
    first_line: int = 0
    """Lines of the file before the document's first, for a document inside another's text."""

    def position(self, path: Path) -> tuple[int, int]:
        """Line and column of something in the resource, or of the nearest thing around it."""
        near = self.document.nearest((*self.prefix, *path))
        if near is None:
            return self.first_line + 1, 1
        line = self.first_line + self.document.lines[near]
        return line, self.document.columns.get(near, 1)


@dataclass(frozen=True, slots=True)
class Item:
    """A resource and where it stands."""

    resource: Resource
    place: Place


@dataclass(frozen=True, slots=True)
class Unread:
    """A file, or a part of one, that was not understood: it is said, never skipped."""

    file: str
    reason: str
    line: int = 1
    template: bool = False
    """True for a template of Helm or another language: it has to be rendered first."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything that was found in some files."""

    items: tuple[Item, ...] = ()
    unread: tuple[Unread, ...] = ()
    files: tuple[str, ...] = field(default=())
    """Every file that was looked at, in order."""

    def __add__(self, other: "Reading") -> "Reading":
        return Reading(
            self.items + other.items, self.unread + other.unread, self.files + other.files
        )
