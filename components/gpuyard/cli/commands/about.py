"""The version, and the schema of stack files."""

import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed

from gpuyard.cli.exit_codes import FINE
from gpuyard.cli.options import Format, FormatOption
from gpuyard.cli.terminal.console import write
from gpuyard.cli.views.documents import as_json
from gpuyard.cli.views.findings import document


def version(format: FormatOption = Format.TEXT) -> int:  # noqa: A002  the option's name
    """Show the version."""
    show_version(as_document=format is Format.JSON)
    return FINE


def show_version(*, as_document: bool) -> None:
    """`gpuyard 0.1.0`; as a document also the Python it runs on."""
    found = installed_version()
    if as_document:
        write(as_json(document("version", gpuyard=found, python=platform.python_version())))
    else:
        write(f"gpuyard {found}\n")


def installed_version() -> str:
    """The release that is installed."""
    try:
        return installed("gpuyard")
    except PackageNotFoundError:
        return "unknown (not installed, only on the path)"


def schema() -> int:
    """Print the JSON Schema of stack files."""
    from gpuyard.spec.schema import stack_schema

    write(as_json(stack_schema()))
    return FINE
