"""Writes tests/catalogue/second/ec2_second_source.csv: EC2's own data of the catalogue's machines.

The PyPI package moto ships that data. It is far too heavy to be a dependency for one file, so this is run
manually, when the catalogue or moto changes, and the small result is checked in:

    uv venv /tmp/moto && uv pip install --python /tmp/moto/bin/python --no-deps moto==5.2.5
    cd /tmp/moto/lib/python3*/site-packages/moto/ec2/resources
    .../scripts/cross_checks/cross_check_ec2.py 5.2.5 instance_types.json.gz
"""

import csv
import gzip
import io
import json
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from gpuyard.catalogue.machines import machines_of

TARGET = Path(__file__).resolve().parents[2] / "tests/catalogue/second/ec2_second_source.csv"
COLUMNS: tuple[str, ...] = (
    "type",
    "arch",
    "vcpus",
    "memory_mib",
    "gpu",
    "gpus",
    "gpu_part",
    "gpu_mib",
    "network_gbps",
    "network_says",
    "network_cards",
    "card_0",
    "card_0_interfaces",
    "ipv4",
    "efa",
    "nvme_gb",
    "sold",
)
_ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}


def row(entry: dict[str, Any]) -> dict[str, object]:
    """The figures of one instance type that the catalogue has too."""
    network = entry["NetworkInfo"]
    gpus = entry.get("GpuInfo", {}).get("Gpus", [])
    gpu = gpus[0] if gpus else {}
    cards = network.get("NetworkCards", [])
    architectures = [
        _ARCHITECTURES[a] for a in entry["ProcessorInfo"]["SupportedArchitectures"] if a != "i386"
    ]
    return {
        "type": entry["InstanceType"],
        "arch": "+".join(sorted(architectures)),
        "vcpus": entry["VCpuInfo"]["DefaultVCpus"],
        "memory_mib": entry["MemoryInfo"]["SizeInMiB"],
        "gpu": gpu.get("Name", "-"),
        # A part of a GPU counts as 0 whole ones; then the number of parts counts.
        "gpus": gpu.get("Count") or gpu.get("LogicalGpuCount", 0),
        "gpu_part": gpu.get("GpuPartitionSize", 1),
        "gpu_mib": gpu.get("MemoryInfo", {}).get("SizeInMiB", 0),
        "network_gbps": f"{sum(card.get('BaselineBandwidthInGbps', 0) for card in cards):g}",
        "network_says": network["NetworkPerformance"],
        "network_cards": network["MaximumNetworkCards"],
        "card_0": "+".join(sorted(cards[0]["InterfaceTypes"])) if cards else "-",
        "card_0_interfaces": cards[0]["MaximumNetworkInterfaces"] if cards else "-",
        "ipv4": network.get("Ipv4AddressesPerInterface", "-"),
        "efa": network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0),
        "nvme_gb": entry.get("InstanceStorageInfo", {}).get("TotalSizeInGB", 0),
        "sold": "+".join(sorted(entry["SupportedUsageClasses"])),
    }


def table(types: dict[str, Any], version: str, day: date) -> str:
    """The whole file: a line about its origin, then one line for each EC2 machine that both know."""
    out = io.StringIO()
    out.write(f"# moto {version}, moto/ec2/resources/instance_types.json.gz, read {day}\n")
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(row(types[name]) for name in machines_of("aws") if name in types)
    return out.getvalue()


def main() -> None:
    """Write the file, and print machines that the second source lacks."""
    version, path = sys.argv[1:3]
    types = json.loads(gzip.decompress(Path(path).read_bytes()))
    TARGET.write_text(table(types, version, datetime.now(UTC).date()), encoding="utf-8")
    print(f"wrote {TARGET}; not in moto: {sorted(set(machines_of('aws')) - set(types))}")


if __name__ == "__main__":
    main()
