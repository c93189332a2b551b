"""The command line of the linter: `gpuyard-lint`, and `gpuyard lint`."""

from collections.abc import Sequence
from typing import Any

from gpuyard_core.terminal.guard import new_app, run_program
from gpuyard_lint import PROGRAM_NAME


def main(argv: Sequence[str] | None = None) -> int:
    """Run the linter and return its exit code; never raises."""
    return run_program(PROGRAM_NAME, _build, argv)


def _build() -> Any:
    from typer.main import get_command

    from gpuyard_lint.cli.lint import lint

    app = new_app()
    app.command()(lint)
    return get_command(app)
