"""The YAML files of this package, read once."""

from functools import cache
from pathlib import Path
from typing import Any

from gpuyard.render.cloud.templates import filled
from gpuyard_core.catalogue.tables import load_yaml


@cache
def read_data(name: str) -> Any:
    """The content of a file, by its path in `render`."""
    return load_yaml(Path(__file__).parent / name)


def filled_data(name: str, key: str, /, **values: Any) -> Any:
    """The tree of an entry of a file, with values in its placeholders (`render.cloud.templates`)."""
    return filled(Path(__file__).parent / name, key, **values)
