"""The command line inside the test process, with separate streams: the output of a process at lower cost."""

import io
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

from gpuyard.cli import main


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str


def run(*args: object) -> Ended:
    """Run a command; its two streams are separate."""
    out, err = stream(), stream()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([str(arg) for arg in args])
    return Ended(code, written(out), written(err))


def run_together(*args: object) -> tuple[int, str]:
    """Run a command as a terminal would show it: both streams are one, in the order of writing."""
    both = stream()
    with redirect_stdout(both), redirect_stderr(both):
        code = main([str(arg) for arg in args])
    return code, written(both)


def stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8")


def written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode()
