"""Compares the catalogue with its second sources again: what `make facts` runs.

The sources are other people's repositories, too large to be checked in. FOLDER holds clones of them, each under
its own name, such as FOLDER/karpenter-provider-aws; `git clone --mirror` will do. Each table is written anew from
what is there, what is not is named, and the tests then say where the catalogue disagrees.

    make facts FOLDER=/path/to/clones
"""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from gpuyard.catalogue import commitments, node_pools, reserves, sources, topology
from gpuyard.catalogue.sources import Source

ROOT = Path(__file__).resolve().parent.parent
TESTS = "tests/catalogue"
OLD_DAYS = 180


@dataclass(frozen=True, slots=True)
class Check:
    """One table of a second source, and how it is made."""

    script: str
    arguments: tuple[str, ...]
    """Paths below the folder of clones; a script takes them in this order."""
    says: str


CHECKS: tuple[Check, ...] = (
    Check("cross_check_karpenter.py", ("karpenter-provider-aws",), "EC2 machines"),
    Check("cross_check_drivers.py", ("open-gpu-kernel-modules",), "GPUs and their first drivers"),
    Check(
        "cross_check_prices.py",
        ("google-cloud-pricing-cost-calculator/pricing.yml", "aws-gpu/data"),
        "prices of both clouds",
    ),
)


def missing(check: Check, folder: Path) -> list[str]:
    """What a check needs and the folder has not."""
    return [name for name in check.arguments if not (folder / name).exists()]


def alone(modules: Mapping[str, Mapping[str, object]]) -> list[str]:
    """Sources that nothing else confirms, by the name of their constant."""
    return sorted(
        f"{module}.{name}"
        for module, names in modules.items()
        for name, value in names.items()
        if isinstance(value, Source) and not value.second
    )


def old(modules: Mapping[str, Mapping[str, object]], today: date) -> list[str]:
    """Sources whose day is longer ago than prices may be old."""
    return sorted(
        f"{module}.{name}: of {value.as_of}"
        for module, names in modules.items()
        for name, value in names.items()
        if isinstance(value, Source) and value.as_of and (today - value.as_of).days > OLD_DAYS
    )


def run(folder: Path) -> int:
    """Write every table whose source is there, and let the tests compare."""
    for check in CHECKS:
        lacking = missing(check, folder)
        if lacking:
            print(f"left alone: {check.says}, for want of {', '.join(lacking)} in {folder}")
            continue
        paths = [str(folder / name) for name in check.arguments]
        subprocess.run([sys.executable, str(ROOT / "scripts" / check.script), *paths], check=True)
    return subprocess.run([sys.executable, "-m", "pytest", "-q", TESTS], cwd=ROOT).returncode


def main() -> None:
    """What is alone and what is old, then the checks."""
    modules = {m.__name__.rpartition(".")[2]: vars(m) for m in (commitments, node_pools, reserves, sources, topology)}
    for name in alone(modules):
        print(f"no second source: {name}")
    for name in old(modules, date.today()):  # noqa: DTZ011  a day of the calendar on the wall
        print(f"older than {OLD_DAYS} days: {name}")
    sys.exit(run(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("clones")))


if __name__ == "__main__":
    main()
