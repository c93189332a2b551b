"""Values of a program that only its deployment knows, such as the id of a VPC of the same program.

A marker takes the place of such a value, so that a spec and all that is derived from it stay plain
values. The resources layer replaces each marker by the output that it stands for.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path as FilePath
from typing import Any

from gpuyard_core.catalogue.tables import read_yaml
from gpuyard_core.findings import Diagnostic, Fix, Path, error

_MARKER = re.compile(r"\$\{(inputs?):([^{}]+)\}")
INPUT = "input"
"""First step of the name of the late value that a marker stands for: `input.cluster.key`."""


@cache
def late_inputs() -> Mapping[str, Mapping[str, str]]:
    """Fields that a program may set to an output or a resource: the output of each resource that is used.

    `*` is an index. A field with `.*` is a list: outputs are its items, or one output is the whole list.
    """
    table = str(FilePath(__file__).with_suffix(""))
    result: Mapping[str, Mapping[str, str]] = read_yaml(table, Mapping[str, Mapping[str, str]])
    return result


def late_input_field(path: Path) -> str | None:
    """The field of `late_inputs` at a path."""
    word = ".".join("*" if isinstance(step, int) else step for step in path)
    return word if word in late_inputs() else None


def input_marker(path: Path, *, is_list: bool = False) -> str:
    """The marker of the value at a path: `${input:cluster.key}`."""
    return f"${{input{'s' if is_list else ''}:{'.'.join(map(str, path))}}}"


def is_late_input(value: object) -> bool:
    """Whether a text contains a marker."""
    return isinstance(value, str) and "${input" in value and _MARKER.search(value) is not None


def is_late_list(value: object) -> bool:
    """Whether a value is the marker of a whole list."""
    return isinstance(value, str) and value.startswith("${inputs:") and is_late_input(value)


def first_of(values: tuple[str, ...]) -> str:
    """The first value, also of a list that is known only later."""
    match = _MARKER.fullmatch(values[0]) if is_late_list(values[0]) else None
    return f"${{input:{match[2]}.0}}" if match else values[0]


def is_input_name(name: str) -> bool:
    """Whether a late value is an output of the user's program."""
    return name.startswith(f"{INPUT}.")


def late_input_names(text: str) -> Iterator[str]:
    """The late values of a text: `input.cluster.key`."""
    if "${input" in text:
        yield from (f"{INPUT}.{match[2]}" for match in _MARKER.finditer(text))


def fill_markers(text: str, known: Callable[[str], Any]) -> Any:
    """The text with its values; the value itself if the text is one marker."""
    if (whole := _MARKER.fullmatch(text)) is not None:
        return known(f"{INPUT}.{whole[2]}")
    return _MARKER.sub(lambda match: str(known(f"{INPUT}.{match[2]}")), text)


def marker_findings(value: object, path: Path = ()) -> Iterator[Diagnostic]:
    """Rejects markers that were written by hand: only a program's outputs become markers."""
    if is_late_input(value):
        yield error(
            "spec.late_input",
            path,
            "the text is reserved for outputs that a program passes",
            given=str(value),
            allowed="a value; in a Pulumi program also an output or a resource",
            fix=Fix(message="write the value"),
        )
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from marker_findings(inner, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from marker_findings(inner, (*path, index))
