"""Run the tests of one package in an environment with it, what it declares, and the programs of tests.

`scripts/test --package NAME` runs it. The wheels are built; the other packages are those of `.venv`, so nothing is
downloaded. A test that imports an upper package, or a distribution that is not declared, fails.
"""

import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from installations import installed
from sizes import ROOT

PACKAGES = tomllib.loads(Path(__file__).with_name("packages.toml").read_text(encoding="utf-8"))
TOOLS = (
    "pytest",
    "pytest-socket",
    "pytest-timeout",
    "pytest-xdist",
    "hypothesis",
    "jsonschema",
    "pydantic-sarif",
)
KIND = "not (search or timed)"
"""Markers of its tests: the whole suite has searches and measurements."""


def main() -> int:
    """The exit code of pytest."""
    name, *arguments = sys.argv[1:]
    if name not in PACKAGES:
        sys.exit(f"package_tests: no package {name!r}; allowed: {', '.join(PACKAGES)}")
    table = PACKAGES[name]
    extras = ",".join(table.get("extras", ()))
    ignored = [f"--ignore={path}" for path in table.get("others", ())]
    with tempfile.TemporaryDirectory() as folder:
        python = installed(Path(folder), f"{name}[{extras}]", *TOOLS, *table.get("tools", ()))
        path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
        command: list[str | Path] = [
            python,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "-m",
            KIND,
            *ignored,
        ]
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        ended = subprocess.run(
            [*command, *arguments, *table["tests"]],
            cwd=ROOT,
            env={**kept, "PATH": path},
            check=False,
        )
    return ended.returncode


if __name__ == "__main__":
    sys.exit(main())
