"""The Pulumi engine of this machine: an official one on PATH, or the one in `.testbed`.

The choice is made once, here, because two things follow from it: with an official engine nothing is
built, and gpuyard's stand-in plugins stay off PATH, since an official engine fetches the official ones.

The engine in `.testbed` is built, or is the program of its official release. Either way it is the pinned
version and runs with gpuyard's plugins: docs/decisions/0019-downloads-are-pinned.md has the reasons.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

OLDEST_PULUMI = (3, 255)


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine that is used on this machine."""

    path: Path
    source: str  # "official", or "built": in .testbed, compiled or downloaded

    @property
    def needs_our_plugins(self) -> bool:
        """Whether `testbed/plugins` must be on PATH."""
        return self.source == "built"


def official_pulumi(built_bin: Path, search: str | None = None) -> Path | None:
    """An official `pulumi` that is new enough; the test bed's on PATH is ignored."""
    folders = (search if search is not None else os.environ.get("PATH", "")).split(os.pathsep)
    ours = built_bin.resolve()
    others = [folder for folder in folders if folder and Path(folder).resolve() != ours]
    result = shutil.which("pulumi", path=os.pathsep.join(others)) if others else None
    return Path(result) if result and _version(result) >= OLDEST_PULUMI else None


def choose_engine(built_bin: Path, search: str | None = None) -> Engine:
    """The engine to use; a built one may not exist yet."""
    if official := official_pulumi(built_bin, search):
        return Engine(official, "official")
    return Engine(built_bin / "pulumi", "built")


def _version(program: str) -> tuple[int, int]:
    """Major and minor of a pulumi program; (0, 0) when it does not report them."""
    quiet = os.environ | {"PULUMI_SKIP_UPDATE_CHECK": "true"}
    try:
        message = subprocess.run(
            [program, "version"], env=quiet, capture_output=True, text=True, timeout=30, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return 0, 0
    match = re.match(r"v?(\d+)\.(\d+)", message.strip())
    return (int(match.group(1)), int(match.group(2))) if match else (0, 0)
