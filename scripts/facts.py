"""Compares the catalogue with its second sources again: what `make facts` runs.

The sources are other people's repositories, too large to be checked in. FOLDER holds clones of them, each
under its own name, such as FOLDER/karpenter-provider-aws. Each table is written anew from what is there, what
is not is named, and the tests then say where the catalogue disagrees.

    make facts FOLDER=/path/to/clones
"""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from gpuyard.catalogue import (
    commitments,
    fabric,
    fees,
    node_pools,
    reserves,
    sharing,
    sources,
    topology,
)
from gpuyard.catalogue.kubernetes import addresses, api, autoscalers, claims, kueue
from gpuyard.catalogue.sources import Source
from gpuyard.plan.money.price_age import OLD
from gpuyard.today import today

ROOT = Path(__file__).resolve().parent.parent
TESTS = "tests/catalogue"


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


Named = Mapping[str, Source]
"""By the name of its constant."""


def named_sources() -> Named:
    """Every source of the catalogue."""
    of_clouds = (commitments, fabric, fees, node_pools, reserves, sharing, sources, topology)
    modules = (*of_clouds, addresses, api, autoscalers, claims, kueue)
    return {
        f"{module.__name__.rpartition('.')[2]}.{name}": value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, Source)
    }


def alone(found: Named) -> list[str]:
    """Sources that nothing else confirms."""
    return sorted(name for name, source in found.items() if not source.second)


def old(found: Named, day: date, longest: timedelta = OLD) -> list[str]:
    """Sources whose day is longer ago than that of a price may be."""
    return sorted(
        f"{name}: of {source.as_of}"
        for name, source in found.items()
        if source.as_of and day - source.as_of > longest
    )


def run(folder: Path) -> int:
    """Write every table whose source is there, and let the tests compare."""
    for check in CHECKS:
        lacking = missing(check, folder)
        if lacking:
            print(f"left alone: {check.says}, for want of {', '.join(lacking)} in {folder}")
            continue
        paths = [str(folder / name) for name in check.arguments]
        subprocess.run(
            [sys.executable, str(ROOT / "scripts" / "cross_checks" / check.script), *paths],
            check=True,
        )
    tests = [sys.executable, "-m", "pytest", "-q", TESTS]
    return subprocess.run(tests, cwd=ROOT, check=False).returncode


def main() -> None:
    """What is alone and what is old, then the checks."""
    found = named_sources()
    for name in alone(found):
        print(f"no second source: {name}")
    for name in old(found, today()):
        print(f"older than {OLD.days} days: {name}")
    sys.exit(run(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("clones")))


if __name__ == "__main__":
    main()
