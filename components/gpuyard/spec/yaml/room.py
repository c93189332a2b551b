"""How much may be read in one run, whatever it is part of: memory is bounded by it."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from gpuyard.errors import UsageError

NO_ROOM = "with all that was read before, it is more than one run keeps in memory: give a part of the files"


class NoRoomError(UsageError):
    """A text that would be read, were there room for it."""


class MemoryRoom:
    """A number of values that may still be read, about 130 bytes each."""

    __slots__ = ("left", "short")

    def __init__(self, left: int) -> None:
        self.left = left
        self.short = False
        """Whether something was not read for want of it."""

    def take(self, values: int) -> bool:
        """Whether there was room for so many; they have it now."""
        if values > self.left:
            self.short = True
            return False
        self.left -= values
        return True

    @contextmanager
    def shared(self) -> Generator[None]:
        """All that is read within takes of it."""
        token = _ROOM.set(self)
        try:
            yield
        finally:
            _ROOM.reset(token)


_ROOM: ContextVar[MemoryRoom | None] = ContextVar("room", default=None)


def room() -> MemoryRoom | None:
    """What there is room in; None where only the text itself has a limit."""
    return _ROOM.get()
