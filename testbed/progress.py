"""Progress: what is being built, for how long, and how long it usually takes."""

import sys
import time
from typing import TextIO

LINE_EVERY_SECONDS = 20.0
REDRAW_EVERY_SECONDS = 0.2


def clock(seconds: float) -> str:
    """Minutes and seconds: `3m 05s`, `12s`."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m {rest:02d}s" if minutes else f"{rest}s"


def note(line: str) -> None:
    """A separate line, also while another one is being redrawn."""
    sys.stderr.write(f"\r\033[K{line}\n" if sys.stderr.isatty() else f"{line}\n")
    sys.stderr.flush()


class Progress:
    """One line that is redrawn on a terminal; elsewhere a new line every 20 s.

    Without `usual_seconds` the duration is unknown, as for a download.
    """

    def __init__(self, what: str, usual_seconds: float | None, out: TextIO | None = None) -> None:
        self.out = out or sys.stderr
        self.what = what
        self.usual_seconds = usual_seconds
        self.started = time.monotonic()
        self.terminal = self.out.isatty()
        self._shown = self.started
        if usual_seconds is not None:
            self._write(
                f"{what}: usually {clock(usual_seconds)} on two cores from nothing,"
                " less with a warm cache"
            )

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def show(self, doing: str) -> None:
        """Report the current activity; shown at most as often as is readable."""
        now = time.monotonic()
        if now - self._shown < (REDRAW_EVERY_SECONDS if self.terminal else LINE_EVERY_SECONDS):
            return
        self._shown = now
        usual = "" if self.usual_seconds is None else f" of usually {clock(self.usual_seconds)}"
        self._write(f"{self.what}: {doing} · {clock(self.elapsed)}{usual}", redraw=True)

    def done(self, message: str) -> None:
        """The last line."""
        self._write(f"{self.what}: {message} in {clock(self.elapsed)}")

    def _write(self, line: str, *, redraw: bool = False) -> None:
        if self.terminal:
            line = f"\r\033[K{line[:118]}" if redraw else f"\r\033[K{line}\n"
        else:
            line += "\n"
        self.out.write(line)
        self.out.flush()
