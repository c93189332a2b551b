"""Runs a Pulumi program, with the interpreter that its project names: it imports no module of the test bed.

pulumi/pulumi, sdk/python/cmd/pulumi-language-python-exec is the model.
"""

import argparse
import asyncio
import importlib
import logging
import os
import runpy
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType

# The host's folder is first on the path; the program must not see its module names.
sys.path.pop(0)

SHOWN = 32  # the error has been shown: the engine adds nothing to it
MISSING_SDK = """
It looks like the Pulumi SDK has not been installed. Have you run pip install?
If you are running in a virtualenv, you must run pip install -r requirements.txt
from inside the virtualenv."""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run a Pulumi program")
    for name in ("project", "root_directory", "stack", "pwd", "monitor", "engine", "organization"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--dry_run", default="false")
    parser.add_argument("program")
    parser.add_argument("arguments", nargs="*")
    return parser.parse_args()


def _users_traceback(program: str) -> str:
    """The traceback from the user's first frame on."""
    frames = traceback.extract_tb(sys.exc_info()[2])
    folder = Path(program).resolve()
    for index, frame in enumerate(frames):
        if Path(frame.filename).resolve().is_relative_to(folder):
            return traceback.format_exc(limit=index - len(frames))
    return traceback.format_exc()


def _run(arguments: argparse.Namespace) -> int:
    import pulumi
    from pulumi.runtime import configure, run_in_stack, set_all_config
    from pulumi.runtime.config import get_config_env, get_config_secret_keys_env
    from pulumi.runtime.settings import Settings

    set_all_config(get_config_env(), get_config_secret_keys_env())
    settings = Settings(
        monitor=arguments.monitor,
        engine=arguments.engine,
        project=arguments.project,
        stack=arguments.stack,
        parallel=arguments.parallel,
        dry_run=arguments.dry_run == "true",
        organization=arguments.organization,
        root_directory=arguments.root_directory,
    )
    configure(settings)
    sys.argv = [arguments.program, *arguments.arguments]
    if arguments.pwd:
        os.chdir(arguments.pwd)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    executor = ThreadPoolExecutor(max_workers=max(arguments.parallel, 1) * 4)
    loop.set_default_executor(executor)
    # A failed program leaves futures that are never awaited; the user need not see that.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)

    def program() -> None:
        runpy.run_path(arguments.program, run_name="__main__")

    try:
        loop.run_until_complete(run_in_stack(program))
    except pulumi.RunError as error:
        pulumi.log.error(str(error))
        return 1
    except Exception:  # noqa: BLE001  any error of the user's program
        pulumi.log.error(
            f"Program failed with an unhandled exception:\n{_users_traceback(arguments.program)}"
        )
        return SHOWN
    finally:
        executor.shutdown(wait=True)
        loop.close()
    return 0


def _quietly(_number: int, _frame: FrameType | None) -> None:
    """The engine interrupts a program after a failure elsewhere; a traceback would hide that failure."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(SHOWN)


def main() -> int:
    """Run the program named on the command line."""
    import signal

    signal.signal(signal.SIGINT, _quietly)
    try:
        importlib.import_module("pulumi")
    except ImportError:
        print(traceback.format_exc(), MISSING_SDK, file=sys.stderr, sep="\n")
        return 1
    try:
        return _run(_arguments())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


sys.exit(main())
