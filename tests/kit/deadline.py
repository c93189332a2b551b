"""No test is started after so many seconds (`GPUYARD_DEADLINE`), and what was left out is said."""

import os
import time
from collections.abc import Sequence
from typing import Any

import pytest

STARTED = time.monotonic()
NOTHING = 5


class Deadline:
    """Stops a run that has lasted long enough."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.left: list[str] = []
        self.ran = 0

    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Keep the names of all tests; those that have run are taken out."""
        self.left = [item.nodeid for item in session.items]

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        """One more has run."""
        self.left.remove(nodeid)
        self.ran += 1

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """True means: this one is dealt with. It stays in the list of those left out."""
        late = time.monotonic() - STARTED > self.seconds
        return True if late else None

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Where nothing has run, nothing has passed."""
        if not self.ran and exitstatus == 0:
            session.exitstatus = NOTHING

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """How many were left out, and of which files."""
        if self.left:
            terminalreporter.write_line(said(self.ran, self.left, self.seconds))


def said(ran: int, remaining: Sequence[str], seconds: float) -> str:
    """What was not run, by file."""
    files = sorted({name.partition("::")[0] for name in remaining})
    total = ran + len(remaining)
    return (
        f"{ran} of {total} tests have run; for the others, in {len(files)} files, {seconds:g} s"
        f" were too short: {', '.join(files)}"
    )


def pytest_configure(config: pytest.Config) -> None:
    """From the start of the process on."""
    if seconds := os.environ.get("GPUYARD_DEADLINE"):
        config.pluginmanager.register(Deadline(float(seconds)), "kit-deadline")
