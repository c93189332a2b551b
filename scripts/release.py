"""Builds a release in `dist/`: sdist, wheels, bills of materials and checksums, and tests the wheels.

The sdist has the sources of every package. Each wheel is built a second time, from the unpacked sdist, and both must
have the same bytes. `docs/contributing/releases.md`
describes the steps before and after.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.metadata import Metadata
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpuyard.render.supply.bill_of_materials import bill_of_materials

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (
    ".",
    *(str(p.parent.relative_to(ROOT)) for p in sorted(ROOT.glob("components/*/pyproject.toml"))),
)
"""Folders with a pyproject.toml; the root is the distribution `gpuyard`."""
INSTALLED = {
    "gpuyard[aws]": (
        ("gpuyard", "--help"),
        ("gpuyard", "init", "--cloud", "aws", "--generate-only", "lab"),
        ("gpuyard", "check", "lab/stacks/Pulumi.dev.yaml"),
        ("gpuyard", "init", "--cloud", "simulated", "--generate-only", "local"),
        ("gpuyard", "render", "local/stacks/Pulumi.dev.yaml", "--out", "manifests"),
    ),
    "gpuyard-lint": (("gpuyard-lint", "manifests"),),
}
"""Requirements, and what runs in an environment with each."""
_BUILD = "import sys; from hatchling import build; print(getattr(build, sys.argv[1])(sys.argv[2]))"


def main() -> None:
    """Build and check everything; a failed step ends the program."""
    changes = _output("git", "status", "--porcelain")
    if changes:
        sys.exit(f"release: commit these changes first:\n{changes}")
    out = ROOT / "dist"
    shutil.rmtree(out, ignore_errors=True)
    sdist, wheels = build(ROOT, "build_sdist", out), build_wheels(ROOT, out)
    check_reproducible(sdist, wheels)
    for wheel in wheels:
        package = Metadata.from_email(package_metadata(wheel), validate=True)
        bill = json.dumps(wheel_bill_of_materials(package), indent=2)
        (out / f"{wheel.stem}.cdx.json").write_text(f"{bill}\n", encoding="utf-8")
    install(out)
    write_checksums(out)
    print((out / "SHA256SUMS").read_text(encoding="utf-8"), end="")


def build(root: Path, kind: str, out: Path) -> Path:
    """A distribution with the time of the commit; `kind` is a function of the build backend."""
    epoch = _output("git", "log", "-1", "--format=%ct")
    ended = subprocess.run(
        [sys.executable, "-c", _BUILD, kind, out],
        cwd=root,
        env={**os.environ, "SOURCE_DATE_EPOCH": epoch},
        check=True,
        capture_output=True,
        text=True,
    )
    return out / ended.stdout.strip()


def build_wheels(root: Path, out: Path) -> list[Path]:
    """The wheel of each package; that of gpuyard comes first."""
    return [build(root / each, "build_wheel", out) for each in PACKAGES]


def check_reproducible(sdist: Path, wheels: Sequence[Path]) -> None:
    """Build all again, the wheels from the unpacked sdist, and compare."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        (source,) = Path(folder).iterdir()
        out = Path(folder) / "again"
        again = [build(ROOT, "build_sdist", out), *build_wheels(source, out)]
        for first, second in zip((sdist, *wheels), again, strict=True):
            if first.read_bytes() != second.read_bytes():
                sys.exit(f"release: {first.name} is not reproducible: two builds differ")


def package_metadata(wheel: Path) -> bytes:
    """The metadata file of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        return archive.read(name)


def wheel_bill_of_materials(package: Metadata) -> dict[str, Any]:
    """The package and its dependencies at the versions of requirements.lock, which are installed here."""
    parts: dict[str, dict[str, Any]] = {}
    needed: dict[str, list[str]] = {}
    root = _reference(package.name, str(package.version))
    waiting: list[tuple[str, list[Requirement], AbstractSet[str]]] = [
        (root, package.requires_dist or [], {*(package.provides_extra or [])})
    ]
    while waiting:
        reference, requirements, extras = waiting.pop()
        needed[reference] = []
        for each in requirements:
            name = canonicalize_name(each.name)
            if not applies(each, extras):
                continue
            found = metadata.distribution(name)
            depends = _reference(name, found.version)
            needed[reference].append(depends)
            if depends not in parts:
                parts[depends] = _component(depends, name, found)
                waiting.append(
                    (depends, [Requirement(r) for r in found.requires or []], each.extras)
                )
    subject = {
        "type": "library",
        "bom-ref": root,
        "name": package.name,
        "version": str(package.version),
        "purl": root,
        "licenses": [{"expression": str(package.license_expression)}],
    }
    graph = [{"ref": key, "dependsOn": sorted(set(value))} for key, value in sorted(needed.items())]
    bill = bill_of_materials(subject, list(parts.values()), str(package.version))
    return {**bill, "dependencies": graph}


def applies(requirement: Requirement, extras: AbstractSet[str]) -> bool:
    """Whether it is required for one of the extras, or without any."""
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": each}) for each in {"", *extras})


def _reference(name: str, version: str) -> str:
    return f"pkg:pypi/{canonicalize_name(name)}@{version.replace('!', '%21')}"


def _component(reference: str, name: str, found: metadata.Distribution) -> dict[str, Any]:
    component = {"type": "library", "bom-ref": reference, "name": name, "version": found.version}
    expressions = found.metadata.get_all("License-Expression") or []
    stated = {"licenses": [{"expression": each} for each in expressions]} if expressions else {}
    return {**component, "purl": reference, **stated}


def install(wheels: Path) -> None:
    """Install gpuyard-lint and gpuyard into empty environments; lint a file, and create a project."""
    uv = shutil.which("uv") or str(ROOT / ".tools" / "uv" / "bin" / "uv")
    with tempfile.TemporaryDirectory() as folder:
        for requirement, commands in INSTALLED.items():
            python = Path(folder) / requirement / "bin" / "python"
            into = ("--quiet", "--python", str(python), "--find-links", str(wheels))
            for command in (
                (uv, "venv", "--quiet", "--python", sys.executable, requirement),
                (uv, "pip", "install", *into, requirement),
                *((str(python.with_name(program)), *words) for program, *words in commands),
            ):
                subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def write_checksums(folder: Path) -> None:
    """Write `SHA256SUMS`, in the format of `sha256sum --check`."""
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(folder.iterdir())
    ]
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


def _output(*command: str) -> str:
    return subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


if __name__ == "__main__":
    main()
