"""From the bytes of one file to what rules can look at. Pure: who opens files is the command line."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from gpuyard.catalogue.software.engine_files import is_preview, is_state
from gpuyard.errors import UsageError
from gpuyard.lint.charts import is_values, values_or_subcharts
from gpuyard.lint.embedded import counters, embedded, has_configuration
from gpuyard.lint.inside import with_inside
from gpuyard.lint.items import FilePlace, FilesRead, Item, Unread
from gpuyard.lint.kubernetes import is_object, objects
from gpuyard.lint.pulumi import preview_resources, state_resources
from gpuyard.lint.terraform import is_plan, plan_resources
from gpuyard.render.charts import is_release
from gpuyard.spec.read import platform_in
from gpuyard.spec.yaml_tree import Document, parse_documents

LIST = ".csv"
"""How names of lists of counters end."""
TIMES = 32
"""Files are read up to so many times the size of a stack file: 32 MiB."""
_TEMPLATE = re.compile(rb"\{\{-?\s*[^}]*\}\}|\{%-?\s")

Reader = Callable[[Any, FilePlace], Iterator[Item]]
"""Finds resources of one sort in a document; yields nothing when the document is of another sort."""


def _nothing(_: Any, __: FilePlace) -> Iterator[Item]:
    """What is known, and holds nothing that a rule looks at: values of a release are beside it."""
    return iter(())


READERS: tuple[tuple[str, Callable[[Any], bool], Reader], ...] = (
    ("a Kubernetes object", is_object, objects),
    ("a Pulumi preview", is_preview, preview_resources),
    ("a Pulumi state", is_state, state_resources),
    ("a Terraform plan", is_plan, plan_resources),
    ("values of a chart", is_values, values_or_subcharts),
    ("a configuration", has_configuration, embedded),
    ("a release of `gpuyard render`", is_release, _nothing),
)
"""What a document can be, in the order in which it is tried: a name, a test, the reader."""


A_TEMPLATE = "a template, not YAML yet: render it first (helm template, kustomize build)"


def read(data: bytes, file: str) -> FilesRead:
    """Everything in one file."""
    if file.endswith(LIST):
        return _list(data, file)
    try:
        documents = parse_documents(data, file, TIMES)
    except UsageError as e:
        return FilesRead((), (_unreadable(data, file, str(e)),), (file,))
    if not documents:
        return FilesRead((), (Unread(file, "empty: no document in it"),), (file,))
    items: list[Item] = []
    unread: list[Unread] = []
    for document in documents:
        found = _items(document, file)
        if found is None:
            unread.append(_unknown(document, file))
        else:
            items += found
    return FilesRead(tuple(items), tuple(unread), (file,))


def _list(data: bytes, file: str) -> FilesRead:
    """A list of counters as an exporter reads it; any other table is nobody's."""
    place = FilePlace(file, Document(None, {}))
    found = tuple(counters(data.decode(errors="replace"), file.rpartition("/")[2], place))
    return FilesRead(found, (), (file,) if found else ())


def _items(document: Document, file: str) -> list[Item] | None:
    """What is in a document; None when it is nothing that is known here."""
    place = FilePlace(file, document)
    for _, fits, reader in READERS:
        if fits(document.value):
            return [each for item in reader(document.value, place) for each in with_inside(item)]
    return None


def template_line(data: bytes) -> int | None:
    """The line on which a template's own language begins; None when there is none of it."""
    match = _TEMPLATE.search(data)
    return data.count(b"\n", 0, match.start()) + 1 if match else None


def _unreadable(data: bytes, file: str, problem: str) -> Unread:
    if line := template_line(data):
        return Unread(file, A_TEMPLATE, line, template=True)
    found = re.search(r"line (\d+)", problem)
    return Unread(file, problem.removeprefix(f"{file}: "), int(found[1]) if found else 1)


def _unknown(document: Document, file: str) -> Unread:
    line = document.lines.get((), 1)
    if platform_in(document.value) is not None:
        own = "a stack file: `gpuyard check` proves it, and --stack takes its `policies`"
        return Unread(file, own, line)
    kinds = ", ".join(name for name, _, _ in READERS)
    return Unread(file, f"nothing that is known here ({kinds})", line)
