"""From the STACK argument to a validated platform: find the file, read it, validate it."""

import os
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from gpuyard.errors import UsageError
from gpuyard.local_files import file_reader, read_regular, shown_path
from gpuyard.spec.suggestions import nearest_name
from gpuyard.spec.yaml_tree import MAX_BYTES
from gpuyard.today import today

if TYPE_CHECKING:
    from gpuyard.spec.sections.inventory import Files
    from gpuyard.stack_validation import ValidatedStack

STDIN = "-"
"""The file name that means standard input."""
_PREFIX, _SUFFIX = "Pulumi.", ".yaml"
_PROJECT_MARKS = ("Pulumi.yaml", ".git")
_SHOWN_STACKS = 12


def validate_stack(stack: str) -> "ValidatedStack":
    """Read, plan and validate a stack; UsageError when there is no file."""
    path = find_stack(stack)
    files = file_reader(_project_of(path))
    return validate_text(read_regular(path, MAX_BYTES), shown_path(path), today(), files)


def validate_text(
    data: bytes, shown: str, day: date, files: "Files | None" = None
) -> "ValidatedStack":
    """Plan and validate the content of a stack file, as of a day; UsageError when it is not YAML."""
    # imported here: stack names and missing files need no plan
    from gpuyard.spec.read import read_stack_file
    from gpuyard.stack_validation import validate

    return validate(read_stack_file(data, shown, files), day, shown)


def _project_of(stack: Path) -> Path:
    """The folder of files that a stack names: that of Pulumi.yaml, else that of the stack file."""
    folder = stack.absolute().parent
    results = (each for each in (folder, *folder.parents) if (each / _PROJECT_MARKS[0]).is_file())
    return next(results, folder)


def find_stack(text: str) -> Path:
    """The file of a stack: by name in the project's `stacks/`, or by path."""
    if not text or "\0" in text:
        raise UsageError("the stack name is empty or invalid. Give a name in `stacks/`, or a path.")
    if os.sep in text or text.endswith((".yaml", ".yml")):
        return Path(text)
    folder = stacks_folder(Path.cwd())
    names = stack_names(folder)
    if folder is not None and text in names:
        return folder / f"{_PREFIX}{text}{_SUFFIX}"
    if Path(text).exists():
        return Path(text)
    raise UsageError(_no_stack(text, names, folder))


def _no_stack(text: str, names: list[str], folder: Path | None) -> str:
    if folder is None or not names:
        return f"no stack {text!r}: no folder `stacks` with a Pulumi.NAME.yaml in this or a parent directory. Give a path."
    suggestion = nearest_name(text, names)
    shown = ", ".join(names[:_SHOWN_STACKS]) + (", …" if len(names) > _SHOWN_STACKS else "")
    hint = f" Did you mean {suggestion}?" if suggestion else " Give one of them, or a path."
    return f"no stack {text!r} in {shown_path(folder)}. Available: {shown}.{hint}"


def stacks_folder(start: Path) -> Path | None:
    """The nearest folder `stacks` with stack files, from `start` up to the project root."""
    for folder in (start, *start.parents):
        if stack_names(folder / "stacks"):
            return folder / "stacks"
        if any((folder / mark).exists() for mark in _PROJECT_MARKS):
            return None
    return None


def stack_names(folder: Path | None) -> list[str]:
    """Names of the stacks in a folder, sorted."""
    if folder is None or not folder.is_dir():
        return []
    files = (p.name for p in folder.glob(f"{_PREFIX}*{_SUFFIX}"))
    return sorted(
        name[len(_PREFIX) : -len(_SUFFIX)] for name in files if len(name) > len(_PREFIX + _SUFFIX)
    )


def read_stdin_one_byte_past(limit: int) -> bytes:
    """Read standard input, at most one byte more than `limit`."""
    if sys.stdin is None:
        raise UsageError("standard input is closed. Give the path of a file.")
    return sys.stdin.buffer.read(limit + 1)
