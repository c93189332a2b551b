"""Folders in the distribution: documentation of findings and rules, and the policy pack."""

from pathlib import Path

import gpuyard

_PLACES = {"findings": "docs/findings", "rules": "docs/rules", "policies": "policies"}
"""Their paths in the project; pyproject.toml adds them to the wheel."""


def shipped_folder(name: str, package: Path | None = None) -> Path:
    """The folder: next to the modules when installed, at its project path in a checkout."""
    package = package or Path(gpuyard.__file__).parent
    installed = package / "shipped" / name
    return installed if installed.is_dir() else package.parents[1] / _PLACES[name]
