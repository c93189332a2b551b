"""The commands of `gpuyard` by name. Each is a module that is imported when the command runs.

`gpuyard mig` does not load the models of the stack file, `gpuyard --help` loads no command, and no command
loads Pulumi.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from gpuyard_core.errors import EnvironmentMissing
from gpuyard_core.terminal.guard import new_app
from gpuyard_core.terminal.options import COMPLETE_VARIABLE

_HELP = """Validate and deploy a GPU platform on Kubernetes from one typed stack file.

Exit codes: 0 ok, 1 internal error, 2 wrong usage or an unreadable file, 3 findings at or above --fail-on,
4 a missing tool or cluster, 8 failed hardware validation, 130 interrupted.
"""


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """A command in the list of commands."""

    summary: str
    """The first sentence of the command's help."""
    module: str = ""
    """Module below `cli.commands` of the package; default: the name of the command. `lint` is the linter's."""
    package: str = "gpuyard"
    """The package with the command. Commands of a package that is not installed are not listed."""

    @property
    def is_installed(self) -> bool:
        """Whether the package of the command is installed."""
        return self.package == "gpuyard" or find_spec(self.package) is not None


ADVISOR = "gpuyard_advisor"

COMMANDS: Mapping[str, CommandEntry] = {
    "init": CommandEntry("Write a Pulumi project with one stack."),
    "check": CommandEntry("Validate a stack file."),
    "plan": CommandEntry("Show the derived platform."),
    "cost": CommandEntry("Show the cost of a stack."),
    "forecast": CommandEntry("Forecast the next seven days of each pool.", package=ADVISOR),
    "metrics": CommandEntry("Print the recording rules and alerts of a stack."),
    "report": CommandEntry("Write a stack as one HTML page.", package=ADVISOR),
    "top": CommandEntry("Show pools, teams, queues and idle GPUs now.", package=ADVISOR),
    "statement": CommandEntry("Show the cost of a month by team.", package=ADVISOR),
    "rightsize": CommandEntry("Show workloads that fit a smaller slice.", package=ADVISOR),
    "advise": CommandEntry("Advise on sharing mode, machines, capacity and cost.", package=ADVISOR),
    "offers": CommandEntry("Rank the machines that fit a request.", package=ADVISOR),
    "mig": CommandEntry("Show MIG profiles, or validate a layout."),
    "classify": CommandEntry("Classify a job.", package=ADVISOR),
    "whatif": CommandEntry("Replay a trace of jobs on a stack.", package=ADVISOR),
    "explain": CommandEntry("Explain whether a job would start.", package=ADVISOR),
    "job": CommandEntry("Write the manifest of a job, or check one.", package=ADVISOR),
    "lint": CommandEntry("Check files against the GPU rules."),
    "why": CommandEntry("Show the documentation of a finding or a rule."),
    "policies": CommandEntry("Write the policy pack."),
    "render": CommandEntry("Write plain Kubernetes manifests."),
    "images": CommandEntry("List every image and chart that a stack pulls.", "deploying.images"),
    "get": CommandEntry("Print one value of the plan."),
    "schema": CommandEntry("Print the JSON Schema of stack files.", "about"),
    "completion": CommandEntry("Print the completion script of a shell.", "about"),
    "version": CommandEntry("Show the version.", "about"),
    "pack": CommandEntry("Compute the minimum hardware for a demand.", package=ADVISOR),
    "permissions": CommandEntry(
        "Print the least privileges that deploy a stack.", "deploying.permissions"
    ),
    "adopt": CommandEntry("Import an existing cluster into a stack.", "deploying.adopt"),
    "recover": CommandEntry(
        "Repair a stack after an interrupted `pulumi up`.", "deploying.recover"
    ),
    "validate": CommandEntry("Validate this machine's GPUs.", "deploying.validate"),
    "readiness": CommandEntry("Assess production readiness.", package=ADVISOR),
}
"""In the order in which `gpuyard --help` lists them."""


def build_app() -> Any:
    """Build the command line without loading a command."""
    app = new_app(cls=_Commands, help=_HELP, no_args_is_help=True)
    app.callback()(_root)
    if COMPLETE_VARIABLE in os.environ:
        from typer._completion_classes import completion_init

        completion_init()
    return get_command(app)


def load(name: str) -> Any:
    """Load a command from its module: a function with its name, or an `app` with subcommands."""
    if name == "lint":
        module = import_module("gpuyard_lint.cli.lint")
    else:
        entry = COMMANDS[name]
        where = entry.module or name
        if entry.package == ADVISOR:
            module = import_module(f"gpuyard_advisor.cli.commands.{where}")
        else:
            module = import_module(f"gpuyard.cli.commands.{where}")
    holder = new_app()
    holder.callback()(lambda: None)
    if hasattr(module, "app"):
        holder.add_typer(module.app, name=name)
    else:
        holder.command(name)(getattr(module, name))
    return get_group(holder).commands[name]


class _Commands(TyperGroup):
    """Commands by name and summary; a command is loaded when it runs or is completed."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        for name, listed in COMMANDS.items():
            if listed.is_installed:
                self.add_command(TyperCommand(name, help=listed.summary))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        known = COMMANDS.get(args[0]) if args else None
        if known and not known.is_installed:
            extra = known.package.removeprefix("gpuyard_")
            raise EnvironmentMissing(
                f"gpuyard {args[0]} is in the package gpuyard-{extra}, which is not installed:"
                f" pip install 'gpuyard[{extra}]'"
            )
        name, result, rest = super().resolve_command(ctx, args)
        return name, result and load(str(name)), rest


def _show_version(is_requested: bool) -> None:
    if is_requested:
        from gpuyard.cli.commands.about import show_version

        show_version(as_document=False)
        raise typer.Exit


def _root(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", callback=_show_version, is_eager=True
        ),
    ] = False,
) -> None:
    pass
