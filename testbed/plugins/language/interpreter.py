"""Python interpreter of the user's program: the runtime options of Pulumi.yaml.

pulumi/pulumi, sdk/python/cmd/pulumi-language-python/main.go (parseOptions) and
sdk/python/toolchain.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_KNOWN = {"virtualenv", "toolchain", "typechecker"}


class BadOptions(Exception):
    """The runtime options do not lead to an interpreter."""


def resolve(root: Path, options: Mapping[str, Any], *, plugin: bool = False) -> Path:
    """The interpreter for a project, a policy pack or (with `plugin`) a component plugin."""
    for key in ("virtualenv", "toolchain"):
        if key in options and not isinstance(options[key], str):
            raise BadOptions(f"{key} option must be a string")
    toolchain = options.get("toolchain") or _toolchain(root)
    environment = options.get("virtualenv") or ("venv" if plugin and toolchain == "pip" else "")
    if toolchain == "uv":
        return _uv(root, environment)
    if toolchain != "pip":
        raise BadOptions(
            f"toolchain {toolchain} is not supported by this stand-in of the Python language "
            "host: use pip or uv"
        )
    if environment:
        return _in_environment(
            root / environment,
            f"The 'virtualenv' option in Pulumi.yaml is set to \"{environment}\"",
        )
    return _ambient()


def _toolchain(root: Path) -> str:
    """The toolchain; without the option a lock file decides (since 3.227)."""
    for folder in (root, *root.parents):
        if (folder / "uv.lock").is_file():
            return "uv"
        if (folder / "poetry.lock").is_file():
            return "poetry"
    return "pip"


def _uv(root: Path, environment: str) -> Path:
    """`virtualenv`, else UV_PROJECT_ENVIRONMENT, else `.venv` next to the nearest project file."""
    chosen = environment or os.environ.get("UV_PROJECT_ENVIRONMENT") or ".venv"
    for folder in (root, *root.parents):
        if (folder / "uv.lock").is_file() or (folder / "pyproject.toml").is_file():
            return _in_environment(folder / chosen, "The project uses uv")
    return _in_environment(root / chosen, "The project uses uv")


def _in_environment(folder: Path, why: str) -> Path:
    name = "Scripts/python.exe" if sys.platform == "win32" else "bin/python"
    python = folder / name
    if not python.exists():
        raise BadOptions(
            f'{why}, but "{folder}" has no interpreter; run `pulumi install` or create the environment there'
        )
    # Not resolved: the link's path makes it the environment's interpreter.
    return python


def _ambient() -> Path:
    command = os.environ.get("PULUMI_PYTHON_CMD")
    for name in (command,) if command else ("python3", "python"):
        if result := shutil.which(name):
            return Path(result)
    raise BadOptions(
        "no python3 or python on PATH; set `virtualenv` in the runtime options of Pulumi.yaml"
    )


def unknown_options(options: Mapping[str, Any]) -> list[str]:
    """Options that have no meaning here."""
    return sorted(set(options) - _KNOWN)
