"""Folders in the distribution: documentation of findings, the policy pack, and the stack program."""

from pathlib import Path

import gpuyard
from gpuyard_core.terminal.pages import shipped_folder

_PLACES = {"findings": "docs/findings", "policies": "policies", "program": "."}
"""Their paths in the project; scripts/wheel.py adds them to the wheel."""


def distribution_folder(name: str) -> Path:
    """The folder: next to the modules when installed, at its project path in a checkout."""
    return shipped_folder(gpuyard.__file__, name, _PLACES[name])
