"""The one way into the command line: whatever happens inside, an exit code and one sentence come out."""

import errno
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from gpuyard.cli.terminal.text import clean
from gpuyard.errors import EnvironmentLacks, GpuYardError

INTERRUPTED = 130
DEBUG = "GPUYARD_DEBUG"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; nothing is raised, whatever the input."""
    args = list(sys.argv[1:] if argv is None else argv)
    _tame_streams()
    try:
        code = _run(args)
        _flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except GpuYardError as e:
        code = _say(str(e), e.exit_code)
    except Exception as e:  # noqa: BLE001  the guard itself: no input may end in a traceback
        code = _unexpected(e)
    with suppress(OSError, ValueError):  # stderr has nobody left to tell
        sys.stderr.flush()
    return code


def _run(args: list[str]) -> int:
    from typer import Abort
    from typer.main import get_command

    from gpuyard.cli.app import build_app

    try:
        command = get_command(build_app(args))
        return int(command.main(args=args, prog_name="gpuyard", standalone_mode=False) or 0)
    except Abort:
        return INTERRUPTED
    except SystemExit as e:
        # typer ends so after --help into a pipe whose reader has left: nobody needs to know
        return 0 if type(sys.stdout).__name__ == "PacifyFlushWrapper" else _code(e)
    except Exception as e:
        if hasattr(
            e, "format_message"
        ):  # what typer raises for wrong usage, under any of its names
            return _wrong_usage(e)
        raise


def _code(end: SystemExit) -> int:
    return end.code if isinstance(end.code, int) else int(end.code is not None)


def _wrong_usage(error: Exception) -> int:
    message = str(getattr(error, "format_message", lambda: error)())
    context = getattr(error, "ctx", None)
    command = str(context.command_path) if context is not None else "gpuyard"
    if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help itself
        with suppress(OSError, ValueError):
            print(message, file=sys.stderr)  # noqa: T201
        return 2
    return _say(f"{message.rstrip()} See `{command} --help`.", 2)


def _unexpected(error: Exception) -> int:
    if os.environ.get(DEBUG):
        import traceback

        traceback.print_exception(error)
    if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EIO, errno.EDQUOT}:
        return _say(f"can't write: {error.strerror}", EnvironmentLacks.exit_code)
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return _say(
        f"a fault of ours, not of your input: {what}. {DEBUG}=1 shows where; please report it.", 1
    )


def _say(sentence: str, code: int) -> int:
    with suppress(OSError, ValueError):
        print(f"gpuyard: {clean(sentence)}", file=sys.stderr)  # noqa: T201
    return code


def _tame_streams() -> None:
    """A stream that is closed swallows; one that can't show a character shows its code instead."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115  open as long as the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        forget_stdout()
    except OSError:
        forget_stdout()
        raise


def forget_stdout() -> None:
    """Let stdout go nowhere from now on, so that the interpreter's last flush has nothing to complain of."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
