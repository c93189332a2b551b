"""Writes tests/catalogue/second/karpenter_second_source.csv: Karpenter's tables of EC2.

Karpenter reads EC2 itself, on other days than moto, from whose data the catalogue has its EC2 machines.
Run manually, when the catalogue or Karpenter changes, with a clone:

    scripts/cross_checks/cross_check_karpenter.py karpenter-provider-aws
"""

import csv
import io
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from gpuyard.catalogue.machines import machines_of

TARGET = Path(__file__).resolve().parents[2] / "tests/catalogue/second/karpenter_second_source.csv"
TYPES = "website/content/en/preview/reference/instance-types.md"
BANDWIDTHS = "pkg/providers/instancetype/zz_generated.bandwidth.go"
COLUMNS: tuple[str, ...] = (
    *("type", "arch", "vcpus", "memory_mib", "gpus", "nvme_gb", "pods", "efa", "network_mbps"),
)
_FIELDS = {
    "kubernetes.io/arch": "arch",
    "karpenter.k8s.aws/instance-cpu": "vcpus",
    "karpenter.k8s.aws/instance-memory": "memory_mib",
    "karpenter.k8s.aws/instance-gpu-count": "gpus",
    "karpenter.k8s.aws/instance-local-nvme": "nvme_gb",
    "pods": "pods",
    "vpc.amazonaws.com/efa": "efa",
}
_CELLS = re.compile(r"^ *\|(?P<name>[^|]+)\|(?P<value>[^|]*)\|$")
_SPEED = re.compile(r'"(?P<type>[a-z0-9.-]+)": +(?P<mbps>\d+),')


def machines(page: str) -> Iterator[dict[str, str]]:
    """One row for each type of the page; missing values are 0."""
    for part in page.split("\n### `")[1:]:
        result = dict.fromkeys(COLUMNS, "0") | {"type": part.partition("`")[0]}
        for line in part.splitlines():
            cells = _CELLS.match(line)
            if cells and cells["name"] in _FIELDS:
                result[_FIELDS[cells["name"]]] = cells["value"]
        yield result


def speeds(table: str) -> Mapping[str, str]:
    """Baseline megabits per second, by type."""
    return {row["type"]: row["mbps"] for row in _SPEED.finditer(table)}


def table(page: str, bandwidths: str, origin: str) -> str:
    """The whole file: a line about its origin, then one line for each machine that both know."""
    fast, ours = speeds(bandwidths), set(machines_of("aws"))
    out = io.StringIO()
    out.write(f"# {origin}\n")
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        row | {"network_mbps": fast.get(row["type"], "0")}
        for row in machines(page)
        if row["type"] in ours
    )
    return out.getvalue()


def main() -> None:
    """Write the file."""
    clone = sys.argv[1]

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", clone, *arguments], check=True, capture_output=True, text=True
        ).stdout

    created = git("log", "-1", "--format=%h of %cs", "--", TYPES, BANDWIDTHS).strip()
    origin = f"aws/karpenter-provider-aws {created}"
    TARGET.write_text(
        table(git("show", f"HEAD:{TYPES}"), git("show", f"HEAD:{BANDWIDTHS}"), origin),
        encoding="utf-8",
    )
    print(f"wrote {TARGET} from {origin}")


if __name__ == "__main__":
    main()
