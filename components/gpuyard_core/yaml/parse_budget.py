"""The parse budget: limits how many values one run reads, and so its memory."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import blake2b
from typing import Any

from gpuyard_core.errors import UsageError

BUDGET_EXCEEDED = (
    "exceeds the memory limit of one run together with the files before it: pass fewer files"
)


MAX_CACHED_VALUES = 50_000
"""Maximum values of cached texts."""


class ParseBudgetExceeded(UsageError):
    """A text that exceeds the remaining parse budget."""


class ParseBudget:
    """The number of values that may still be read, about 130 bytes each."""

    __slots__ = ("_held", "_read", "left", "short")

    def __init__(self, remaining: int) -> None:
        self.left = remaining
        self.short = False
        """Whether something was not read because the budget was exhausted."""
        self._read: dict[tuple[int, bytes], tuple[int, Sequence[Any]]] = {}
        """By limit and text: its number of values, and its documents."""
        self._held = 0

    def take(self, values: int) -> bool:
        """Reserve so many values; False if the budget does not allow it."""
        if values > self.left:
            self.short = True
            return False
        self.left -= values
        return True

    def cached(self, data: bytes, limit: int) -> Sequence[Any] | None:
        """The cached documents of the same text and limit; they count against the budget again."""
        found = self._read.get((limit, _key(data)))
        return found[1] if found is not None and self.take(found[0]) else None

    def cache(self, data: bytes, limit: int, values: int, read: Sequence[Any]) -> None:
        """Cache the documents of a text; the cache is cleared when it is full."""
        if values > MAX_CACHED_VALUES:
            return
        if self._held + values > MAX_CACHED_VALUES:
            self._read.clear()
            self._held = 0
        self._read[limit, _key(data)] = (values, read)
        self._held += values

    @contextmanager
    def active_in_context(self) -> Generator[None]:
        """Apply this budget to everything read in the context."""
        token = _ROOM.set(self)
        try:
            yield
        finally:
            _ROOM.reset(token)


def _key(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


_ROOM: ContextVar[ParseBudget | None] = ContextVar("room", default=None)


def parse_budget() -> ParseBudget | None:
    """The active budget; None if only the text itself is limited."""
    return _ROOM.get()
