"""Read and write the YAML files with cases of findings and rules."""

from typing import Any

import yaml

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""C parser and writer if available: these files are long, and many tests read and write them."""
COMPACT: dict[str, Any] = {
    "sort_keys": False,
    "default_flow_style": None,
    "width": 100,
    "allow_unicode": True,
}
"""How YAML is written: one line for a list or mapping without nested ones."""


def load(text: str) -> Any:
    """The value of a file in YAML."""
    return yaml.load(text, LOADER)  # noqa: S506  a safe loader, under the name that fits
