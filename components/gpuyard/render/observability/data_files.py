"""The YAML files of this folder, read once."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The C parser is eight times faster, and `gpuyard check` reads all files."""


@cache
def read_data(name: str) -> Any:
    """The content of a file."""
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    return yaml.load(text, Loader=_LOADER)  # noqa: S506  a safe one
