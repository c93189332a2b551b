"""Folders that come with the library: pages about findings and rules, and the policy pack."""

from pathlib import Path

import gpuyard

_PLACES = {"findings": "docs/findings", "rules": "docs/rules", "policies": "policies"}
"""Where each is kept in the project; pyproject.toml puts them into a wheel."""


def shipped_folder(name: str, package: Path | None = None) -> Path:
    """The folder: beside the modules where the library is installed, in its place in a checkout."""
    package = package or Path(gpuyard.__file__).parent
    installed = package / "shipped" / name
    return installed if installed.is_dir() else package.parents[1] / _PLACES[name]
