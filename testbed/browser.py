"""Chromium without a window, from Debian's packages, unpacked into `.testbed/chromium`: nothing is installed.

    python3 testbed/browser.py

A `chromium-headless-shell` or `chromium` on PATH is used instead. The packages come through apt, which verifies them.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".testbed" / "chromium"
_PROGRAM = Path("usr/lib/chromium/chromium-headless-shell")
_ON_PATH = ("chromium-headless-shell", "chromium", "google-chrome")
_PACKAGES = ("chromium-headless-shell", "chromium-common")
_ONLY = ("icudtl.dat", "v8_context_snapshot.bin", "snapshot_blob.bin")
"""What is used of `chromium-common`, the second package: the tables of Unicode and the snapshots of V8."""


def browser() -> tuple[list[str], dict[str, str]] | None:
    """The command and the environment of a browser on this machine; None if there is none."""
    if program := next(filter(None, map(shutil.which, _ON_PATH)), None):
        return [program], dict(os.environ)
    if not (FOLDER / _PROGRAM).exists():
        return None
    libraries = FOLDER.glob("usr/lib/*-linux-gnu*")
    folders = [str(path) for each in libraries for path in (each, each / "pulseaudio")]
    return [str(FOLDER / _PROGRAM)], {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(folders)}


def install(into: Path = FOLDER) -> None:
    """Download and unpack the packages, with the libraries that this machine lacks."""
    with tempfile.TemporaryDirectory(dir=into.parent) as folder:
        work = Path(folder)
        unpacked = work / "root"
        _download(work, _PACKAGES)
        for package in work.glob("chromium-headless-shell_*.deb"):
            _unpack(package, unpacked)
        for package in work.glob("chromium-common_*.deb"):
            _unpack(package, work / "common")
        for name in _ONLY:
            shutil.copy(work / "common" / _PROGRAM.parent / name, unpacked / _PROGRAM.parent / name)
        _download(work, _libraries())
        for package in work.glob("lib*.deb"):
            _unpack(package, unpacked)
        shutil.rmtree(into, ignore_errors=True)
        unpacked.rename(into)


def _libraries() -> list[str]:
    """The libraries that the browser needs, directly and indirectly, and that are not installed."""
    command = ["apt-cache", "depends", "--recurse", "--no-recommends", "--no-suggests",
               "--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances", _PACKAGES[0]]  # fmt: skip
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = {line for line in listed.splitlines() if line[:1].isalpha() and line.startswith("lib")}
    query = ["dpkg-query", "-W", "-f", "${Package}\n"]
    installed = subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()
    return sorted(names - set(installed))


def _download(folder: Path, packages: "list[str] | tuple[str, ...]") -> None:
    if packages:
        subprocess.run(["apt-get", "download", "-q", *packages], cwd=folder, check=True)  # noqa: S607


def _unpack(package: Path, into: Path) -> None:
    subprocess.run(["dpkg", "-x", str(package), str(into)], check=True)  # noqa: S607


if __name__ == "__main__":
    if browser() is None:
        FOLDER.parent.mkdir(exist_ok=True)
        install()
    sys.exit(browser() is None)
