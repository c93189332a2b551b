"""The YAML files of this package, read once."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from gpuyard.render.cloud.templates import filled

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The C parser is eight times faster, and `gpuyard check` reads many files."""


@cache
def read_data(name: str) -> Any:
    """The content of a file, by its path in `render`."""
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    return yaml.load(text, Loader=_LOADER)  # noqa: S506  a safe one


def filled_data(name: str, key: str, /, **values: Any) -> Any:
    """The tree of an entry of a file, with values in its placeholders (`render.cloud.templates`)."""
    return filled(Path(__file__).parent / name, key, **values)
