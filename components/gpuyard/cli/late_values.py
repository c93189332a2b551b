"""`--values FILE` and `--ids FILE`: values of a running cluster, given by the user."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpuyard_core.errors import UsageError
from gpuyard_core.local_files import read_regular
from gpuyard_core.stack_files import STDIN, read_stdin_one_byte_past
from gpuyard_core.suggestions import nearest_name
from gpuyard_core.yaml_tree import MAX_BYTES, parse_yaml


def read_output_values(path: Path) -> dict[str, object]:
    """Values by dotted name; `cluster: {name: x}` and `cluster.name: x` are equal."""
    value = parse_yaml(read_regular(path, MAX_BYTES, "a file of values"), str(path)).value
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


def unused_values(values: Mapping[str, object], names: Sequence[str]) -> Iterator[str]:
    """A message for each value that the stack does not use, such as a typing error."""
    for name, value in values.items():
        if isinstance(value, dict) or name in names:
            continue
        suggestion = nearest_name(name, names)
        meant = f"; did you mean `{suggestion}`?" if suggestion else ""
        yield f"this stack has no late value `{name}`{meant}"


def read_ids(name: str) -> dict[str, str]:
    """Ids by resource name; the file name - is standard input."""
    if name == STDIN:
        shown, data = "standard input", read_stdin_one_byte_past(MAX_BYTES)
    else:
        shown, data = name, read_regular(Path(name), MAX_BYTES, "a file of ids")
    value = parse_yaml(data, shown).value
    usage = "write `NAME: ID`, for example `vpc: vpc-0a1b2c3d4e5f60718`"
    if not isinstance(value, dict):
        raise UsageError(f"{shown}: not a mapping; {usage}")
    if wrong := [key for key, each in value.items() if not isinstance(each, str) or not each]:
        raise UsageError(f"{shown}: {wrong[0]} is not a string; {usage}")
    return {str(key): each for key, each in value.items()}
