"""Wheels of the project, installed outside a checkout with the packages that they declare."""

import subprocess
import sys
import sysconfig
import zipfile
from collections import defaultdict
from importlib import metadata
from pathlib import Path, PurePath

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import release
import sizes

RUN = "import sys; from gpuyard.cli import main; sys.exit(main(sys.argv[1:]))"
"""The console script of an installation, with the command's arguments."""


def installed(folder: Path, *requirements: str) -> Path:
    """Python with the requirements and their console scripts next to it.

    Wheels of the project are built; the other packages are those of the tests' environment, by links.
    """
    folder.mkdir(parents=True, exist_ok=True)
    venv = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    (site,) = venv.glob("lib/python*/site-packages")
    python = venv / "bin" / "python"
    names = set[str]().union(*map(required, requirements))
    for package in release.PACKAGES:
        if canonicalize_name(Path(package).name or "gpuyard") in names:
            wheel = release.build(sizes.ROOT / package, "build_wheel", folder)
            with zipfile.ZipFile(wheel) as built:
                built.extractall(site)
    link_packages({name for name in names if not name.startswith("gpuyard")}, site)
    for script in metadata.entry_points(group="console_scripts"):
        if script.dist is not None and script.dist.name in names:
            path = python.with_name(script.name)
            text = f"import sys\nfrom {script.module} import {script.attr}\n"
            path.write_text(f"#!{python}\n{text}sys.exit({script.attr}())\n", encoding="utf-8")
            path.chmod(0o755)
    return python


def required(requirement: str) -> set[str]:
    """The names of the distributions that an installation of the requirement has."""
    waiting, seen = [Requirement(requirement)], set()
    while waiting:
        each = waiting.pop()
        name = canonicalize_name(each.name)
        if (key := (name, frozenset(each.extras))) not in seen:
            seen.add(key)
            needs = map(Requirement, metadata.requires(name) or ())
            waiting += [need for need in needs if release.applies(need, each.extras)]
    return {name for name, _ in seen}


def link_packages(names: set[str], site: Path) -> None:
    """Link the files of distributions: each folder at the highest level that one distribution owns."""
    here = Path(sysconfig.get_paths()["purelib"])
    owners: dict[PurePath, set[str]] = defaultdict(set)
    files = {
        file: name
        for name in names
        for file in metadata.distribution(name).files or ()
        if file.parts[0] not in {"..", "__pycache__"}
    }
    for file, name in files.items():
        for path in (file, *file.parents):
            owners[PurePath(path)].add(name)
    for file in files:
        path = next(p for p in (*reversed(file.parents), file) if len(owners[PurePath(p)]) == 1)
        if not (site / path).exists():
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            (site / path).symlink_to(here / path)
