"""Files with Kubernetes objects, and what is in them."""

import json
from pathlib import Path
from typing import Any

from gpuyard.cli.stacks import STDIN, read_stdin
from gpuyard.errors import UsageError
from gpuyard.local_files import read_regular
from gpuyard.manifests.templates import WORKLOADS, unread_kind
from gpuyard.manifests.workloads import objects_of
from gpuyard.spec.yaml_tree import MAX_BYTES, Document, parse_documents

MAX_DUMP_BYTES = 64 * 1024 * 1024
"""Of what a cluster said about itself, in JSON: some ten thousand pods."""
_SHOWN_KINDS = 6


def read_documents(name: str) -> tuple[str, list[Document]]:
    """What to call the file, and its documents."""
    shown = "standard input" if name == STDIN else name
    data = _read(name, MAX_BYTES)
    try:
        return shown, parse_documents(data, shown)
    except UsageError as problem:
        # only now: who is right needs no linter
        from gpuyard.lint.read import A_TEMPLATE, template_line

        if line := template_line(data):
            raise UsageError(f"{shown}: line {line}: {A_TEMPLATE}") from problem
        raise


def read_dump(name: str) -> tuple[str, list[Any]]:
    """What to call the file, and its objects: YAML, or JSON of any size that a cluster gives."""
    shown = "standard input" if name == STDIN else name
    data = _read(name, MAX_DUMP_BYTES)
    if not data.strip():
        raise UsageError(
            f"{shown}: empty, and kubectl writes a List even where nothing runs. Did it fail?"
        )
    if len(data) <= MAX_BYTES or data.lstrip()[:1] not in {b"{", b"["}:
        return shown, objects_in(parse_documents(data, shown))
    if len(data) > MAX_DUMP_BYTES:
        raise UsageError(
            f"{shown} has more than {MAX_DUMP_BYTES // 1024**2} MiB. Ask for fewer objects."
        )
    try:
        return shown, objects_of(json.loads(data), MAX_DUMP_BYTES)
    except (ValueError, RecursionError) as problem:
        raise UsageError(f"{shown} is not JSON: {problem}") from problem


def objects_in(documents: list[Document]) -> list[Any]:
    """The objects of all documents, Lists taken apart."""
    return [value for d in documents for value in objects_of(d.value)]


def _read(name: str, limit: int) -> bytes:
    if name != STDIN:
        if not name or "\0" in name:
            raise UsageError(
                "an empty or impossible name is no file. Give a path, or - for standard input."
            )
        return read_regular(Path(name), limit, "a file with Kubernetes workloads, or -")
    return read_stdin(limit)


def skipped_objects(values: list[Any]) -> list[str]:
    """Of each kind that runs pods and is not read, what to do instead."""
    results = dict(filter(None, map(unread_kind, values)))
    return [f"a {kind} is not read: {instead}." for kind, instead in results.items()]


def no_workload_error(shown: str, values: list[Any]) -> str:
    """What a file without workloads has instead."""
    kinds = dict.fromkeys(
        v["kind"] for v in values if isinstance(v, dict) and isinstance(v.get("kind"), str)
    )
    if not kinds:
        return (
            f"{shown}: no Kubernetes object is in it: nothing has a kind. Give a manifest of a job."
        )
    if skipped := skipped_objects(values):
        return f"{shown}: " + " ".join(skipped)
    named = ", ".join(list(kinds)[:_SHOWN_KINDS])
    return f"{shown}: no workload is in it, only {named}. These are read: {', '.join(WORKLOADS)}."
