"""Values from `--set A.B=VALUE`, on a command line and in `set` of Terraform's helm_release."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import UNKNOWN
from gpuyard_lint.languages.hcl_values import UNKNOWN_PART

_DOT = re.compile(r"(?<!\\)\.")
_WHOLE = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_WORDS: Mapping[str, Any] = {"true": True, "false": False, "null": None}
_PAIR = re.compile(r"((?:\\.|[^\\=])*)=(.*)", re.DOTALL)
_MOST_STEPS = 60
"""No chart has values this deep."""
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def steps_of(name: str, value: Any) -> tuple[Path, Any]:
    """The path that is set; for a list item the list, whose other items are unknown."""
    steps = [_ESCAPED.sub(r"\1", step) for step in _DOT.split(name)]
    numbered = next((i for i, step in enumerate(steps) if "[" in step), None)
    if numbered is not None:
        return (*steps[:numbered], steps[numbered].partition("[")[0]), UNKNOWN
    return (tuple(steps), value) if len(steps) <= _MOST_STEPS else (tuple(steps[:1]), UNKNOWN)


def nested_value(steps: Path, value: Any) -> Any:
    """A value below its names."""
    for step in reversed(steps):
        value = {step: value}
    return value


def parse_set_value(value: Any) -> Any:
    """A text as Helm parses it: numbers, booleans and lists in braces."""
    if not isinstance(value, str):
        return value
    if value in _WORDS:
        return _WORDS[value]
    if _WHOLE.fullmatch(value):
        return int(value)
    if value.startswith("{") and value.endswith("}"):
        return (
            [parse_set_value(each.strip()) for each in value[1:-1].split(",")]
            if value[1:-1]
            else []
        )
    return value


def repository_chart_name(chart: Any) -> str:
    """The name of a chart, also from its address; "" for a folder, which may wrap any chart."""
    if not isinstance(chart, str) or chart.startswith((".", "/")) or UNKNOWN_PART in chart:
        return ""
    name = chart.rstrip("/").rpartition("/")[2]
    return "" if name.endswith(".tgz") else name.partition(":")[0]


def parse_set_option(written: str, *, as_text: bool = False) -> Iterator[Any]:
    """The overrides of one `--set A=x,B.C=y`, each separately; UNKNOWN for an unknown name."""
    for part in _parts(written):
        match = _PAIR.fullmatch(part)
        if match is None or UNKNOWN_PART in match[1]:
            yield UNKNOWN
            continue
        name, value = match[1], match[2]
        text = _ESCAPED.sub(r"\1", value)
        parsed: Any = (
            UNKNOWN if UNKNOWN_PART in value else text if as_text else parse_set_value(text)
        )
        yield nested_value(*steps_of(name, parsed))


def _parts(written: str) -> Iterator[str]:
    """At commas, except escaped ones and those in a list's braces."""
    start = depth = at = 0
    while at < len(written):
        sign = written[at]
        if sign == "\\":
            at += 1
        elif sign in "{}":
            depth += 1 if sign == "{" else -1
        elif sign == "," and depth <= 0:
            yield written[start:at]
            start = at + 1
        at += 1
    if written[start:]:
        yield written[start:]
