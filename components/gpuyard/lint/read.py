"""From the bytes of one file to what rules can look at. Pure: who opens files is the command line."""

import json
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from yaml import YAMLError

from gpuyard.catalogue.software.engine_files import is_preview, is_state
from gpuyard.errors import UsageError
from gpuyard.lint.charts import is_values, values_for, values_or_subcharts
from gpuyard.lint.embedded import COUNTERS, counters, embedded, has_configuration
from gpuyard.lint.inside import left_inside, with_inside
from gpuyard.lint.items import FilePlace, FilesRead, Item, Unread
from gpuyard.lint.kubernetes import is_object, is_objects, objects
from gpuyard.lint.languages.pulumi_yaml import (
    PROJECT,
    is_program,
    is_project,
    program_resources,
)
from gpuyard.lint.layers.fleet import is_bundle, release_of_bundle
from gpuyard.lint.layers.helmfile import is_helmfile, releases_of_helmfile
from gpuyard.lint.passed_over import (
    DEFINITIONS,
    is_definition,
    is_passed_over,
    json_of_nobody,
    lines_of_json,
    parts,
)
from gpuyard.lint.pulumi import preview_resources, state_resources
from gpuyard.lint.terraform import (
    is_plan,
    is_terraform_state,
    plan_resources,
    terraform_state_resources,
)
from gpuyard.lint.together.kustomize import (
    KUSTOMIZATION,
    OF_ARGO_SOURCE,
    is_argo_source,
    is_kustomization,
    is_operations,
    operations,
)
from gpuyard.render.charts import is_release
from gpuyard.rules.rule import Resource
from gpuyard.rules.subjects.installed import CHART_FILE, PROGRAMS, charted
from gpuyard.spec.read import platform_in
from gpuyard.spec.yaml.room import NO_ROOM, NoRoomError
from gpuyard.spec.yaml_tree import MAX_BYTES, Document, parse_documents

TERRAFORM = (".tf", ".tofu")
"""How names of Terraform's and OpenTofu's own files end; those of a folder are read together."""
LIST = ".csv"
"""How names of lists of counters end."""
TIMES = 32
"""Files are read up to so many times the size of a stack file: 32 MiB."""
_TEMPLATE = re.compile(rb"\{\{[^{}]{0,2000}\}\}|\{%-?\s|%\{~?\s*(?:for|if)\b")

Reader = Callable[[Any, FilePlace], Iterator[Item]]
"""Finds resources of one sort in a document; yields nothing when the document is of another sort."""


def _nothing(_: Any, __: FilePlace) -> Iterator[Item]:
    """What is known, and holds nothing that a rule looks at: values of a release are beside it."""
    return iter(())


def _is_chart(value: Any) -> bool:
    """True for a Chart.yaml: what is below its folder goes together."""
    return isinstance(value, Mapping) and {"apiVersion", "name", "version"} <= set(value)


def _chart_of_a_program(value: Mapping[str, Any], place: FilePlace) -> Iterator[Item]:
    """A copy of a chart, or one that depends on it, says which version of the program is installed."""
    if set(charted(value)) & PROGRAMS:
        yield Item(Resource(CHART_FILE, str(value["name"]), value), place)


def _is_baseline(value: Any) -> bool:
    """True for what `gpuyard lint --write-baseline` writes."""
    return isinstance(value, Mapping) and set(value) == {"version", "findings"}


READERS: tuple[tuple[str, Callable[[Any], bool], Reader], ...] = (
    ("a Kubernetes object", is_object, objects),
    ("a list of Kubernetes objects", is_objects, objects),
    ("a Pulumi preview", is_preview, preview_resources),
    ("a Pulumi state", is_state, state_resources),
    ("a Pulumi program", is_program, program_resources),
    ("a Terraform plan", is_plan, plan_resources),
    ("a Terraform state", is_terraform_state, terraform_state_resources),
    ("values of a chart", is_values, values_or_subcharts),
    ("a configuration", has_configuration, embedded),
    ("a release of `gpuyard render`", is_release, _nothing),
    ("a baseline of `gpuyard lint`", _is_baseline, _nothing),
    ("a helmfile", is_helmfile, releases_of_helmfile),
    ("a bundle of Fleet", is_bundle, release_of_bundle),
    ("a patch", is_operations, operations),
    ("a chart", _is_chart, _chart_of_a_program),
)
"""What a document can be, in the order in which it is tried: a name, a test, the reader."""


A_TEMPLATE = "a template, not YAML yet: render it first (helm template, kustomize build)"
_LINE = re.compile(r"line (\d+)")
_NOT_YAML = "not YAML: "
TO_FILL_IN = "a template, not YAML yet: fill its `${…}` in first (envsubst)"
_TO_FILL_IN = re.compile(rb"\$\{\w+\}")
_UTF16 = (BOM_UTF16_LE, BOM_UTF16_BE)
_MOST_PARTS = 10_000
"""A text of more documents is read as one, or not at all."""
_BEFORE_FOUR_BYTES = bytes(range(0xF0))
"""Bytes with which no letter of four begins. To take them out is ten times as quick as to look for others."""
_WIDE = "too large for text with letters beyond ASCII, which takes up to four times the memory"
_ABOUT_GPUS = re.compile(rb"nvidia|gpu|dcgm|kueue|karpenter", re.IGNORECASE)


def read(data: bytes, file: str, chart: str = "") -> FilesRead:
    """Everything in one file; of values also for which chart they are, where that is said elsewhere."""
    if file.endswith(LIST):
        return _list(data, file)
    if len(data) * _width(data) > MAX_BYTES * TIMES:
        return FilesRead((), (Unread(file, _WIDE),), (file,))
    data = as_utf8(data)
    if file.endswith(TERRAFORM):
        return read_modules({"": {file: data}}, named={file})
    if is_passed_over(data, _fits):
        return FilesRead((), (Unread(file, DEFINITIONS, foreign=True),), (file,))
    if chart and (found := _values_for(data, file, chart)) is not None:
        return FilesRead(tuple(found), (), (file,))
    unread: list[Unread] = []
    if b"CustomResourceDefinition" in data and data.count(b"\n---") < _MOST_PARTS:
        kept = [part for part in parts(data) if not is_definition(part[1])]
        found = [each for part in kept for each in _part(*part, file, unread)]
        if not kept:
            unread.append(Unread(file, DEFINITIONS, foreign=True))
    else:
        found = _documents(data, file, unread)
    return FilesRead(tuple(found), tuple(unread), (file,))


def _values_for(data: bytes, file: str, chart: str) -> list[Item] | None:
    """Values of a chart that is known; None where the file is something else."""
    try:
        documents = parse_documents(data, file, TIMES)
    except UsageError:
        return None
    if len(documents) != 1:
        return None
    (document,) = documents
    if not isinstance(document.value, Mapping) or "apiVersion" in document.value:
        return None
    found = values_for(document.value, FilePlace(file, document), chart)
    return [each for item in found for each in with_inside(item)]


def _width(data: bytes) -> int:
    """How many bytes a letter may take in memory, where one takes as many: one alone makes all so wide."""
    if data.isascii():
        return 1
    return 4 if data.translate(None, _BEFORE_FOUR_BYTES) else 2


def as_utf8(data: bytes) -> bytes:
    """Text as YAML is read: PowerShell writes UTF-16, and comments may be in the encoding of a country."""
    wide = data.startswith(_UTF16)
    if b":" not in data or data.isascii():  # nothing in it has a name, or it is as it should be
        return data
    try:
        text = data.decode("utf-16" if wide else "utf-8")
    except UnicodeDecodeError:
        return data if wide or b"\0" in data else data.decode(errors="replace").encode()
    return text.encode() if wide else data


def read_module(files: Mapping[str, bytes]) -> FilesRead:
    """Everything in the files of one module of Terraform, which is a folder."""
    return read_modules({"": files})


def read_modules(
    folders: Mapping[str, Mapping[str, bytes]],
    samples: Collection[str] = (),
    text_of: Callable[[str], str] = lambda _: "",
    named: Collection[str] = (),
) -> FilesRead:
    """Everything in the files of some, which may call each other; samples call nobody.

    Of those that are named themselves it is said what is wrong with their form.
    """
    from gpuyard.lint.languages.terraform_calls import Calls
    from gpuyard.lint.languages.terraform_files import read_terraform

    calls = Calls(folders, samples)
    read = [
        read_terraform(files, calls.given(folder), text_of, named)
        for folder, files in folders.items()
    ]
    return FilesRead(
        tuple(item for each in read for item in each.items),
        tuple(unread for each in read for unread in each.unread),
        tuple(file for each in read for file in each.files),
        handed=tuple(handed for each in read for handed in each.handed),
    )


def _documents(data: bytes, file: str, unread: list[Unread]) -> list[Item]:
    """Of the whole text; where that is no YAML, of each of its documents that is."""
    if (line := json_of_nobody(data, partial(_is_ours, file))) is not None:
        unread.append(_nobodys(file, line))
        return []
    try:
        documents = parse_documents(data, file, TIMES)
    except NoRoomError:
        unread.append(Unread(file, NO_ROOM))
        return []
    except UsageError as e:
        # a limit that was passed is not passed in parts
        of_form = isinstance(e.__context__, YAMLError) or template_line(data)
        few = of_form and data.count(b"\n---") < _MOST_PARTS
        split = lines_of_json(data) or parts(data) if few else []
        if not 1 < len(split) <= _MOST_PARTS:
            unread.append(_unreadable(data, file, str(e)))
            return []
        return [each for part in split for each in _part(*part, file, unread)]
    if not documents:
        unread.append(Unread(file, "empty: no document in it", foreign=True))
    return list(_found(documents, file, 0, unread))


def _part(before: int, data: bytes, file: str, unread: list[Unread]) -> Iterator[Item]:
    """Of one document of many, and whatever is wrong with it."""
    if (line := json_of_nobody(data, partial(_is_ours, file))) is not None:
        unread.append(_nobodys(file, before + line))
        return
    try:
        documents = parse_documents(data, file, TIMES)
    except UsageError as e:
        said = _unreadable(data, file, str(e))
        reason = _LINE.sub(lambda found: f"line {before + int(found[1])}", said.reason, count=1)
        unread.append(replace(said, line=before + said.line, reason=reason))
        return
    yield from _found(documents, file, before, unread)


def read_made(data: bytes, file: str, written_at: Callable[[int], int]) -> list[Item]:
    """What a program made of a file: each thing at the line that it comes from; the rest is nobody's."""
    try:
        documents = parse_documents(data, file, TIMES)
    except UsageError:
        return []
    made = [each for document in documents for each in _items(document, file, 0) or ()]
    return [replace(each, place=replace(each.place, written_at=written_at)) for each in made]


def _found(
    documents: Sequence[Document], file: str, before: int, unread: list[Unread]
) -> Iterator[Item]:
    for document in documents:
        items = _items(document, file, before)
        if items is None:
            unread.append(_unknown(document, file, before))
            continue
        yield from items
        for each in items:
            unread += left_inside(each)


def _list(data: bytes, file: str) -> FilesRead:
    """A list of counters as an exporter reads it; any other table is nobody's."""
    if len(data) > MAX_BYTES or COUNTERS.encode() not in (data := as_utf8(data)):
        return FilesRead()  # tables of data are large, and lists of counters are not
    place = FilePlace(file, Document(None, {}))
    found = tuple(counters(data.decode(errors="replace"), file.rpartition("/")[2], place))
    return FilesRead(found, (), (file,) if found else ())


def _items(document: Document, file: str, before: int) -> list[Item] | None:
    """What is in a document; None when it is nothing that is known here."""
    place = FilePlace(file, document, (), before)
    if is_kustomization(document.value, file) and not is_object(document.value):
        return [
            *with_inside(Item(Resource(KUSTOMIZATION, file, document.value, None, file), place))
        ]
    if is_argo_source(document.value, file):
        return [Item(Resource(OF_ARGO_SOURCE, file, document.value), place)]
    for _, fits, reader in READERS:
        if fits(document.value):
            return [each for item in reader(document.value, place) for each in with_inside(item)]
    return None


def _fits(value: Any) -> bool:
    return any(fits(value) for _, fits, _ in READERS)


def _is_ours(file: str, value: Any) -> bool:
    """Whether there is something to say of a document, be it only why it is not read."""
    known = _fits(value) or is_kustomization(value, file) or is_project(value)
    return known or platform_in(value) is not None


def template_line(data: bytes) -> int | None:
    """The line on which a template's own language begins; None when there is none of it."""
    match = _TEMPLATE.search(data)
    return data.count(b"\n", 0, match.start()) + 1 if match else None


def _unreadable(data: bytes, file: str, problem: str) -> Unread:
    if line := template_line(data):
        return Unread(file, A_TEMPLATE, line, template=True)
    json_file = file.endswith(".json")
    if json_file and _NOT_YAML in problem:
        problem = _json_problem(data) or problem
    found = _LINE.search(problem)
    line = int(found[1]) if found else 1
    at_line = b"".join(data.split(b"\n", line)[line - 1 : line])
    if not json_file and _TO_FILL_IN.search(at_line):
        return Unread(file, TO_FILL_IN, line, template=True)
    foreign = json_file and not _ABOUT_GPUS.search(data)
    return Unread(file, problem.removeprefix(f"{file}: "), line, foreign=foreign)


def _json_problem(data: bytes) -> str:
    """What is wrong with JSON as such; "" where that is not the matter."""
    try:
        json.loads(data)
    except json.JSONDecodeError as e:
        return f"not JSON: line {e.lineno}, column {e.colno}: {e.msg}"
    except (ValueError, RecursionError):  # bytes of no text, or very deep
        return ""
    return ""


def _unknown(document: Document, file: str, before: int) -> Unread:
    line = before + document.lines.get((), 1)
    if is_project(document.value):
        return Unread(file, PROJECT, line)
    if platform_in(document.value) is not None:
        own = "a stack file: `gpuyard check` proves it, and --stack takes its `policies`"
        return Unread(file, own, line)
    return _nobodys(file, line)


def _nobodys(file: str, line: int) -> Unread:
    kinds = ", ".join(name for name, _, _ in READERS)
    return Unread(file, f"nothing that is known here ({kinds})", line, foreign=True)
