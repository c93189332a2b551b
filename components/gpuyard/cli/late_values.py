"""`--values FILE`: what a running cluster knows, given by hand."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gpuyard.cli.stacks import read_regular
from gpuyard.errors import UsageError
from gpuyard.spec.yaml_tree import MAX_BYTES, parse_yaml


def read_values(path: Path) -> dict[str, object]:
    """Values by dotted name; `cluster: {name: x}` and `cluster.name: x` say the same."""
    value = parse_yaml(read_regular(path, MAX_BYTES), str(path)).value
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UsageError(
            f"{path}: not a mapping; write `NAME: VALUE`, for example `cluster.name: prod`"
        )
    return dict(_flat(value, ""))


def _flat(value: Mapping[str, Any], before: str) -> Iterator[tuple[str, object]]:
    for key, inner in value.items():
        name = f"{before}{key}"
        if isinstance(inner, dict):
            yield from _flat(inner, f"{name}.")
        yield name, inner
