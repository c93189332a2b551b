"""Reference pages: stack files, their implementation status, fault symptoms and readiness checks (docs/reference).

`make golden` writes them; tests/docs/test_reference.py fails if their sources have changed.
"""

import inspect
import typing
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from itertools import groupby
from math import prod
from pathlib import Path
from typing import Any

import yaml

from gpuyard.plan import unimplemented
from gpuyard.render.observability.rules import recording_rules
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.pools import Pool
from gpuyard.spec.schema import field_meanings
from gpuyard.spec.teams import Team
from gpuyard_advisor.readiness.checks import ai_requirements, ai_source, readiness_checks
from gpuyard_core.catalogue.known_issues import KNOWN_ISSUES, Area, KnownIssue
from gpuyard_core.models.values import SpecModel

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "stack-file.md"
EXAMPLES = Path(__file__).with_name("stack_examples.yaml")
TROUBLES_PAGE = PAGE.with_name("troubles.md")
STATUS_PAGE = PAGE.with_name("today.md")
RECORDED_PAGE = PAGE.with_name("recorded-series.md")
READINESS_PAGE = PAGE.with_name("readiness.md")
_HEADINGS = {
    Area.XID: "The kernel's log has an XID",
    Area.DRIVER: "The driver does not answer, or a different one does",
    Area.RECOVERY: "The driver recommends an action (`gpu.recovery`)",
    Area.TEMPERATURE: "The GPU is slow",
    Area.CUDA: "A program ends with a CUDA error",
    Area.RUNTIME: "A container has no GPU",
}
_TROUBLES_HEAD = """\
# Signs of trouble

Read from the top: an XID in the kernel's log (`dmesg | grep -i xid`) is more specific than the error of a
program, and the driver more specific than a container. `gpuyard validate --explain xid.79` prints one row,
and `--explain CHECK` those of a check. `remedy` is the first action; if it does not last, contact the
vendor of the node. Generated from the catalogue by `make golden`.
"""
HEAD = """\
# Stack files

All fields of a `stacks/Pulumi.<stack>.yaml` under `config: gpuyard:platform:`. This page is generated
from the models (`make golden`); editors complete the same fields through `stacks/gpuyard.schema.json`.
Each section has an example, as written below `gpuyard:platform:`. Required fields that an example leaves out
are set as well: a platform has a name, a cloud, a version and pools.
"""


def parts(annotation: Any) -> Iterator[type]:
    """The classes an annotation is built from, in order."""
    if inspect.isclass(annotation):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from parts(argument)


def models(root: type[SpecModel]) -> list[type[SpecModel]]:
    """The model and all models of its fields, each once, in the order of the fields."""
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
    """One field: its name, whether it is required, its meaning."""
    field = model.model_fields[name]
    classes = list(parts(field.annotation))
    links = [
        f"[{each.__name__}](#{each.__name__.lower()})"
        for each in classes
        if issubclass(each, SpecModel)
    ]
    # The first line of a choice repeats its field; the rest describes the words.
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
    """An example of each model as text, and BASE, over which they are merged."""
    results: dict[str, str] = yaml.safe_load(EXAMPLES.read_text(encoding="utf-8"))
    return results


def stack_file() -> str:
    """The page."""
    return "\n".join([HEAD, *(section(model) for model in models(PlatformSpec))])


def troubles() -> str:
    """The table of fault symptoms: docs/reference/troubles.md."""
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
        f"{each.source.title}, read on {each.source.checked_on}{each.source.unverified_suffix}"
        for each in rows
    )
    yield f"\nSources: {'; '.join(sources)}."


# ── Implementation status of stack file fields ─────────────────────────────────────────────────────

_STATUS_HEAD = """\
# Implementation status of stack file fields

For users who want to know which fields `pulumi up` already carries out. Generated from the models and
from the findings of `gpuyard check` (`make golden`).

- `in effect`: validated, part of the plan, and deployed by `pulumi up`.
- `on aws and gcp`: in effect where gpuyard creates clusters and nodes; not on a simulated cluster or on
  your own (`cloud: none`).
- `planned`: validated and part of the plan, but not deployed.
- `nothing`: read, without effect.

[The reference](stack-file.md) describes the fields.
"""
_STATUS_TABLES: tuple[tuple[str, type[SpecModel], Mapping[str, str], Mapping[str, str]], ...] = (
    ("The platform", PlatformSpec, unimplemented.PLANNED, unimplemented.NO_EFFECT),
    ("A pool", Pool, unimplemented.POOL_PLANNED, unimplemented.POOL_NOTHING),
    ("A team", Team, {}, {}),
)


def status() -> str:
    """The implementation status of each field: docs/reference/today.md.

    A field is `in effect` only if tests/plan/test_unimplemented.py finds code that reads it, and not in effect only
    if `gpuyard check` reports the same for a stack that uses it.
    """
    return _STATUS_HEAD + "".join(_status_table(*each) for each in _STATUS_TABLES)


def _status_table(
    title: str, model: type[SpecModel], planned: Mapping[str, str], nothing: Mapping[str, str]
) -> str:
    rows = "".join(f"{row}\n" for row in _status_rows(model, planned, nothing))
    return f"\n## {title}\n\n| field | status | |\n|---|---|---|\n{rows}"


def _status_rows(
    model: type[SpecModel], planned: Mapping[str, str], nothing: Mapping[str, str]
) -> Iterator[str]:
    meanings = field_meanings(model)
    for name in model.model_fields:
        if name in unimplemented.CLOUD_ONLY_FIELDS:
            lacks = words({**planned, **nothing}[name])
            yield f"| `{name}` | on aws and gcp | Elsewhere: {lacks} |"
        elif name in planned:
            yield f"| `{name}` | planned | {words(planned[name])} |"
        elif name in nothing:
            yield f"| `{name}` | nothing | {words(nothing[name])} |"
        else:
            meaning = words(meanings[name]).partition(". ")[0].removesuffix(".")
            yield f"| `{name}` | in effect | {meaning} |"


# ── Readiness checks ───────────────────────────────────────────────────────────────────────────────

_READINESS_HEAD = """\
# Readiness checks

Generated from the library's list (`make golden`). [The concept](../concepts/readiness.md) describes the
answers. Sources of an answer: P the plan, L the live cluster, R a run.
"""
_CONFORMANCE = """\
## CNCF AI Conformance for Kubernetes 1.36

From {source}.
For each MUST the programme requires a status, notes, and public evidence; it has no test of
its own. The checks of gpuyard point to evidence, they are not a certificate.

| requirement | level | checks of gpuyard |
|---|---|---|
"""


def readiness() -> str:
    """The list of readiness checks: docs/reference/readiness.md."""
    text = _READINESS_HEAD
    for category, checks in groupby(readiness_checks(), lambda each: each.category):
        text += f"\n## {category}\n\n| check | from | what must be true | manual check |\n|---|---|---|---|\n"
        for each in checks:
            run = (
                f"{_cell(each.by_hand)}<br>run: {_cell(each.run)}"
                if each.run
                else _cell(each.by_hand)
            )
            text += f"| {each.id} | {each.source} | {_cell(each.title)} | {run} |\n"
    text += "\n" + _CONFORMANCE.format(source=ai_source())
    for requested in ai_requirements():
        named = ", ".join(requested.checks) or f"none: {requested.lacks}"
        text += f"| `{requested.id}` | {requested.level} | {named} |\n"
    return text


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


# ── Recorded series ────────────────────────────────────────────────────────────────────────────────

_RECORDED_HEAD = """\
# Recorded series

For admins of a Prometheus: how many series the recording rules add. Generated from the rules (`make golden`). A test
counts the series of each rule in Prometheus for a fleet of all sharing modes.

- nodes: existing nodes, system nodes included. gpus: measured GPUs.
- devices: GPUs that are not partitioned, and MIG instances. pods: for each device, the pods that hold it.
- groups: combinations of pool, team, class and slice that occur.
- pools, teams, queues, priorities, commitments: those of the stack file, the pools `system` and `commitment` and the team
  `unassigned` included.

Facts of the plan add one series for each price, slice profile, namespace, budget, commitment and target, and
`gpuyard:node:info` one for each node.

The last column is for {example}. [The guide](../guides/metrics.md) describes the series.

| series | at most | example |
|---|---|---|
"""
_FLEET = {
    "nodes": 1000,
    "gpus": 8000,
    "devices": 8000,
    "pods": 8000,
    "groups": 400,
    "pools": 10,
    "teams": 20,
    "queues": 20,
    "priorities": 4,
    "commitments": 2,
}
_EXAMPLE = (
    "1,000 nodes with 8 GPUs, a pod on each GPU, 10 pools, 20 teams and queues, and 2 classes"
)


def recorded_series() -> str:
    """The number of series of each recording rule: docs/reference/recorded-series.md."""
    stated: dict[str, str] = {}
    for rule in (each for rules in recording_rules().values() for each in rules):
        labels = ", ".join(f'{k}="{v}"' for k, v in rule.get("labels", {}).items() if v)
        stated[f"{rule['record']}{{{labels}}}" if labels else rule["record"]] = str(rule["series"])
    counted = {name: _series_count(formula) for name, formula in stated.items()}
    rows = "".join(f"| `{n}` | {stated[n]} | {counted[n]:,} |\n" for n in stated)
    total = f"| all | | {sum(counted.values()):,} |\n"
    return _RECORDED_HEAD.format(example=_EXAMPLE) + rows + total


def _series_count(formula: str) -> int:
    """The value of a sum of products for the example."""
    return sum(
        prod(_FLEET.get(word) or int(word) for word in term.split(" * "))
        for term in formula.split(" + ")
    )
