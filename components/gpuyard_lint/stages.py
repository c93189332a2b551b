"""Stages of reading: from files to the resources that rules check, over one frozen view.

The command line finds and opens files and runs programs; each stage adds what it reads to the view.
"""

import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import add

from gpuyard_core.errors import UsageError
from gpuyard_core.yaml.parse_budget import BUDGET_EXCEEDED, ParseBudget
from gpuyard_lint.chart_dependencies import CHART, aliased_values, wrapped_releases
from gpuyard_lint.combined.example_files import exported_objects
from gpuyard_lint.combined.script_hints import RepositoryFiles, ScriptHints, script_hints
from gpuyard_lint.ignores import NOTHING_IGNORED, Ignores, parse_ignores
from gpuyard_lint.items import Item, LintInput, SkippedFile, joined
from gpuyard_lint.languages.commands import helm_commands, is_script
from gpuyard_lint.read import LIST, TERRAFORM, read, read_modules

SUFFIXES = (
    *(".yaml", ".yml", ".YAML", ".YML", ".json", ".jsonl", ".ndjson", ".tfstate", LIST),
    *TERRAFORM,
)
"""Files read from a folder; a file given by name is read whatever its extension."""
OF_ITEM, OF_TEXT = 8, 128
"""In parts of the budget: the overhead of an item, and the bytes of text that count as one part."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file to read, by its printable name."""

    name: str
    is_example: bool = False
    is_named: bool = False
    """Whether the user gave its name: then it must be readable."""


@dataclass(frozen=True, slots=True)
class ReadingView:
    """The files of a run, and what the stages have read from them."""

    files: tuple[InputFile, ...]
    bytes_of: Callable[[str], bytes]
    """The content of a file; UsageError if it is unreadable."""
    text_of: Callable[[str], str]
    """The text of any file below the linted folders, which Terraform may open; "" if there is none."""
    roots: tuple[str, ...]
    """The linted folders."""
    budget: ParseBudget
    has_time_for: Callable[[str], bool]
    hints: ScriptHints = field(default_factory=ScriptHints)
    modules: Mapping[str, Mapping[str, bytes]] = field(
        default_factory=dict[str, Mapping[str, bytes]]
    )
    """By folder: its Terraform files."""
    input: LintInput = field(default_factory=LintInput)
    ignores: Ignores = NOTHING_IGNORED

    @property
    def named(self) -> frozenset[str]:
        """The names of files that the user gave."""
        return frozenset(each.name for each in self.files if each.is_named)


def read_commands(view: ReadingView) -> ReadingView:
    """The installing commands of scripts, without examples; a script with nothing else is not read."""
    commands = {
        each.name: found
        for each in view.files
        if not each.is_example
        and is_script(each.name)
        and view.has_time_for(each.name)
        and (found := helm_commands(_bytes_or_none(view, each.name)))
    }
    files = tuple(
        each
        for each in view.files
        if not is_script(each.name)
        or each.name.endswith(SUFFIXES)
        or (each.is_named and each.name not in commands)
    )
    names = {each.name for each in view.files if not each.is_example} if commands else set[str]()
    known = RepositoryFiles(names, view.roots, partial(_bytes_or_none, view))
    return replace(view, files=files, hints=script_hints(commands, known))


def _bytes_or_none(view: ReadingView, name: str) -> bytes:
    try:
        return view.bytes_of(name)
    except UsageError:
        return b""


def read_files(view: ReadingView) -> ReadingView:
    """Each file but those of Terraform, which are read together by folder."""
    inputs, ignores = [view.input], [view.ignores]
    modules: dict[str, dict[str, bytes]] = {}
    examples: set[str] = set()
    for each in view.files:
        if not view.has_time_for(each.name):
            continue
        try:
            data = view.bytes_of(each.name)
        except UsageError as e:
            if each.is_named:
                raise
            reason = str(e).removeprefix(f"{each.name}: ")
            inputs.append(LintInput((), (SkippedFile(each.name, reason),), (each.name,)))
            continue
        if each.name.endswith(TERRAFORM) and not view.budget.take(len(data) // OF_TEXT):
            skipped = (SkippedFile(each.name, BUDGET_EXCEEDED),)
            inputs.append(LintInput((), skipped, (each.name,)))
        elif each.name.endswith(TERRAFORM):
            modules.setdefault(posixpath.dirname(each.name), {})[each.name] = data
            inputs.append(LintInput(files=(each.name,)))
        else:
            inputs.append(_read_within_budget(view, each.name, data))
        ignores.append(parse_ignores(data, each.name))
        examples |= {each.name} if each.is_example else set()
    view.budget.short = False
    return replace(
        view,
        modules=modules,
        input=replace(joined(inputs), example_files=frozenset(examples)),
        ignores=reduce(add, (each for each in ignores if each != NOTHING_IGNORED), NOTHING_IGNORED),
    )


def _read_within_budget(view: ReadingView, name: str, data: bytes) -> LintInput:
    """Read a file within the memory budget; the budget of discarded files is released."""
    budget = view.budget
    before, budget.short = budget.left, False
    reading = read(data, name, view.hints.charts.get(name, ""))
    documents = {id(item.place.document): item.place.document for item in reading.items}
    parts = sum(len(document.lines) for document in documents.values())
    text = len(data) // OF_TEXT if documents else 0
    budget.left = before - parts - text - OF_ITEM * len(reading.items)
    if budget.short and not any(BUDGET_EXCEEDED in each.reason for each in reading.skipped):
        return replace(reading, skipped=(*reading.skipped, SkippedFile(name, BUDGET_EXCEEDED)))
    return reading


def read_terraform_modules(view: ReadingView) -> ReadingView:
    """The Terraform files of each folder together; those that the user named are always reported."""
    named = view.named
    reading = read_modules(view.modules, view.input.example_files, view.text_of, named=named)
    skipped = [*view.input.skipped, *reading.skipped]
    if view.budget.short and not any(each.reason == BUDGET_EXCEEDED for each in reading.skipped):
        skipped.append(SkippedFile(min(map(min, view.modules.values())), BUDGET_EXCEEDED))
    unrecognized = (
        replace(each, is_unrecognized=each.is_unrecognized and each.file not in named)
        for each in skipped
    )
    result = replace(
        view.input,
        items=(*view.input.items, *reading.items),
        skipped=tuple(unrecognized),
        values_overlays=reading.values_overlays,
    )
    return replace(view, input=result)


def read_chart_dependencies(view: ReadingView) -> ReadingView:
    """The dependencies of charts, without examples: releases, and values under an alias."""
    files = dict.fromkeys(view.input.files)
    items: list[Item] = []
    for chart in files:
        folder, name = posixpath.split(chart)
        if name != CHART or chart in view.input.example_files:
            continue
        data = _bytes_or_none(view, chart)
        if b"dependencies:" not in data:
            continue
        items += wrapped_releases(chart, data, files)
        for each in files if b"alias:" in data else ():
            if posixpath.dirname(each) == folder and posixpath.basename(each).startswith("values"):
                items += aliased_values(chart, data, each, _bytes_or_none(view, each), files)
    read_now = {item.place.file for item in items}
    skipped = tuple(each for each in view.input.skipped if each.file not in read_now)
    result = replace(view.input, items=(*view.input.items, *items), skipped=skipped)
    return replace(view, input=result)


def set_aside_exports(view: ReadingView) -> ReadingView:
    """Files with objects exported from a cluster are examples."""
    exported = exported_objects(view.input) - view.named
    return replace(
        view, input=replace(view.input, example_files=view.input.example_files | exported)
    )


def pass_values(view: ReadingView) -> ReadingView:
    """The values that commands and Terraform releases pass to Helm, and the installed programs."""
    overlays = (*view.hints.values, *view.input.values_overlays)
    result = replace(view.input, installs=view.hints.installs, values_overlays=overlays)
    return replace(view, input=result)


STAGES: tuple[Callable[[ReadingView], ReadingView], ...] = (
    read_commands,
    read_files,
    read_terraform_modules,
    read_chart_dependencies,
    set_aside_exports,
    pass_values,
)
"""In order: each reads what those before it have added to the view."""


def read_view(view: ReadingView) -> ReadingView:
    """The view after all stages."""
    for stage in STAGES:
        view = stage(view)
    return view
