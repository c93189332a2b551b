"""Series that a selector or an operation returns: their labels, and values that they repeat."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels that series may have."""

    names: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()
    """Any label that starts with one of these is possible."""
    is_open: bool = False
    """Whether any label is possible."""

    def has(self, name: str) -> bool:
        """Whether series may have this label."""
        return self.is_open or name in self.names or name.startswith(self.prefixes or ("\0",))

    def plus(self, names: Iterable[str]) -> "Labels":
        """With more labels."""
        return replace(self, names=self.names.union(names))

    def minus(self, names: Iterable[str]) -> "Labels":
        """Without these labels."""
        return replace(self, names=self.names.difference(names))

    def joined(self, other: "Labels") -> "Labels":
        """The labels of one or the other."""
        return Labels(
            self.names | other.names,
            self.prefixes + other.prefixes,
            self.is_open or other.is_open,
        )


@dataclass(frozen=True, slots=True)
class Copies:
    """Series of one metric that repeat a value."""

    metric: str
    counted: str
    """What a sum counts several times, such as a GPU of a pool."""
    reason: str
    apart: frozenset[str]
    """Labels of which each alone tells the copies apart."""
    carried: frozenset[str]
    """All labels in which copies differ."""
    fix: str
    are_equal: bool = True
    """Whether the copies have the same value, rather than parts of it next to the whole."""
    are_even: bool = False
    """Whether each value has the same number of copies: an average is right."""


@dataclass(frozen=True, slots=True)
class Series:
    """The series of an expression or a recording rule."""

    labels: Labels = field(default_factory=Labels)
    copies: tuple[Copies, ...] = ()
    is_scalar: bool = False
