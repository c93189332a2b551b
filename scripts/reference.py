"""The reference of stack files, made from the models, and that of signs of trouble: docs/reference.

`make golden` writes it; tests/docs/test_reference.py fails when the models have moved on.
"""

import inspect
import typing
from collections.abc import Iterator
from enum import Enum
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml

from gpuyard.catalogue.known_issues import KNOWN_ISSUES, Area, KnownIssue
from gpuyard.spec.base import SpecModel
from gpuyard.spec.meanings import field_meanings
from gpuyard.spec.platform import PlatformSpec

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "stack-file.md"
EXAMPLES = Path(__file__).with_name("stack_examples.yaml")
TROUBLES_PAGE = PAGE.with_name("troubles.md")
_HEADINGS = {
    Area.XID: "The kernel's log has an XID",
    Area.DRIVER: "The driver does not answer, or another one does",
    Area.RECOVERY: "The driver asks for something (`gpu.recovery`)",
    Area.TEMPERATURE: "The GPU is slow",
    Area.CUDA: "A program ends with an error of CUDA",
    Area.RUNTIME: "A container has no GPU",
}
_TROUBLES_HEAD = """\
# Signs of trouble

Look from above: an XID in the kernel's log (`dmesg | grep -i xid`) says more than what a program
makes of it, and the driver more than a container. `gpuyard validate --explain xid.79` says one row,
and `--explain CHECK` those that go with a check. What `remedy` names is what to do first; where it
does not last, the node's makers are next. Written from the catalogue by `make golden`.
"""
HEAD = """\
# Stack files

Everything a `stacks/Pulumi.<stack>.yaml` may say under `config: gpuyard:platform:`. This page is made
from the models (`make golden`); editors complete the same fields through `stacks/gpuyard.schema.json`.
Each section has an example, as it stands below `gpuyard:platform:`. What it leaves out is there as well: a
platform has a name, a cloud, a version and pools.
"""


def parts(annotation: Any) -> Iterator[type]:
    """The classes an annotation is built from, in order."""
    if inspect.isclass(annotation):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from parts(argument)


def models(root: type[SpecModel]) -> list[type[SpecModel]]:
    """The model and all that its fields lead to, each once, in the order of the fields."""
    results = [root]
    for model in results:
        for field in model.model_fields.values():
            for each in parts(field.annotation):
                if issubclass(each, SpecModel) and each not in results:
                    results.append(each)
    return results


def words(text: str | None) -> str:
    """Text on one line of a table."""
    return " ".join((text or "").split()).replace("|", "\\|")


def row(name: str, model: type[SpecModel]) -> str:
    """One field: its name, whether it must be there, what it means."""
    field = model.model_fields[name]
    classes = list(parts(field.annotation))
    links = [
        f"[{each.__name__}](#{each.__name__.lower()})"
        for each in classes
        if issubclass(each, SpecModel)
    ]
    # The first line of a choice repeats its field; what follows says what the words mean.
    choices = [
        words((inspect.getdoc(each) or "").partition("\n\n")[2])
        for each in classes
        if issubclass(each, Enum)
    ]
    meaning = " ".join(filter(None, [words(field_meanings(model).get(name)), *choices]))
    if links:
        meaning += f" → {', '.join(links)}"
    return f"| `{name}` | {'yes' if field.is_required() else ''} | {meaning} |"


def section(model: type[SpecModel]) -> str:
    """One model: its docstring and its fields."""
    lines = [f"## {model.__name__}", "", inspect.cleandoc(model.__doc__ or ""), ""]
    lines += ["| field | needed | meaning |", "|---|---|---|"]
    lines += [row(name, model) for name in model.model_fields]
    lines += ["", "```yaml", examples()[model.__name__].rstrip(), "```"]
    return "\n".join(lines) + "\n"


@cache
def examples() -> dict[str, str]:
    """An example of each model as text, and BASE, which they are put over."""
    results: dict[str, str] = yaml.safe_load(EXAMPLES.read_text(encoding="utf-8"))
    return results


def stack_file() -> str:
    """The page."""
    return "\n".join([HEAD, *(section(model) for model in models(PlatformSpec))])


def troubles() -> str:
    """The table of signs of trouble: docs/reference/troubles.md."""
    parts = [_TROUBLES_HEAD]
    for area, rows in groupby(KNOWN_ISSUES.values(), key=lambda each: each.area):
        parts.append("\n".join(_signs(area, list(rows))) + "\n")
    return "\n".join(parts)


def _signs(area: Area, rows: list[KnownIssue]) -> Iterator[str]:
    yield f"## {_HEADINGS[area]}\n"
    yield "| sign | means | remedy | do | checks |\n|---|---|---|---|---|"
    for each in rows:
        checks = ", ".join(f"`{check}`" for check in each.checks)
        yield f"| `{each.id}` | {each.meaning} | {each.remedy} | {each.remediation} | {checks} |"
    sources = dict.fromkeys(
        f"{each.source.title}, read on {each.source.checked_on}{each.source.doubt}" for each in rows
    )
    yield f"\nSources: {'; '.join(sources)}."
