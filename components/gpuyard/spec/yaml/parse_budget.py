"""How much may be read in one run, whatever it is part of: memory is bounded by it."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import blake2b
from typing import Any

from gpuyard.errors import UsageError

BUDGET_EXCEEDED = "with all that was read before, it is more than one run keeps in memory: give a part of the files"


MAX_CACHED_VALUES = 50_000
"""Values of texts that are held for the case that they come again."""


class ParseBudgetExceeded(UsageError):
    """A text that would be read, were there room for it."""


class ParseBudget:
    """A number of values that may still be read, about 130 bytes each."""

    __slots__ = ("_held", "_read", "left", "short")

    def __init__(self, remaining: int) -> None:
        self.left = remaining
        self.short = False
        """Whether something was not read for want of it."""
        self._read: dict[tuple[int, bytes], tuple[int, Sequence[Any]]] = {}
        """By the limit and the text: how many values it has, and what was read of it."""
        self._held = 0

    def take(self, values: int) -> bool:
        """Whether there was room for so many; they have it now."""
        if values > self.left:
            self.short = True
            return False
        self.left -= values
        return True

    def cached(self, data: bytes, limit: int) -> Sequence[Any] | None:
        """What was read of the same text within the same limit; it takes the same room once more."""
        found = self._read.get((limit, _key(data)))
        return found[1] if found is not None and self.take(found[0]) else None

    def cache(self, data: bytes, limit: int, values: int, read: Sequence[Any]) -> None:
        """For the case that it comes again; what was held before goes where there is too much."""
        if values > MAX_CACHED_VALUES:
            return
        if self._held + values > MAX_CACHED_VALUES:
            self._read.clear()
            self._held = 0
        self._read[limit, _key(data)] = (values, read)
        self._held += values

    @contextmanager
    def shared(self) -> Generator[None]:
        """All that is read within takes of it."""
        token = _ROOM.set(self)
        try:
            yield
        finally:
            _ROOM.reset(token)


def _key(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


_ROOM: ContextVar[ParseBudget | None] = ContextVar("room", default=None)


def parse_budget() -> ParseBudget | None:
    """What there is room in; None where only the text itself has a limit."""
    return _ROOM.get()
