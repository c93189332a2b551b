"""Puts together what an image of the validator holds: a Python, what that needs of the system, the program.

    python3 assemble.py ROOT TREE...

ROOT becomes the root of an image that begins with nothing. Each TREE is copied into /opt/validator. A stage
of the Dockerfile runs it, and so does a test, which then starts the program in ROOT and measures it.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

LEFT_OUT = frozenset(
    [
        *("__pycache__", "distutils", "ensurepip", "idlelib", "lib2to3", "msilib", "pydoc_data"),
        *("site-packages", "sqlite3", "test", "tests", "tkinter", "turtledemo", "venv", "wsgiref"),
    ]
)
"""Folders of the standard library that no program of ours needs."""
LEFT_OUT_MODULES = (
    "_test",
    "_tkinter",
    "_ctypes_test",
    "_sqlite3",
    "_curses",
    "_gdbm",
    "_dbm",
    "readline",
    "xx",
    "nis.",
    "_crypt",
    "ossaudiodev",
)
BY_NAME = ("libdl.so.2", "libpthread.so.0", "librt.so.1", "libm.so.6")
"""NVIDIA's library is linked against these, whoever has mounted it."""
USERS = "root:x:0:0:root:/:/sbin/nologin\nnobody:x:65534:65534:nobody:/:/sbin/nologin\n"
PROGRAM = "opt/validator"


def main(words: list[str]) -> int:
    """Put it together, and say how large it is."""
    root, *trees = map(Path, words)
    assemble(root, trees)
    print(f"{size(root) / 1e6:.1f} MB in {root}")  # noqa: T201  a program of a build
    return 0


def assemble(root: Path, trees: Iterable[Path]) -> None:
    """All of it, below an empty folder."""
    interpreter = Path(sys.executable).resolve()
    library = Path(sysconfig.get_path("stdlib"))
    _copy(interpreter, root)
    shutil.copytree(library, _inside(root, library), ignore=_ignored)
    compiled = sorted(_inside(root, library).glob("lib-dynload/*.so"))
    for needed in sorted(set(_needed([interpreter, *compiled]))):
        _copy(needed, root)
    for folder in ("usr/local/bin", "tmp", "etc", PROGRAM):
        (root / folder).mkdir(parents=True, exist_ok=True)
    start = root / "usr/local/bin/python3"
    if not start.exists():
        start.symlink_to(interpreter)
    (root / "etc/passwd").write_text(USERS, encoding="utf-8")
    for tree in trees:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(tree, root / PROGRAM, dirs_exist_ok=True, ignore=ignored)
    for path in root.rglob("*"):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))


def size(root: Path) -> int:
    """Bytes of all files."""
    return sum(
        path.stat().st_size for path in root.rglob("*") if path.is_file() and not path.is_symlink()
    )


def _ignored(folder: str, names: list[str]) -> set[str]:
    found = {name for name in names if name in LEFT_OUT or name.startswith("config-3")}
    if Path(folder).name == "lib-dynload":
        found |= {name for name in names if name.startswith(LEFT_OUT_MODULES)}
    return found


def _needed(files: Iterable[Path]) -> Iterator[Path]:
    """Shared libraries, as the loader finds them, and those that NVIDIA's library wants."""
    paths = [str(path) for path in files]
    said = subprocess.run(["ldd", *paths], capture_output=True, text=True, check=False).stdout  # noqa: S603, S607
    found = {word for line in said.splitlines() for word in line.split() if word.startswith("/")}
    here = {Path(word.rstrip(":")) for word in found} - set(files)
    yield from (path for path in here if path.is_file())
    for folder in {path.parent for path in here}:
        yield from (folder / name for name in BY_NAME if (folder / name).is_file())


def _copy(path: Path, root: Path) -> None:
    """To the same place, as a file: what it is called is what is looked for."""
    to = _inside(root, path)
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(path, to)


def _inside(root: Path, path: Path) -> Path:
    return root / path.relative_to("/")


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main(sys.argv[1:]))
