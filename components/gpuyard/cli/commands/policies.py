"""`gpuyard policies`: write the policy pack for `pulumi preview --policy-pack`."""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from gpuyard.cli.commands.about import installed_version
from gpuyard.cli.folder import write_folder
from gpuyard.cli.shipped import distribution_folder
from gpuyard.cli.views.findings import write_document
from gpuyard_core.terminal.console import results
from gpuyard_core.terminal.exit_codes import OK
from gpuyard_core.terminal.options import Format, FormatOption

_OWN = "venv"
_PROJECT = """\
name: gpuyard
description: GPU policies for Kubernetes platforms, the rules of `gpuyard lint`
runtime:
  name: python
  options:
    toolchain: pip
    virtualenv: {environment}
"""


def policies(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="Output folder: new, empty, or written by this command before.",
            show_default=False,
        ),
    ],
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Write the policy pack. It runs in this Python environment, or in its own."""
    # This virtual environment, if `gpuyard-lint[policy]` is installed in it.
    is_own = sys.prefix != sys.base_prefix and find_spec("pulumi_policy") is not None
    here = sys.prefix if is_own else None
    files = {
        file.name: file.read_text(encoding="utf-8")
        for file in distribution_folder("policies").glob("*.py")
    }
    files["PulumiPolicy.yaml"] = _PROJECT.format(environment=here or _OWN)
    files["requirements.txt"] = f"gpuyard-lint[policy]=={installed_version()}\n"
    written = write_folder(path, files, by="gpuyard policies", give="Give it")
    use = [f"pulumi preview --policy-pack {path}"]
    if here is None:
        own = path / _OWN
        install = f"{own}/bin/pip install -r {path / 'requirements.txt'}"
        use = [f"python3 -m venv {own}", install, *use]
    if format is Format.JSON:
        runs_in = here or str(path / _OWN)
        write_document("policies", out=str(path), files=written.files, environment=runs_in, use=use)
        return OK
    console = results()
    for name in written.files:
        console.print(str(path / name))
    console.print()
    once = "; run once, because pulumi-policy is not installed in this environment"
    console.print(f"next{'' if here else once}")
    for command in use:
        console.print(command, indent=2)
    return OK
