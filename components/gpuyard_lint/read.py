"""From the bytes of one file to resources. Pure: the command line opens files."""

import json
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from yaml import YAMLError

from gpuyard_core.catalogue.software.engine_files import is_pulumi_preview, is_stack_export
from gpuyard_core.errors import UsageError
from gpuyard_core.manifests.fields import UNKNOWN, mapping, mappings, text
from gpuyard_core.manifests.templates import is_release
from gpuyard_core.stack_files import platform_in
from gpuyard_core.yaml.parse_budget import BUDGET_EXCEEDED, ParseBudgetExceeded
from gpuyard_core.yaml_tree import MAX_BYTES, Document, parse_documents
from gpuyard_lint.charts import is_values, values_of_chart, values_or_subcharts
from gpuyard_lint.combined.kustomize import (
    KUSTOMIZATION,
    is_json_patch,
    is_kustomization,
    json_patch_items,
)
from gpuyard_lint.embedded import (
    COUNTERS,
    embedded_configuration,
    exporter_counters,
    has_configuration,
)
from gpuyard_lint.embedded_values import unread_embedded, with_embedded
from gpuyard_lint.items import FileLocation, Item, LintInput, SkippedFile, joined
from gpuyard_lint.kubernetes import is_object, is_objects, objects
from gpuyard_lint.languages.hcl_values import merge_overlays
from gpuyard_lint.languages.pulumi_yaml import (
    PROJECT,
    is_project,
    is_pulumi_yaml_program,
    program_resources,
)
from gpuyard_lint.pulumi import preview_resources, state_resources
from gpuyard_lint.rules.rule import Resource
from gpuyard_lint.rules.subjects.installed_versions import CHART_FILE, PROGRAMS, chart_versions
from gpuyard_lint.skipped_files import (
    DEFINITIONS,
    is_crd,
    is_irrelevant_file,
    lines_of_json,
    split_documents,
    unrecognized_json_line,
)
from gpuyard_lint.terraform import (
    is_plan,
    is_terraform_state,
    plan_resources,
    terraform_state_resources,
)

_ELSEWHERE = ("valuesFiles", "valuesFrom", "templateValues")


def is_bundle(value: Any) -> bool:
    """Whether it names a chart in the form of Fleet."""
    helm = value.get("helm") if isinstance(value, Mapping) and "apiVersion" not in value else None
    return isinstance(helm, Mapping) and all(
        isinstance(helm.get(key), str) for key in ("chart", "version")
    )


def bundle_release(value: Mapping[str, Any], place: FileLocation) -> Iterator[Item]:
    """The chart, if it is from a repository: a chart in a folder has no version here."""
    helm = mapping(value, "helm")
    chart = text(helm, "chart")
    if helm.get("repo") or chart.startswith("oci://"):
        chart_values: Any = mapping(helm, "values")
        if any(helm.get(key) for key in _ELSEWHERE):
            chart_values = UNKNOWN
        else:
            more = [each.get("helm") for each in mappings(value, "targetCustomizations")]
            over = [
                _unknown_values(mapping(each, "values"))
                for each in more
                if isinstance(each, Mapping)
            ]
            chart_values = merge_overlays([chart_values, *over], deep=True)
        properties = {"chart": chart, "version": text(helm, "version"), "values": chart_values}
        below = replace(place, prefix=(*place.prefix, "helm"))
        yield Item(Resource("helm:Chart", text(helm, "releaseName") or chart, properties), below)


def _unknown_values(value: Any) -> Any:
    """The same keys, with unknown values."""
    if isinstance(value, Mapping):
        return {key: _unknown_values(each) for key, each in value.items()}
    return UNKNOWN


TERRAFORM = (".tf", ".tofu")
"""Suffixes of Terraform and OpenTofu files; those of a folder are read together."""
LIST = ".csv"
"""Suffix of lists of counters."""
TIMES = 32
"""Maximum file size as a multiple of the size of a stack file: 32 MiB."""
_TEMPLATE = re.compile(rb"\{\{[^{}]{0,2000}\}\}|\{%-?\s|%\{~?\s*(?:for|if)\b")

Reader = Callable[[Any, FileLocation], Iterator[Item]]
"""Finds resources of one type in a document; yields none if the document is of another type."""


def _chart_of_a_program(value: Mapping[str, Any], place: FileLocation) -> Iterator[Item]:
    """A copy of a chart, or one with dependencies, shows which version of the program is installed."""
    if set(chart_versions(value)) & PROGRAMS:
        yield Item(Resource(CHART_FILE, str(value["name"]), value), place)


READERS: tuple[tuple[str, Callable[[Any], bool], Reader], ...] = (
    ("a Kubernetes object", is_object, objects),
    ("a list of Kubernetes objects", is_objects, objects),
    ("a Pulumi preview", is_pulumi_preview, preview_resources),
    ("a Pulumi state", is_stack_export, state_resources),
    ("a Pulumi program", is_pulumi_yaml_program, program_resources),
    ("a Terraform plan", is_plan, plan_resources),
    ("a Terraform state", is_terraform_state, terraform_state_resources),
    ("values of a chart", is_values, values_or_subcharts),
    ("a configuration", has_configuration, embedded_configuration),
    ("release metadata of `gpuyard render`", is_release, lambda *_: iter(())),
    (
        "a baseline of `gpuyard lint`",
        lambda value: isinstance(value, Mapping) and set(value) == {"version", "findings"},
        lambda *_: iter(()),
    ),
    ("a Fleet bundle", is_bundle, bundle_release),
    ("a patch", is_json_patch, json_patch_items),
    (
        "a chart",  # files below its folder belong together
        lambda value: (
            isinstance(value, Mapping) and {"apiVersion", "name", "version"} <= set(value)
        ),
        _chart_of_a_program,
    ),
)
"""Document types in the order in which they are tried: name, test, reader. Some have no resources to check."""


A_TEMPLATE = "a template, not YAML: render it first (helm template, kustomize build)"
_LINE = re.compile(r"line (\d+)")
PLACEHOLDER_FILE = "a template, not YAML: substitute its `${…}` first (envsubst)"
_TO_FILL_IN = re.compile(rb"\$\{\w+\}")
_UTF16 = (BOM_UTF16_LE, BOM_UTF16_BE)
_MOST_PARTS = 10_000
"""Texts with more documents are read as one, or not at all."""
_BEFORE_FOUR_BYTES = bytes(range(0xF0))
"""Bytes that start no four-byte character. Removing them is ten times as fast as searching for others."""
_WIDE = "too large for text with non-ASCII characters, which needs up to four times the memory"
_ABOUT_GPUS = re.compile(rb"nvidia|gpu|dcgm|kueue|karpenter", re.IGNORECASE)


def read(data: bytes, file: str, chart: str = "") -> LintInput:
    """All resources in one file; for values, optionally the chart that they are for."""
    if file.endswith(LIST):
        return _list(data, file)
    if len(data) * _width(data) > MAX_BYTES * TIMES:
        return LintInput((), (SkippedFile(file, _WIDE),), (file,))
    data = as_utf8(data)
    if file.endswith(TERRAFORM):
        return read_modules({"": {file: data}}, named={file})
    if is_irrelevant_file(data, _fits):
        return LintInput((), (SkippedFile(file, DEFINITIONS, is_unrecognized=True),), (file,))
    if chart and (results := _values_for(data, file, chart)) is not None:
        return LintInput(tuple(results), (), (file,))
    skipped: list[SkippedFile] = []
    if b"CustomResourceDefinition" in data and data.count(b"\n---") < _MOST_PARTS:
        documents = [part for part in split_documents(data) if not is_crd(part[1])]
        results = [each for part in documents for each in _part(*part, file, skipped)]
        if not documents:
            skipped.append(SkippedFile(file, DEFINITIONS, is_unrecognized=True))
    else:
        results = _documents(data, file, skipped)
    return LintInput(tuple(results), tuple(skipped), (file,))


def _values_for(data: bytes, file: str, chart: str) -> list[Item] | None:
    """Values of a known chart; None if the file is of another type."""
    try:
        documents = parse_documents(data, file, TIMES)
    except UsageError:
        return None
    if len(documents) != 1:
        return None
    (document,) = documents
    if not isinstance(document.value, Mapping) or "apiVersion" in document.value:
        return None
    result = values_of_chart(document.value, FileLocation(file, document), chart)
    return [each for item in result for each in with_embedded(item)]


def _width(data: bytes) -> int:
    """Bytes per character in memory: one wide character makes the whole text as wide."""
    if data.isascii():
        return 1
    return 4 if data.translate(None, _BEFORE_FOUR_BYTES) else 2


def as_utf8(data: bytes) -> bytes:
    """Text in the encodings of YAML: PowerShell writes UTF-16, and comments may have a legacy encoding."""
    wide = data.startswith(_UTF16)
    if b":" not in data or data.isascii():  # no key is in it, or it is valid
        return data
    try:
        text = data.decode("utf-16" if wide else "utf-8")
    except UnicodeDecodeError:
        return data if wide or b"\0" in data else data.decode(errors="replace").encode()
    return text.encode() if wide else data


def read_module(files: Mapping[str, bytes]) -> LintInput:
    """All resources in the files of one Terraform module, which is a folder."""
    return read_modules({"": files})


def read_modules(
    folders: Mapping[str, Mapping[str, bytes]],
    samples: Collection[str] = (),
    text_of: Callable[[str], str] = lambda _: "",
    named: Collection[str] = (),
) -> LintInput:
    """All resources in the files of Terraform modules, which may call each other, except for examples.

    For files that are named explicitly, syntax errors are reported.
    """
    from gpuyard_lint.languages.terraform_calls import ModuleCalls
    from gpuyard_lint.languages.terraform_files import read_terraform

    calls = ModuleCalls(folders, samples)
    return joined(
        read_terraform(files, calls.module_inputs(folder), text_of, named)
        for folder, files in folders.items()
    )


def _documents(data: bytes, file: str, skipped: list[SkippedFile]) -> list[Item]:
    """The resources of the whole text; if it is not YAML, of each document that is."""
    if (line := unrecognized_json_line(data, partial(_is_ours, file))) is not None:
        skipped.append(_unrecognized(file, line))
        return []
    try:
        documents = parse_documents(data, file, TIMES)
    except ParseBudgetExceeded:
        skipped.append(SkippedFile(file, BUDGET_EXCEEDED))
        return []
    except UsageError as e:
        # a limit that was exceeded is not retried in parts
        of_form = isinstance(e.__context__, YAMLError) or template_line(data)
        few = of_form and data.count(b"\n---") < _MOST_PARTS
        split = lines_of_json(data) or split_documents(data) if few else []
        if not 1 < len(split) <= _MOST_PARTS:
            skipped.append(_unreadable(data, file, str(e)))
            return []
        return [each for part in split for each in _part(*part, file, skipped)]
    if not documents:
        skipped.append(SkippedFile(file, "empty: it contains no document", is_unrecognized=True))
    return list(_document_items(documents, file, 0, skipped))


def _part(before: int, data: bytes, file: str, skipped: list[SkippedFile]) -> Iterator[Item]:
    """The resources of one document of many, with its own error."""
    if (line := unrecognized_json_line(data, partial(_is_ours, file))) is not None:
        skipped.append(_unrecognized(file, before + line))
        return
    try:
        documents = parse_documents(data, file, TIMES)
    except UsageError as e:
        unreadable = _unreadable(data, file, str(e))
        reason = _LINE.sub(
            lambda found: f"line {before + int(found[1])}", unreadable.reason, count=1
        )
        skipped.append(replace(unreadable, line=before + unreadable.line, reason=reason))
        return
    yield from _document_items(documents, file, before, skipped)


def read_rendered(data: bytes, file: str, written_at: Callable[[int], int]) -> list[Item]:
    """Rendered objects, each at the line of its source; others have none."""
    try:
        documents = parse_documents(data, file, TIMES)
    except UsageError:
        return []
    items = [each for document in documents for each in _items(document, file, 0) or ()]
    return [replace(each, place=replace(each.place, to_source_line=written_at)) for each in items]


def _document_items(
    documents: Sequence[Document], file: str, before: int, skipped: list[SkippedFile]
) -> Iterator[Item]:
    for document in documents:
        items = _items(document, file, before)
        if items is None:
            skipped.append(_unknown(document, file, before))
            continue
        yield from items
        for each in items:
            skipped += unread_embedded(each)


def _list(data: bytes, file: str) -> LintInput:
    """A list of counters as an exporter reads it; other tables are ignored."""
    if len(data) > MAX_BYTES or COUNTERS.encode() not in (data := as_utf8(data)):
        return LintInput()  # data tables are large, and lists of counters are not
    place = FileLocation(file, Document(None, {}))
    results = tuple(
        exporter_counters(data.decode(errors="replace"), file.rpartition("/")[2], place)
    )
    return LintInput(results, (), (file,) if results else ())


def _items(document: Document, file: str, before: int) -> list[Item] | None:
    """The resources in a document; None if its format is unknown."""
    place = FileLocation(file, document, (), before)
    if is_kustomization(document.value, file) and not is_object(document.value):
        return [
            *with_embedded(Item(Resource(KUSTOMIZATION, file, document.value, None, file), place))
        ]
    for _, fits, reader in READERS:
        if fits(document.value):
            return [each for item in reader(document.value, place) for each in with_embedded(item)]
    return None


def _fits(value: Any) -> bool:
    return any(fits(value) for _, fits, _ in READERS)


def _is_ours(file: str, value: Any) -> bool:
    """Whether a document gives a resource or a reason why it is not read."""
    known = _fits(value) or is_kustomization(value, file) or is_project(value)
    return known or platform_in(value) is not None


def template_line(data: bytes) -> int | None:
    """The line on which template syntax begins; None if there is none."""
    match = _TEMPLATE.search(data)
    return data.count(b"\n", 0, match.start()) + 1 if match else None


def _unreadable(data: bytes, file: str, problem: str) -> SkippedFile:
    if line := template_line(data):
        return SkippedFile(file, A_TEMPLATE, line, template=True)
    json_file = file.endswith(".json")
    if json_file and "not YAML: " in problem:
        try:
            json.loads(data)
        except json.JSONDecodeError as e:
            problem = f"not JSON: line {e.lineno}, column {e.colno}: {e.msg}"
        except (ValueError, RecursionError):
            pass  # bytes that are not text, or nested too deeply
    match = _LINE.search(problem)
    line = int(match[1]) if match else 1
    at_line = b"".join(data.split(b"\n", line)[line - 1 : line])
    if not json_file and _TO_FILL_IN.search(at_line):
        return SkippedFile(file, PLACEHOLDER_FILE, line, template=True)
    foreign = json_file and not _ABOUT_GPUS.search(data)
    return SkippedFile(file, problem.removeprefix(f"{file}: "), line, is_unrecognized=foreign)


def _unknown(document: Document, file: str, before: int) -> SkippedFile:
    line = before + document.lines.get((), 1)
    if is_project(document.value):
        return SkippedFile(file, PROJECT, line)
    if platform_in(document.value) is not None:
        own = "a stack file: validate it with `gpuyard check`; --stack applies its `policies`"
        return SkippedFile(file, own, line)
    return _unrecognized(file, line)


def _unrecognized(file: str, line: int) -> SkippedFile:
    kinds = ", ".join(name for name, _, _ in READERS)
    return SkippedFile(file, f"no known format ({kinds})", line, is_unrecognized=True)
