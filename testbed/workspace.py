"""The git-ignored folder the tools are built into, its lock and its stamps.

.testbed/
  bin/          finished programs only; a file appears here by rename, so it is always complete
  share/        files of the same modules that running needs (CRDs, webhook manifests)
  stamps/       one per tool: its sources
  partial/      what a build in progress writes; emptied at the next start
  go/           the Go toolchain, only where the machine has none
  tools.json    tool → path and whether it is built, downloaded, or an official one on PATH
  build.lock    held while building, names the process
"""

import contextlib
import fcntl
import json
import os
import shutil
import sys
import time
from collections.abc import Generator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from testbed.families import Family, Tool


class Lacks(Exception):
    """The machine lacks something; the message is one sentence for the user. Exit code 4."""

    exit_code = 4


@dataclass(frozen=True, slots=True)
class Stamp:
    """Sources of a tool; equal stamps mean an equal program. Without a `go` it was downloaded."""

    inputs: str
    go: str
    size: int


@dataclass(frozen=True, slots=True)
class Workspace:
    """Paths inside one `.testbed` folder."""

    folder: Path

    @property
    def bin(self) -> Path:
        """Finished programs."""
        return self.folder / "bin"

    @property
    def share(self) -> Path:
        """Files needed at run time, copied from the same modules."""
        return self.folder / "share"

    @property
    def partial(self) -> Path:
        """Output of a build in progress."""
        return self.folder / "partial"

    def prepare(self) -> None:
        """Create the folders; call with the lock held, because it removes the output of an aborted build."""
        shutil.rmtree(self.partial, ignore_errors=True)
        for folder in (self.bin, self.share, self.partial, self.folder / "stamps"):
            folder.mkdir(parents=True, exist_ok=True)

    def stamp_path(self, name: str) -> Path:
        """Path of a tool's stamp."""
        return self.folder / "stamps" / f"{name}.json"

    def read_stamp(self, name: str) -> Stamp | None:
        """The stamp of a tool, or None without a readable one."""
        try:
            return Stamp(**json.loads(self.stamp_path(name).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def write_stamp(self, name: str, stamp: Stamp) -> None:
        """Record the sources of a tool."""
        write_whole(self.stamp_path(name), json.dumps(asdict(stamp)) + "\n")

    def come_by(self, tool: Tool) -> str:
        """How a program was installed: "release" or "built"."""
        stamp = self.read_stamp(tool.name)
        return "release" if stamp and not stamp.go else "built"

    def is_fresh(self, tool: Tool, inputs: str, go: str | None) -> bool:
        """Whether the program exists and was made from these inputs.

        `go` None means that this machine has no Go: a program built with another one still runs.
        """
        stamp = self.read_stamp(tool.name)
        path = self.bin / tool.name
        return (
            stamp is not None
            and stamp.inputs == inputs
            and (go is None or stamp.go == go)
            and path.is_file()
            and path.stat().st_size == stamp.size
        )


def inputs_of(family: Family) -> str:
    """A digest of everything in the repository that determines the tools of a family."""
    digest = sha256()
    for file in (
        family.folder / "go.mod",
        family.folder / "go.sum",
        *sorted(family.folder.glob("*/*.go")),
    ):
        digest.update(file.read_bytes())
    digest.update("\0".join(family.install_flags()).encode())
    return digest.hexdigest()


def write_whole(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old text or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    other = path.with_name(f".{path.name}.{os.getpid()}")
    other.write_text(text, encoding="utf-8")
    other.replace(path)


@contextlib.contextmanager
def only_one(folder: Path) -> Generator[None]:
    """Hold the build lock; while another run holds it, name that run and wait.

    Waiting is right because the other run builds the same tools: `make up` in two shells succeeds
    in both.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "build.lock").open("a+", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.seek(0)
            holder = handle.read().strip() or "another run"
            print(f"Waiting: {holder} is building into {folder}.", file=sys.stderr, flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        handle.seek(0)
        handle.truncate()
        handle.write(f"process {os.getpid()} (since {time.strftime('%H:%M:%S')})\n")
        handle.flush()
        yield
        handle.truncate(0)


def check_disk(places: Sequence[Path], families: Sequence[Family]) -> None:
    """Fail early if the build would fill the disk."""
    needed = sum(family.disk_gib for family in families)
    folder, free = min(((place, _free_gib(place)) for place in places), key=lambda pair: pair[1])
    if free < needed:
        names = " and ".join(family.name for family in families)
        raise Lacks(
            f"Not enough disk space to build {names}: {free:.1f} GiB free at {folder},"
            f" about {needed:.0f} GiB needed; free some and run the same command again."
        )


def _free_gib(place: Path) -> float:
    """Free space where a folder is or will be."""
    while not place.exists():
        place = place.parent
    return shutil.disk_usage(place).free / 2**30
