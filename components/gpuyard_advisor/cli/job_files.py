"""Files with Kubernetes objects."""

import json
from pathlib import Path
from typing import Any

from gpuyard_advisor.workloads import objects_of
from gpuyard_core.errors import UsageError
from gpuyard_core.local_files import read_regular
from gpuyard_core.manifests.templates import WORKLOADS, unread_kind
from gpuyard_core.stack_files import STDIN, read_stdin_one_byte_past
from gpuyard_core.yaml_tree import MAX_BYTES, Document, parse_documents

MAX_DUMP_BYTES = 64 * 1024 * 1024
"""Maximum size of a cluster listing in JSON: about ten thousand pods."""
_SHOWN_KINDS = 6


def read_documents(name: str) -> tuple[str, list[Document]]:
    """The display name of the file, and its documents."""
    shown, data = read_job_file(name)
    return shown, parse_job_file(shown, data)


def read_job_file(name: str) -> tuple[str, bytes]:
    """The display name of the file, and its content."""
    return ("standard input" if name == STDIN else name), _read(name, MAX_BYTES)


def parse_job_file(shown: str, data: bytes) -> list[Document]:
    """The documents of a file; UsageError for a template."""
    try:
        return parse_documents(data, shown)
    except UsageError as problem:
        # imported here: only an invalid file needs the linter
        from gpuyard_lint.read import A_TEMPLATE, template_line

        if line := template_line(data):
            raise UsageError(f"{shown}: line {line}: {A_TEMPLATE}") from problem
        raise


def read_dump(name: str) -> tuple[str, list[Any]]:
    """The display name of the file, and its objects: YAML, or JSON of a cluster listing."""
    shown = "standard input" if name == STDIN else name
    data = _read(name, MAX_DUMP_BYTES)
    if not data.strip():
        raise UsageError(
            f"{shown}: empty. kubectl writes a List even when nothing runs: check whether it failed."
        )
    if len(data) <= MAX_BYTES or data.lstrip()[:1] not in {b"{", b"["}:
        return shown, objects_in(parse_documents(data, shown))
    if len(data) > MAX_DUMP_BYTES:
        raise UsageError(
            f"{shown} has more than {MAX_DUMP_BYTES // 1024**2} MiB. List fewer objects."
        )
    try:
        return shown, objects_of(json.loads(data), MAX_DUMP_BYTES)
    except (ValueError, RecursionError) as problem:
        raise UsageError(f"{shown} is not JSON: {problem}") from problem


def objects_in(documents: list[Document]) -> list[Any]:
    """The objects of all documents, with Lists expanded."""
    return [value for d in documents for value in objects_of(d.value)]


def _read(name: str, limit: int) -> bytes:
    if name != STDIN:
        if not name or "\0" in name:
            raise UsageError(
                "the file name is empty or invalid. Give a path, or - for standard input."
            )
        return read_regular(Path(name), limit, "a file with Kubernetes workloads, or -")
    return read_stdin_one_byte_past(limit)


def skipped_objects(values: list[Any]) -> list[str]:
    """For each unsupported kind that runs pods, what to do instead."""
    results = dict(filter(None, map(unread_kind, values)))
    return [f"kind {kind} is not supported: {instead}." for kind, instead in results.items()]


def no_workload_error(shown: str, values: list[Any]) -> str:
    """Message for a file without workloads."""
    kinds = dict.fromkeys(
        v["kind"] for v in values if isinstance(v, dict) and isinstance(v.get("kind"), str)
    )
    if not kinds:
        return f"{shown}: has no Kubernetes object: no document has a kind. Give the manifest of a job."
    if skipped := skipped_objects(values):
        return f"{shown}: " + " ".join(skipped)
    named = ", ".join(list(kinds)[:_SHOWN_KINDS])
    return f"{shown}: has no workload, only {named}. Supported kinds: {', '.join(WORKLOADS)}."
