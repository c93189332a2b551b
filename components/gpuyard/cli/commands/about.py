"""The version, and the schema of stack files."""

import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed

from gpuyard.cli.terminal.console import write
from gpuyard.cli.views.documents import as_json
from gpuyard.cli.views.findings import document


def show_version(*, as_document: bool) -> int:
    """`gpuyard 0.1.0`; as a document also the Python it runs on."""
    found = _installed()
    if as_document:
        write(as_json(document("version", gpuyard=found, python=platform.python_version())))
    else:
        write(f"gpuyard {found}\n")
    return 0


def _installed() -> str:
    try:
        return installed("gpuyard")
    except PackageNotFoundError:
        return "unknown (not installed, only on the path)"


def show_schema() -> int:
    """The schema as editors read it."""
    from gpuyard.spec.schema import stack_schema

    write(as_json(stack_schema()))
    return 0
