"""`make facts`: generates tables of second sources and compares the catalogue with them.

The sources are other projects' repositories, too large to be checked in. FOLDER holds clones of them, each
under its own name, such as FOLDER/karpenter-provider-aws. Each table with a clone is rewritten, missing clones
are printed, and the tests then report where the catalogue disagrees.

    make facts FOLDER=/path/to/clones
"""

import pkgutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from importlib import import_module
from pathlib import Path

from gpuyard import catalogue
from gpuyard.catalogue.software import ages
from gpuyard.catalogue.sources import Source
from gpuyard.today import today

ROOT = Path(__file__).resolve().parent.parent
TESTS = "tests/catalogue"


@dataclass(frozen=True, slots=True)
class Check:
    """One table of a second source, and its script."""

    script: str
    arguments: tuple[str, ...]
    """Paths below the folder of clones; a script takes them in this order."""
    says: str


CHECKS: tuple[Check, ...] = (
    Check("cross_checks/cross_check_karpenter.py", ("karpenter-provider-aws",), "EC2 machines"),
    Check(
        "cross_checks/cross_check_drivers.py",
        ("open-gpu-kernel-modules",),
        "GPUs and their first drivers",
    ),
    Check(
        "cross_checks/cross_check_prices.py",
        ("google-cloud-pricing-cost-calculator/pricing.yml", "aws-gpu/data"),
        "prices of both clouds",
    ),
    Check("refresh_advisories.py", ("product-security",), "bulletins of NVIDIA"),
)


def missing(check: Check, folder: Path) -> list[str]:
    """The paths that a check needs and the folder lacks."""
    return [name for name in check.arguments if not (folder / name).exists()]


Named = Mapping[str, Source]
"""By the name of its constant."""


def named_sources() -> Named:
    """Every source of the catalogue that is a constant, and those of the pins."""
    result = pkgutil.walk_packages(catalogue.__path__, f"{catalogue.__name__}.")
    return {
        **ages.sources_of(*(import_module(each.name) for each in result)),
        **ages.dated_sources_by_kind()["pins"],
    }


def alone(result: Named) -> list[str]:
    """Sources without a second source."""
    return sorted(name for name, source in result.items() if not source.second)


def old(rows: Mapping[str, Named], day: date) -> list[str]:
    """Rows that are older than the limit of their kind."""
    return sorted(
        f"{kind}, {name}: of {source.as_of}, more than {ages.LIMITS[kind]} days ago"
        for kind, result in rows.items()
        for name, source in result.items()
        if (day - source.as_of).days > ages.LIMITS[kind]
    )


def run(folder: Path) -> int:
    """Write every table with a source, and run the tests that compare."""
    for check in CHECKS:
        lacking = missing(check, folder)
        if lacking:
            print(f"skipped: {check.says}; missing in {folder}: {', '.join(lacking)}")
            continue
        paths = [str(folder / name) for name in check.arguments]
        subprocess.run(
            [sys.executable, str(ROOT / "scripts" / check.script), *paths],
            check=True,
        )
    tests = [sys.executable, "-m", "pytest", "-q", TESTS]
    return subprocess.run(tests, cwd=ROOT, check=False).returncode


def main() -> None:
    """Print single and old sources, then run the checks."""
    result = named_sources()
    for name in alone(result):
        print(f"no second source: {name}")
    for line in old(ages.dated_sources_by_kind(), today()):
        print(f"old: {line}")
    sys.exit(run(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("clones")))


if __name__ == "__main__":
    main()
