"""Files of a wheel besides its sources: `gpuyard.typed`, pages, the policy pack, the stack program.

hatchling calls it when a wheel is built or the project is installed; the table `hooks.custom` of a pyproject.toml lists
the files. In a checkout nothing is copied: `shipped_folder` finds them in their folders.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parents[1]


class Shipped(BuildHookInterface):  # type: ignore[type-arg]  # the configuration of a builder, whichever
    """Runs a generator, and adds the files to a wheel, but not to an editable installation."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before a wheel is written; `version` is `standard` or `editable`."""
        if generator := self.config.get("generator"):
            subprocess.run(
                [sys.executable, ROOT / generator],
                env={**os.environ, "PYTHONPATH": str(ROOT / "components")},
                check=True,
            )
        if version != "editable":
            build_data["force_include"] |= shipped_files(self.config["shipped"])


def shipped_files(patterns: dict[str, str]) -> dict[str, str]:
    """Each file, and its path in the wheel; `patterns` has the files of each folder there."""
    return {
        str(path): f"{folder}/{path.name}"
        for folder, pattern in patterns.items()
        for path in sorted(ROOT.glob(pattern))
    }
