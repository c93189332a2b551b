"""Stdout and stderr of the process: closed, with a limited encoding, or without a reader."""

import io
import os
import sys
from contextlib import suppress


def configure_streams() -> None:
    """Discard output to a closed stream; escape characters that the encoding lacks."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115  open as long as the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # Without a buffer (PYTHONUNBUFFERED=1) Python drops the rest of a short write. Tests replace the stream.
    stream = sys.__stdout__
    if stream is None or stream is not sys.stdout:
        return
    if isinstance(getattr(stream, "buffer", None), io.RawIOBase):
        sys.stdout = open(  # noqa: SIM115  it lives as long as the process
            stream.fileno(),
            "w",
            buffering=1,
            encoding=stream.encoding,
            errors=stream.errors,
            closefd=False,
        )


def flush_stdout() -> None:
    """Flush stdout; a closed pipe is ignored, a full disk raises."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        discard_stdout()
    except OSError:
        discard_stdout()
        raise


def discard_stdout() -> None:
    """Discard further output, so that the interpreter's last flush does not fail."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
