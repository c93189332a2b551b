"""`python -m gpuyard_simulate`: the simulated cluster from the command line."""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, TypeVar

import typer

from gpuyard_core.errors import GpuYardError
from gpuyard_core.terminal.exit_codes import ENVIRONMENT_MISSING
from gpuyard_core.terminal.guard import new_app
from gpuyard_core.terminal.options import Format
from gpuyard_simulate import Outcome, Status
from gpuyard_simulate import down as sim_down
from gpuyard_simulate import every_status as sim_every_status
from gpuyard_simulate import reset as sim_reset
from gpuyard_simulate import status as sim_status
from gpuyard_simulate import up as sim_up

_T = TypeVar("_T")


app = new_app(
    help="Manage the simulated cluster: a real control plane and real Kueue with fake GPU nodes.",
    no_args_is_help=True,
)
ClusterName = Annotated[
    str, typer.Option("--name", help="Name of the cluster. Several can run at the same time.")
]
OutputFormat = Annotated[Format, typer.Option("--format", help="Output format.")]


@app.command()
def up(name: ClusterName = "local", form: OutputFormat = Format.TEXT) -> None:
    """Start the cluster, or restart its failed parts."""
    _show(_run(lambda: sim_up(name, _say)), form)


@app.command()
def reset(name: ClusterName = "local", form: OutputFormat = Format.TEXT) -> None:
    """Empty the cluster; its address and kubeconfig stay."""
    _show(_run(lambda: sim_reset(name, _say)), form)


@app.command()
def down(name: ClusterName = "local", form: OutputFormat = Format.TEXT) -> None:
    """Stop the cluster and remove everything it wrote."""
    existed = _run(lambda: sim_down(name))
    if form is Format.JSON:
        _write(json.dumps({"name": name, "removed": existed}))
    else:
        _write(f"cluster {name} is deleted" if existed else f"there is no cluster {name}")


@app.command()
def status(
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            help="Name of the cluster. Default: local, with one line for each other cluster.",
            show_default=False,
        ),
    ] = None,
    form: OutputFormat = Format.TEXT,
) -> None:
    """Show the state of each part. Exits with code 4 when the cluster is not ready."""
    result = _run(lambda: sim_status(name or "local"))
    others = [] if name else [each for each in sim_every_status() if each.name != result.name]
    if form is Format.JSON:
        listed = {} if name else {"others": [each.as_json() for each in others]}
        _write(json.dumps({**result.as_json(), **listed}, indent=2))
    else:
        _write(status_text(result))
        for each in others:
            _write(status_text(each).splitlines()[0])
    if not result.ready:
        raise typer.Exit(ENVIRONMENT_MISSING)


def status_text(result: Status) -> str:
    """The status as text."""
    lines = [
        f"cluster {result.name}: {'ready' if result.ready else 'not ready'}, {result.rss_mib} MiB"
    ]
    if result.checkout:
        lines.append(f"  deployed by `make up` in {result.checkout}")
    for part in result.parts:
        facts = [f"{part.name:<24} {part.state}"]
        if part.alive:
            facts.append(f"pid {part.pid}, {part.rss_mib} MiB")
            facts.append(f"port {part.port}" if part.port else "")
        elif part.alive is False and part.pid:
            facts.append(f"log {part.log}")
        lines.append("  " + ", ".join(fact for fact in facts if fact))
    if result.ready:
        lines.append(f"  export KUBECONFIG={result.kubeconfig}")
    elif all(part.pid is None for part in result.parts):
        lines = [
            f"cluster {result.name}: not running; `python -m gpuyard_simulate up --name {result.name}` starts it"
        ]
    else:
        lines.append(f"  `python -m gpuyard_simulate up --name {result.name}` repairs it")
    return "\n".join(lines)


def _show(outcome: Outcome, form: Format) -> None:
    if form is Format.JSON:
        _write(json.dumps({**asdict(outcome), "status": outcome.status.as_json()}, indent=2))
    else:
        _write(outcome.says)
        _write(status_text(outcome.status))


def _run(action: Callable[[], _T]) -> _T:
    """Print the message of a GPU Yard error and exit with its code."""
    try:
        return action()
    except GpuYardError as problem:
        _say(f"gpuyard_simulate: {problem}")
        raise typer.Exit(problem.exit_code) from None


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    app(prog_name="python -m gpuyard_simulate")
