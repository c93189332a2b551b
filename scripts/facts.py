"""`make facts`: writes the tables of second sources and compares the catalogue with them.

The sources are other projects' repositories, too large to be checked in. FOLDER holds clones of them, each
under its own name, such as FOLDER/karpenter-provider-aws. Each table with a clone is rewritten, missing clones
are printed, and the tests then report where the catalogue disagrees.

    make facts FOLDER=/path/to/clones

The PyPI package moto ships EC2's own data. It is too heavy to be a dependency for one file:

    uv venv /tmp/moto && uv pip install --python /tmp/moto/bin/python --no-deps moto==5.2.5
    cd /tmp/moto/lib/python3*/site-packages/moto/ec2/resources
    .../scripts/facts.py ec2 5.2.5 instance_types.json.gz
"""

import csv
import gzip
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Any

import yaml

import refresh_advisories
from gpuyard_core.catalogue.gpus import GPUS
from gpuyard_core.catalogue.machines import MACHINES, machines_of
from gpuyard_core.catalogue.software import ages
from gpuyard_core.catalogue.sources import Source, find_source, source_ids
from gpuyard_core.today import today

ROOT = Path(__file__).resolve().parent.parent
TESTS = "tests/catalogue"
TABLES = ROOT / TESTS / "second"
"""Each table is NAME_second_source.csv."""


def csv_text(columns: Iterable[str], rows: Iterable[Mapping[str, object]], origin: str = "") -> str:
    """A table: a line about its origin, if one is given, the columns, and one line for each row."""
    out = io.StringIO()
    out.write(f"# {origin}\n" if origin else "")
    writer = csv.DictWriter(out, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def git(clone: Path, *arguments: str) -> str:
    """The output of a git command in a clone."""
    return subprocess.run(
        ["git", "-C", str(clone), *arguments], check=True, capture_output=True, text=True
    ).stdout


# ── Karpenter's tables of EC2, which it reads on other days than moto ──────────────────────────────

KARPENTER_TYPES = "website/content/en/preview/reference/instance-types.md"
KARPENTER_BANDWIDTHS = "pkg/providers/instancetype/zz_generated.bandwidth.go"
KARPENTER_COLUMNS: tuple[str, ...] = (
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
        result = dict.fromkeys(KARPENTER_COLUMNS, "0") | {"type": part.partition("`")[0]}
        for line in part.splitlines():
            cells = _CELLS.match(line)
            if cells and cells["name"] in _FIELDS:
                result[_FIELDS[cells["name"]]] = cells["value"]
        yield result


def speeds(table: str) -> Mapping[str, str]:
    """Baseline megabits per second, by type."""
    return {row["type"]: row["mbps"] for row in _SPEED.finditer(table)}


def karpenter_table(page: str, bandwidths: str, origin: str) -> str:
    """One line for each machine that both know."""
    fast, ours = speeds(bandwidths), set(machines_of("aws"))
    rows = (
        row | {"network_mbps": fast.get(row["type"], "0")}
        for row in machines(page)
        if row["type"] in ours
    )
    return csv_text(KARPENTER_COLUMNS, rows, origin)


def karpenter(clone: Path) -> str:
    """The table, from a clone of aws/karpenter-provider-aws."""
    paths = (KARPENTER_TYPES, KARPENTER_BANDWIDTHS)
    page, bandwidths = (git(clone, "show", f"HEAD:{path}") for path in paths)
    created = git(clone, "log", "-1", "--format=%h of %cs", "--", *paths).strip()
    return karpenter_table(page, bandwidths, f"aws/karpenter-provider-aws {created}")


# ── The driver that first lists each GPU, in the README of NVIDIA's open kernel modules ────────────

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


def driver_table(results: Mapping[tuple[str, str], str]) -> str:
    """One line for each device of the catalogue and each of its names."""
    ours = {gpu.pci_id for gpu in GPUS.values()}
    rows = (
        {"pci": pci, "name": name, "first": tag}
        for (pci, name), tag in sorted(results.items())
        if pci in ours
    )
    return csv_text(("pci", "name", "first"), rows)


def drivers(clone: Path) -> str:
    """The table, from a clone that has the tags."""
    tags = [tag for tag in git(clone, "tag").split() if _TAG.fullmatch(tag)]
    return driver_table(firsts((tag, git(clone, "show", f"{tag}:README.md")) for tag in tags))


# ── Other price lists ──────────────────────────────────────────────────────────────────────────────

PRICE_COLUMNS = ("type", "vcpus", "gib", "on_demand", "spot", "reserved_1y", "cud_1y", "cud_3y")
HOURS = 730
"""Hours of a month in the list of Google's prices."""


def google_rows(listed: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """Machines of `compute.instance`, with the prices of us-central1 by the hour."""
    for name, entry in listed["compute"]["instance"].items():
        cost = entry["cost"].get("us-central1") if name in MACHINES else None
        if cost:
            yield {
                "type": name,
                "vcpus": entry["cpu"],
                "gib": f"{entry['ram']:g}",
                "on_demand": _shown(cost.get("hour")),
                "spot": _shown(cost.get("hour_spot")),
                "reserved_1y": "-",
                "cud_1y": _shown(cost.get("month_1y"), HOURS),
                "cud_3y": _shown(cost.get("month_3y"), HOURS),
            }


def amazon_rows(scripts: Iterator[str]) -> Iterator[dict[str, object]]:
    """Machines of the JavaScript arrays, with the prices of us-east-1; spot prices are of one moment."""
    for text in scripts:
        for entry in _entries(text):
            name = entry.get("apiName") or entry["name"]
            prices = entry["pricing"].get("us-east-1")
            if name in MACHINES and prices:
                yield {
                    "type": name,
                    "vcpus": entry["vcpu"],
                    "gib": str(entry["memory"]).partition(" ")[0],
                    "on_demand": _shown(prices.get("onDemand")),
                    "spot": "-",
                    "reserved_1y": _shown(prices.get("reserved")),
                    "cud_1y": "-",
                    "cud_3y": "-",
                }


def _entries(text: str) -> list[dict[str, Any]]:
    """The array of one file; a file without one, such as that of inf2, has no entries."""
    try:
        results: list[dict[str, Any]] = json.loads(text[text.index("[") : text.rindex("]") + 1])
    except ValueError:
        return []
    return results


def _shown(price: float | None, hours: int = 1) -> str:
    return "-" if price is None else f"{price / hours:.4f}"


def price_table(rows: Iterator[dict[str, object]]) -> str:
    """One line for each machine, in catalogue order."""
    results = {str(row["type"]): row for row in rows}
    return csv_text(PRICE_COLUMNS, (results[name] for name in MACHINES if name in results))


def prices(google: Path, amazon: Path) -> str:
    """The table, from one YAML file of Google's prices and a folder of JavaScript files of EC2's."""
    listed = yaml.load(google.read_text(encoding="utf-8"), yaml.CSafeLoader)
    scripts = (path.read_text(encoding="utf-8") for path in sorted(amazon.glob("*_instances.js")))
    return price_table(iter([*amazon_rows(scripts), *google_rows(listed)]))


# ── EC2's own data ─────────────────────────────────────────────────────────────────────────────────

EC2_COLUMNS: tuple[str, ...] = (
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


def ec2_row(entry: dict[str, Any]) -> dict[str, object]:
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


def ec2_table(types: Mapping[str, Any], version: str, day: date) -> str:
    """One line for each EC2 machine that both know."""
    rows = (ec2_row(types[name]) for name in machines_of("aws") if name in types)
    origin = f"moto {version}, moto/ec2/resources/instance_types.json.gz, read {day}"
    return csv_text(EC2_COLUMNS, rows, origin)


def ec2(version: str, path: str) -> None:
    """Write the table, and print machines that the second source lacks."""
    types = json.loads(gzip.decompress(Path(path).read_bytes()))
    text = ec2_table(types, version, datetime.now(UTC).date())
    (TABLES / "ec2_second_source.csv").write_text(text, encoding="utf-8")
    print(f"not in moto: {sorted(set(machines_of('aws')) - set(types))}")


# ── All of them ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Check:
    """One table of a second source."""

    file: str
    """Of the folder of tests."""
    needs: tuple[str, ...]
    """Paths below the folder of clones; the function takes them in this order."""
    says: str
    text: Callable[..., str]


CHECKS: tuple[Check, ...] = (
    Check("karpenter_second_source.csv", ("karpenter-provider-aws",), "EC2 machines", karpenter),
    Check(
        "driver_second_source.csv",
        ("open-gpu-kernel-modules",),
        "GPUs and their first drivers",
        drivers,
    ),
    Check(
        "price_second_source.csv",
        ("google-cloud-pricing-cost-calculator/pricing.yml", "aws-gpu/data"),
        "prices of both clouds",
        prices,
    ),
    *(
        Check(
            str(refresh_advisories.TABLES / name),
            ("product-security",),
            "bulletins of NVIDIA",
            partial(refresh_advisories.generate, name),
        )
        for name in ("advisories.csv", "bulletins.csv")
    ),
)


def missing(check: Check, folder: Path) -> list[str]:
    """The paths that a check needs and the folder lacks."""
    return [name for name in check.needs if not (folder / name).exists()]


Named = Mapping[str, Source]
"""By id, or by the name of a pin."""


def named_sources() -> Named:
    """Every source in the table of sources, and those of the pins."""
    sources = {name: find_source(name) for name in source_ids()}
    return {**sources, **ages.dated_sources_by_kind()["pins"]}


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
        text = check.text(*(folder / name for name in check.needs))
        (TABLES / check.file).write_text(text, encoding="utf-8")
        print(f"wrote {check.file}")
    tests = [sys.executable, "-m", "pytest", "-q", TESTS]
    return subprocess.run(tests, cwd=ROOT, check=False).returncode


def main() -> None:
    """Print single and old sources, then run the checks; or write EC2's table."""
    if sys.argv[1:2] == ["ec2"]:
        ec2(*sys.argv[2:])
        return
    result = named_sources()
    for name in alone(result):
        print(f"no second source: {name}")
    for line in old(ages.dated_sources_by_kind(), today()):
        print(f"old: {line}")
    sys.exit(run(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("clones")))


if __name__ == "__main__":
    main()
