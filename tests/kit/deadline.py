"""No test starts after so many seconds (`GPUYARD_DEADLINE`); the summary lists the tests left out."""

import os
import time
from collections.abc import Sequence
from typing import Any

import pytest

STARTED = time.monotonic()
NOTHING = 5


class Deadline:
    """Ends a run after its time limit."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.left: list[str] = []
        self.ran = 0

    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Record the names of all tests; finished ones are removed."""
        self.left = [item.nodeid for item in session.items]

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        """Remove a finished test."""
        self.left.remove(nodeid)
        self.ran += 1

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Skip a test after the deadline (True: handled); it stays in the list of tests left out."""
        late = time.monotonic() - STARTED > self.seconds
        return True if late else None

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Without any finished test the run has not passed."""
        if not self.ran and exitstatus == 0:
            session.exitstatus = NOTHING

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the number of tests left out, and their files."""
        if self.left:
            terminalreporter.write_line(said(self.ran, self.left, self.seconds))


def said(ran: int, remaining: Sequence[str], seconds: float) -> str:
    """The tests that did not run, by file."""
    files = sorted({name.partition("::")[0] for name in remaining})
    total = ran + len(remaining)
    return (
        f"{ran} of {total} tests ran; {seconds:g} s were too short for the others, in {len(files)}"
        f" files: {', '.join(files)}"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Start the time limit at the start of the process."""
    if seconds := os.environ.get("GPUYARD_DEADLINE"):
        config.pluginmanager.register(Deadline(float(seconds)), "kit-deadline")
