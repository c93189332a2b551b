"""Run a program again and again, each time as a copy of this process: `python forking.py PACKAGE`.

What comes on stdin are lines of JSON. The first are the files that the program is carried in, by path below
a folder that goes when this ends; without any it is what is installed. Each line that follows asks for a run,
as `python -m PACKAGE` in that folder, and is answered by how it ended. What the main module imports is
imported once, and what is said meanwhile goes to stderr; nothing else is shared: no thread runs and no file
of a run is open when a copy is made. This ends when its stdin does. Who carries a program has Python and
nothing else, so this needs no more.
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
"""Below the folder: where the program is, and runs."""


def main() -> None:
    """Import, then run what is asked for."""
    carried = json.loads(sys.stdin.readline() or "{}")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory(prefix="program-") as name, answers:
        folder = Path(name) if carried else Path.cwd()
        write(folder, carried)
        serve(sys.argv[1], folder, folder / PROGRAM if carried else folder, answers)


def serve(package: str, folder: Path, program: Path, answers: TextIO) -> None:
    """What is asked for, until nobody does."""
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
    """Files by their paths in a folder."""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def prepare(package: str) -> None:
    """Import what the main module does; what cannot be imported is for each run to say."""
    try:
        for module in imports(package):
            importlib.import_module(module)
    except Exception:  # noqa: BLE001  a program may fail in any way
        return
    gc.freeze()  # copies need not look through what they all have


def imports(package: str) -> list[str]:
    """The modules that the main module of a program names at its top."""
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
    """A copy to its end: its exit code, and what it has said."""
    with tempfile.TemporaryFile() as log:
        copy = os.fork()
        if not copy:
            become(package, words, log.fileno())
        _, status = os.waitpid(copy, 0)
        log.seek(0)
        output = log.read().decode(errors="replace")
    return {"code": os.waitstatus_to_exitcode(status), "output": output}


def become(package: str, words: Sequence[str], log: int) -> NoReturn:
    """Be the program, and end as an interpreter does, but for taking itself apart."""
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
