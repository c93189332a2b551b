"""Files of the user, read and written with care: nothing that waits, one sentence where it fails."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

from gpuyard.errors import UsageError

MAX_DUMP = 1024 * 1024
_AT_LEAST = 64 * 1024
"""A file of the system, such as those below /proc, says that it has nothing."""
DISK_FULL = frozenset({errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG})
"""Nothing more can be written there, whatever its name."""


def file_reader(folder: Path) -> Callable[[str], bytes]:
    """Whoever reads the files that a stack names, from a folder on."""
    return lambda name: read_regular(folder / name, MAX_DUMP, "a dump")


def shown_path(path: Path) -> str:
    """Relative to where the user stands when it is below, so that an editor's terminal can open it."""
    here = Path.cwd()
    return (
        str(path.relative_to(here))
        if path.is_absolute() and path.is_relative_to(here)
        else str(path)
    )


def read_regular(path: Path, limit: int, what: str = "a stack file") -> bytes:
    """The bytes of a regular file of at most `limit`; UsageError says in one sentence why not.

    Looked at before it is opened: opening a FIFO waits for ever, reading a device may never end.
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
            # as much as there is, for room for the limit is asked of the system else; some say they are empty
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
    """To find out what a path is called takes as long as to read a small file: only where it is told."""
    return UsageError(f"{shown_path(path)}: {why}")


def write_file(path: Path, text: str) -> None:
    """Write a file that the user named; UsageError says in one sentence why it can't be.

    A disk that is full is the environment's, and whoever catches everything says so.
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
