"""Writes tests/catalogue/second/driver_second_source.csv: which driver first lists each GPU.

NVIDIA's open kernel modules list the devices they support in the README of each release. Run manually, when
the catalogue or the drivers change, with a clone that has the tags:

    scripts/cross_checks/cross_check_drivers.py open-gpu-kernel-modules
"""

import csv
import io
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from gpuyard.catalogue.gpus import GPUS

TARGET = Path(__file__).resolve().parents[2] / "tests/catalogue/second/driver_second_source.csv"
COLUMNS = ("pci", "name", "first")
_TAG = re.compile(r"\d+(?:\.\d+)+")
_ROW = re.compile(r"\| *(?P<name>[^|]+?) *\| *(?P<pci>[0-9A-F]{4})(?: [0-9A-F]{4})* *\|")


def counted(tag: str) -> tuple[int, ...]:
    """A tag as numbers, for comparing."""
    return tuple(int(part) for part in tag.split("."))


def listed(readme: str) -> Iterator[tuple[str, str]]:
    """(device id, name) of each line of the table of supported devices."""
    return ((row["pci"], row["name"]) for row in _ROW.finditer(readme))


def firsts(releases: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The lowest release of each device and name, of (tag, README) pairs in any order."""
    results: dict[tuple[str, str], str] = {}
    for tag, readme in sorted(releases, key=lambda each: counted(each[0])):
        for device in listed(readme):
            results.setdefault(device, tag)
    return results


def table(results: dict[tuple[str, str], str]) -> str:
    """One line for each device of the catalogue and each of its names."""
    ours = {gpu.pci_id for gpu in GPUS.values()}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(
        (pci, name, tag) for (pci, name), tag in sorted(results.items()) if pci in ours
    )
    return out.getvalue()


def main() -> None:
    """Write the file."""
    clone = sys.argv[1]

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", clone, *arguments], check=True, capture_output=True, text=True
        ).stdout

    tags = [tag for tag in git("tag").split() if _TAG.fullmatch(tag)]
    TARGET.write_text(
        table(firsts((t, git("show", f"{t}:README.md")) for t in tags)), encoding="utf-8"
    )
    print(f"wrote {TARGET} from {len(tags)} releases")


if __name__ == "__main__":
    main()
