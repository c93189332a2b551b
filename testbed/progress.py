"""Say what is being built, for how long, and how long it usually takes."""

import sys
import time
from typing import TextIO

LINE_EVERY_SECONDS = 20.0
REDRAW_EVERY_SECONDS = 0.2


def clock(seconds: float) -> str:
    """Minutes and seconds as people say them: `3m 05s`, `12s`."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m {rest:02d}s" if minutes else f"{rest}s"


class Progress:
    """One line that is redrawn on a terminal; elsewhere a new line every 20 s."""

    def __init__(self, what: str, usual_seconds: float, out: TextIO | None = None) -> None:
        self.out = out or sys.stderr
        self.what = what
        self.usual_seconds = usual_seconds
        self.started = time.monotonic()
        self.terminal = self.out.isatty()
        self._shown = self.started
        self._write(
            f"{what}: usually {clock(usual_seconds)} on two cores from nothing, less with a warm cache"
        )

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def show(self, doing: str) -> None:
        """Tell what is going on now; shown at most as often as is readable."""
        now = time.monotonic()
        if now - self._shown < (REDRAW_EVERY_SECONDS if self.terminal else LINE_EVERY_SECONDS):
            return
        self._shown = now
        self._write(
            f"{self.what}: {doing} · {clock(self.elapsed)} of usually {clock(self.usual_seconds)}",
            redraw=True,
        )

    def done(self, says: str) -> None:
        """The last line."""
        self._write(f"{self.what}: {says} in {clock(self.elapsed)}")

    def _write(self, line: str, *, redraw: bool = False) -> None:
        if self.terminal:
            line = f"\r\033[K{line[:118]}" if redraw else f"\r\033[K{line}\n"
        else:
            line += "\n"
        self.out.write(line)
        self.out.flush()
