"""Stack files of a project: their names, and the platform in their content."""

import os
import sys
from pathlib import Path
from typing import Any

from gpuyard_core import findings
from gpuyard_core.errors import UsageError
from gpuyard_core.local_files import shown_path
from gpuyard_core.suggestions import nearest_name

CONFIG_KEY = "gpuyard:platform"
PLATFORM_PATH: findings.Path = ("config", CONFIG_KEY)
"""The path of the platform in a stack file."""
STDIN = "-"
"""The file name that means standard input."""
_PREFIX, _SUFFIX = "Pulumi.", ".yaml"
_PROJECT_MARKS = ("Pulumi.yaml", ".git")
_SHOWN_STACKS = 12


def platform_in(root: Any) -> Any:
    """The `gpuyard:platform` value of a parsed stack file; None if there is none."""
    config = root.get("config") if isinstance(root, dict) else None
    return config.get(CONFIG_KEY) if isinstance(config, dict) else None


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


def complete_stacks(incomplete: str) -> list[str]:
    """Complete stack names for the shell."""
    return [name for name in stack_names(stacks_folder(Path.cwd())) if name.startswith(incomplete)]
