"""The command line of gpuyard; `gpuyard --help` lists the commands.

Results go to stdout, everything else to stderr. Every command takes `--format text|json`; a JSON
document is one object with

    version    1; raised when a key changes its meaning or is removed, not when keys are added
    command    the command that wrote it
    findings   a list, most severe first; each has
               id, severity (error, warning, info), path (list), where (text), file, line (or null),
               problem, given, allowed, fix (null, or {says, at, value}; at null: it cannot be applied automatically)

and the keys of the command: `stack` and `counts` (check, plan, cost, get), `plan`, `cost`,
`value`, `gpu` with `profiles`, `layout` or the counts (mig), `files` and `removed` (render), `verdict` and
`checks` (validate). Money is in US dollars; an unknown price is null. A run that ends with exit code 2 or 4
writes no document.

Exit codes: 0 ok, 1 internal error, 2 wrong usage or an unreadable file, 3 findings at or above
`--fail-on`, 4 a missing tool or cluster, 8 failed hardware validation, 130 interrupted.
"""

from collections.abc import Sequence
from typing import Any

from gpuyard_core.terminal.guard import run_program


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; never raises."""
    return run_program("gpuyard", _build, argv)


def _build() -> Any:
    from gpuyard.cli.app import build_app

    return build_app()
