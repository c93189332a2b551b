"""Reads and writes files of the user without blocking, with a one-sentence error."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

from gpuyard_core.errors import UsageError

MAX_DUMP = 1024 * 1024
_AT_LEAST = 64 * 1024
"""System files, such as those in /proc, report size 0."""
DISK_FULL = frozenset({errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG})
"""Errors of the disk, independent of the file name."""


def file_reader(folder: Path) -> Callable[[str], bytes]:
    """A reader of the files that a stack names, relative to a folder."""
    return lambda name: read_regular(folder / name, MAX_DUMP, "a machine inventory")


def shown_path(path: Path) -> str:
    """The path relative to the working directory if it is below, so that an editor's terminal can open it."""
    here = Path.cwd()
    return (
        str(path.relative_to(here))
        if path.is_absolute() and path.is_relative_to(here)
        else str(path)
    )


def read_regular(path: Path, limit: int, what: str = "a stack file") -> bytes:
    """The bytes of a regular file of at most `limit`; otherwise UsageError with the reason.

    Checked before it is opened: opening a FIFO blocks, and reading a device may never end.
    """
    try:
        result = path.stat()
        if not stat.S_ISREG(result.st_mode):
            raise _refused(path, f"{_kind(result.st_mode)}, not a file. Give the path of {what}.")
        if result.st_size > limit:
            size = f"{result.st_size:,} bytes; at most {limit:,} are read. Is it the right file?"
            raise _refused(path, size)
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            # its size, because a read of the limit would allocate that much; system files report size 0
            return file.read(min(limit, max(result.st_size, _AT_LEAST)) + 1)
    except FileNotFoundError:
        raise _refused(path, "no such file") from None
    except PermissionError:
        raise _refused(path, "no permission to read it") from None
    except OSError as e:
        reason = (
            "its name is too long"
            if e.errno == errno.ENAMETOOLONG
            else (e.strerror or "it can't be read").lower()
        )
        raise _refused(path, f"can't be read: {reason}") from None


def _refused(path: Path, why: str) -> UsageError:
    """The error for a path; resolving its shown form is slow, so it happens only here."""
    return UsageError(f"{shown_path(path)}: {why}")


def write_file(path: Path, text: str) -> None:
    """Write a file that the user named; otherwise UsageError with the reason.

    A full disk is an error of the environment, which the caller reports.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as e:
        if e.errno in DISK_FULL:
            raise
        raise UsageError(f"{shown_path(path)}: can't be written: {_unwritten(path, e)}") from None


def _unwritten(path: Path, error: OSError) -> str:
    match error:
        case FileNotFoundError():
            return f"there is no folder {shown_path(path.parent)}"
        case IsADirectoryError():
            return "it is a folder. Give the path of a file."
        case _:
            return (error.strerror or str(error)).lower()


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    if stat.S_ISFIFO(mode):
        return "a pipe"
    return "a device or socket"
