"""Two processes with the imports of the engine's programs and plugins, for the lifetime of a worker.

A command of the engine starts a language host, a program and one or two providers, and each would repeat the
same imports: most of a command's time. The test bed's plugins use these processes instead, if `GPUYARD_WARM`
names them (testbed/plugins/warm). With the fixture `cold` everything starts as with a user's engine.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from kit import waiting

SERVER = Path(__file__).resolve().parents[3] / "testbed" / "plugins" / "warm" / "server.py"
FLAGS = {"plugins": ("-I",), "programs": ()}
"""Wrappers start plugins with this, the language host does not start programs with it."""
AT_THE_END = {"PULUMI_SKIP_CHECKPOINTS": "true"}
"""The state is written once, because nothing kills the command: at every step it is half of an engine's work."""
AT_EVERY_STEP = {"PULUMI_SKIP_CHECKPOINTS": "false"}
"""The users' setting; for a stack whose commands are killed."""


@pytest.fixture(scope="session")
def warm() -> Iterator[None]:
    """Run both, and configure them for everything that is started meanwhile."""
    # Not below the tests' own folder: the name of a socket has at most 107 bytes.
    # The last of the two to end removes the folder, also if this process is killed.
    folder = tempfile.mkdtemp(prefix="warm-")
    with ExitStack() as stack:
        for kind in FLAGS:
            stack.enter_context(_running(kind, Path(folder) / kind))
        os.environ["GPUYARD_WARM"] = folder
        yield
        del os.environ["GPUYARD_WARM"]


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start every plugin and program in its own process, as with a user's engine."""
    monkeypatch.delenv("GPUYARD_WARM")


@contextmanager
def _running(kind: str, address: Path) -> Iterator[None]:
    # A separate session: Ctrl-C is for pytest, which then closes the stdin on which this depends.
    process = subprocess.Popen(
        [sys.executable, *FLAGS[kind], str(SERVER), kind, str(address)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )

    def there() -> bool:
        assert process.poll() is None, f"the process for {kind} has ended: {process.returncode}"
        return address.exists()

    try:
        waiting.until(there)
        yield
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(waiting.PATIENCE)
