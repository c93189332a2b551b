"""Folders in the distribution: documentation of findings and rules, the policy pack, and the stack program."""

from importlib.util import find_spec
from pathlib import Path

import gpuyard

_PLACES = {
    "findings": "docs/findings",
    "rules": "docs/rules",
    "policies": "policies",
    "program": ".",
}
"""Their paths in the project; scripts/wheel.py adds them to the wheel."""


def shipped_folder(name: str, package: Path | None = None) -> Path:
    """The folder: next to the modules when installed, at its project path in a checkout."""
    package = package or Path(gpuyard.__file__).parent
    installed = package / "shipped" / name
    return installed if installed.is_dir() else package.parents[1] / _PLACES[name]


def has_simulated_cluster() -> bool:
    """Whether this is a checkout: the simulated cluster is not in the wheel."""
    return find_spec("gpuyard.simulate") is not None
