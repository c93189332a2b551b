"""Entry point of a command line: every outcome becomes an exit code and one message."""

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from gpuyard_core.errors import GpuYardError
from gpuyard_core.local_files import DISK_FULL
from gpuyard_core.terminal.exit_codes import (
    ENVIRONMENT_MISSING,
    INTERNAL_ERROR,
    INTERRUPTED,
    OK,
    USAGE,
)
from gpuyard_core.terminal.streams import configure_streams, discard_stdout, flush_stdout
from gpuyard_core.terminal.text import clean

if TYPE_CHECKING:
    from typer import Typer

DEBUG = "GPUYARD_DEBUG"
PROGRAM = ContextVar("PROGRAM", default="gpuyard")
"""The name of the program that runs."""


def run_program(program: str, build: Callable[[], Any], argv: Sequence[str] | None = None) -> int:
    """Run one command of the command line that `build` returns, and return its exit code; never raises."""
    args = list(sys.argv[1:] if argv is None else argv)
    PROGRAM.set(program)
    configure_streams()
    try:
        code = _run(build, args)
        flush_stdout()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except GpuYardError as e:
        code = _say(str(e), e.exit_code)
    except Exception as e:  # noqa: BLE001  the guard itself: no input may end in a traceback
        code = _unexpected(e)
    with suppress(OSError, ValueError):  # stderr may be closed
        sys.stderr.flush()
    return code


def new_app(**options: Any) -> "Typer":
    """A command line or a group of commands, without commands."""
    from typer import Typer

    return Typer(
        rich_markup_mode=None,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        **options,
    )


def _run(build: Callable[[], Any], args: list[str]) -> int:
    from typer import Abort

    try:
        return int(build().main(args=args, prog_name=PROGRAM.get(), standalone_mode=False) or OK)
    except Abort:
        return INTERRUPTED
    except SystemExit as e:
        # typer exits so after --help into a closed pipe: not an error
        return 0 if type(sys.stdout).__name__ == "PacifyFlushWrapper" else _code(e)
    except Exception as e:
        if hasattr(e, "format_message"):  # typer's errors for wrong usage, under any name
            return _wrong_usage(e)
        raise


def _code(end: SystemExit) -> int:
    return end.code if isinstance(end.code, int) else int(end.code is not None)


def _wrong_usage(error: Exception) -> int:
    message = str(getattr(error, "format_message", lambda: error)())
    context = getattr(error, "ctx", None)
    command = str(context.command_path) if context is not None else PROGRAM.get()
    if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help text
        with suppress(OSError, ValueError):
            print(message, file=sys.stderr)  # noqa: T201
        return USAGE
    text = message.rstrip()
    end = "" if text.endswith((".", "?", "!")) else "."
    return _say(f"{text}{end} See `{command} --help`.", USAGE)


def _unexpected(error: Exception) -> int:
    if os.environ.get(DEBUG):
        import traceback

        traceback.print_exception(error)
    if isinstance(error, OSError) and error.errno in DISK_FULL:
        discard_stdout()
        return _say(f"can't write: {error.strerror}", ENVIRONMENT_MISSING)
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return _say(
        f"internal error: {what}. {DEBUG}=1 shows where; please report it.",
        INTERNAL_ERROR,
    )


def _say(sentence: str, code: int) -> int:
    with suppress(OSError, ValueError):
        print(f"{PROGRAM.get()}: {clean(sentence)}", file=sys.stderr)  # noqa: T201
    return code
