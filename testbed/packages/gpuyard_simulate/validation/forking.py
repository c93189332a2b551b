"""Run a program repeatedly, each time as a fork of this process: `python forking.py PACKAGE`.

Stdin has lines of JSON. The first has the files of the program, by path below a folder that is removed at
the end; without files, the installed version runs. Each further line requests a run, as `python -m PACKAGE`
in that folder, and is answered with its result. The imports of the main module are done once, and their
output goes to stderr. Nothing else is shared: at a fork no thread runs and no file of a run is open. The
process ends with its stdin. A pod with such a program has only Python, so this module needs no more.
"""

import ast
import gc
import importlib
import importlib.util
import json
import os
import runpy
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TextIO

PROGRAM = "program"
"""Below the folder: the program and its working directory."""


def main() -> None:
    """Import, then run the requests."""
    carried = json.loads(sys.stdin.readline() or "{}")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory(prefix="program-") as name, answers:
        folder = Path(name) if carried else Path.cwd()
        write(folder, carried)
        serve(sys.argv[1], folder, folder / PROGRAM if carried else folder, answers)


def serve(package: str, folder: Path, program: Path, answers: TextIO) -> None:
    """Run requests until stdin ends."""
    program.mkdir(exist_ok=True)
    os.chdir(program)
    sys.path[0] = str(program)
    prepare(package)
    for line in sys.stdin:
        request = json.loads(line)
        write(folder, request["files"])
        answers.write(f"{json.dumps(run(package, request['words']))}\n")
        answers.flush()


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write files by their paths below a folder."""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def prepare(package: str) -> None:
    """Import the modules of the main module; an import error is reported by each run."""
    try:
        for module in imports(package):
            importlib.import_module(module)
    except Exception:  # noqa: BLE001  a program may fail in any way
        return
    gc.freeze()  # objects of the parent are excluded from collection in the forks


def imports(package: str) -> list[str]:
    """The modules that the main module of a program imports at its top level."""
    result = importlib.util.find_spec(package)
    if result is not None and result.submodule_search_locations is not None:
        result = importlib.util.find_spec(f"{package}.__main__")
    if result is None or not result.has_location:
        return []
    body = ast.parse(Path(str(result.origin)).read_text(encoding="utf-8")).body
    plain = [each.name for node in body if isinstance(node, ast.Import) for each in node.names]
    return plain + [
        node.module for node in body if isinstance(node, ast.ImportFrom) and node.module
    ]


def run(package: str, words: Sequence[str]) -> dict[str, Any]:
    """Run a fork to its end: its exit code and output."""
    with tempfile.TemporaryFile() as log:
        copy = os.fork()
        if not copy:
            run_and_exit(package, words, log.fileno())
        _, status = os.waitpid(copy, 0)
        log.seek(0)
        output = log.read().decode(errors="replace")
    return {"code": os.waitstatus_to_exitcode(status), "output": output}


def run_and_exit(package: str, words: Sequence[str], log: int) -> NoReturn:
    """Run the program, and exit without the interpreter's finalization."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    for value, own in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(value, own)
    sys.argv[1:] = words
    code = 0
    try:
        runpy.run_module(package, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if not isinstance(end.code, int | None):
            sys.stderr.write(f"{end.code}\n")
    except BaseException as error:  # noqa: BLE001  as an interpreter does at its top
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
