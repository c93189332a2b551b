"""Content of a wheel besides the packages: pages about findings and rules, the policy pack, the stack program.

hatchling calls it when a wheel is built. In a checkout nothing is copied: `gpuyard.cli.shipped` finds them
in their folders.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

INSIDE = "gpuyard/shipped"
KEPT = {
    "findings": ("docs/findings", "*.md"),
    "rules": ("docs/rules", "*.md"),
    "policies": ("policies", "*.py"),
    "program": (".", "__main__.py"),
}
"""The path of each folder, and its files for the wheel."""


class Beside(BuildHookInterface):  # type: ignore[type-arg]  # the configuration of a builder, whichever
    """Adds them to a wheel, but not to an editable installation."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before a wheel is written; `version` is `standard` or `editable`."""
        if version != "editable":
            build_data["force_include"] |= beside(Path(self.root))


def beside(root: Path) -> dict[str, str]:
    """Each file, and its path in the wheel."""
    return {
        str(path): f"{INSIDE}/{name}/{path.name}"
        for name, (folder, pattern) in KEPT.items()
        for path in sorted((root / folder).glob(pattern))
    }
