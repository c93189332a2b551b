"""EC2 rows against what they were copied from, EC2's DescribeInstanceTypes: a slip of the hand is found.

The table comes from `scripts/facts.py ec2`. It is no second source: the one
of Karpenter is.
"""

import csv
import json
import re
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest

import facts
from gpuyard_core.catalogue.fabric import efa_interfaces_to_launch, pod_limit
from gpuyard_core.catalogue.machines import MACHINES
from kit.every import every

TABLE = Path(__file__).with_name("ec2_second_source.csv")
ORIGIN, *LINES = TABLE.read_text(encoding="utf-8").splitlines()
ROWS = [pytest.param(row, id=row["type"]) for row in csv.DictReader(LINES)]

GPU_NAMES = {
    "A100-40": "A100",
    "A100-80": "A100",
    "V100-32": "V100",
    "T4G": "T4g",
    "RTX6000": "RTX PRO Server 6000",
    "RTX4500": "RTX PRO 4500",
}
"""What EC2 calls a GPU, where that is not our name; it tells the A100s apart by memory."""

GPU_MIB = {
    "B200": (183359, "nominal 180 GB; EC2 reports what the driver leaves of 180 GiB"),
    "B300": (
        275040,
        "sold as 270 to 288 GB; EC2 reports 268.6 GiB, MIG's largest slice has 269 GB",
    ),
}
"""Memory that is neither the nominal figure in GiB nor in GB."""


def gpu_mib(machine):
    """What EC2 may call the memory of one device: our nominal figure as GiB, or as GB."""
    if machine.gpu is None:
        return {0}
    if machine.gpu.name in GPU_MIB:
        return {GPU_MIB[machine.gpu.name][0]}
    nominal = machine.gpu.memory_gib * machine.gpu_fraction
    return {int(nominal * 1024), int(nominal * 10**9 / 2**20)}


def sold(machine):
    names = {"on-demand": "on-demand", "spot": "spot", "block": "capacity-block"}
    return "+".join(sorted(names[mode] for mode in machine.sold if mode in names))


def disagreements(row):
    """Field, ours and EC2's, for whatever does not agree."""
    m = MACHINES[row["type"]]
    name = GPU_NAMES.get(m.gpu.name, m.gpu.name) if m.gpu else "-"
    pairs = {
        "arch": (m.arch, row["arch"]),
        "vcpus": (str(m.vcpus), row["vcpus"]),
        "memory_mib": (str(m.memory_gib * 1024), row["memory_mib"]),
        "gpu": (name, row["gpu"]),
        "gpus": (str(m.gpus), row["gpus"]),
        "gpu_part": (m.gpu_fraction, Fraction(row["gpu_part"])),
        "efa": (str(m.efa_interfaces), row["efa"] if m.is_gpu_machine else "0"),
        "nvme_gb": (str(m.nvme_gb), row["nvme_gb"]),
        "sold": (sold(m), row["sold"]),
        "network_cards": (str(m.network_cards), row["network_cards"]),
        "pods": (str(pod_limit(m)), pods(row)),
    }
    kinds = {i.kind for i in efa_interfaces_to_launch(m) if i.card == 0} or {"interface"}
    if not kinds <= set(row["card_0"].split("+")):
        pairs["card_0"] = ("+".join(kinds), row["card_0"])
    found = {(m.name, field): pair for field, pair in pairs.items() if pair[0] != pair[1]}
    if int(row["gpu_mib"]) not in gpu_mib(m):
        found[m.name, "gpu_mib"] = (str(gpu_mib(m)), row["gpu_mib"])
    if m.network_gbps is not None and m.network_gbps not in speeds(row):
        theirs = f"{row['network_gbps']}, {row['network_says']}"
        found[m.name, "network_gbps"] = (f"{m.network_gbps:g}", theirs)
    return found


def pods(row):
    """EKS's rule: of an interface's addresses one is its own; two pods use the host's network."""
    return str(int(row["card_0_interfaces"]) * (int(row["ipv4"]) - 1) + 2)


def speeds(row):
    """The sum over the cards, and the figure EC2 advertises: the two differ on some types."""
    said = re.search(r"[\d.]+", row["network_says"])
    return {float(row["network_gbps"]), *([float(said[0])] if said else [])}


@every("row", ROWS)
def test_a_machine_is_what_ec2_says_it_is(row):
    assert disagreements(row) == {}


def test_every_ec2_machine_has_a_second_source_or_is_marked_as_unseen():
    seen = {row.values[0]["type"] for row in ROWS}
    ours = {m.name: m for m in MACHINES.values() if m.cloud == "aws"}
    assert set(ours) - seen == {n for n, m in ours.items() if not m.source.verified}


def test_the_table_says_what_it_was_read_from_and_when():
    origin = re.fullmatch(r"# moto (\d+\.\d+\.\d+), \S+, read (\S+)", ORIGIN)
    assert date.fromisoformat(origin[2]) >= date(2026, 11, 21)


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("arch", "arm64"),
        ("vcpus", "191"),
        ("memory_mib", "2097151"),
        ("gpu", "H200"),
        ("gpus", "7"),
        ("gpu_part", "0.5"),
        ("gpu_mib", "81919"),
        ("network_says", "3199 Gigabit"),
        ("network_cards", "31"),
        ("card_0", "interface"),
        ("card_0_interfaces", "3"),
        ("ipv4", "30"),
        ("efa", "31"),
        ("nvme_gb", "30399"),
        ("sold", "on-demand+spot"),
    ],
)
def test_a_difference_of_one_is_found(field, wrong):
    row = next(r.values[0] for r in ROWS if r.values[0]["type"] == "p5.48xlarge")
    changed = (
        {**row, "network_gbps": wrong.split()[0], field: wrong}
        if "says" in field
        else {**row, field: wrong}
    )
    assert len(disagreements(changed)) == 1


ENTRY = {
    "InstanceType": "p5.4xlarge",
    "VCpuInfo": {"DefaultVCpus": 16},
    "MemoryInfo": {"SizeInMiB": 262144},
    "ProcessorInfo": {"SupportedArchitectures": ["i386", "x86_64"]},
    "NetworkInfo": {"MaximumNetworkCards": 1, "NetworkPerformance": "100 Gigabit"},
    "SupportedUsageClasses": ["spot", "on-demand"],
}


def test_the_script_reads_a_type_with_and_without_a_gpu():
    bare = facts.ec2_row(ENTRY)
    assert tuple(bare) == facts.EC2_COLUMNS
    assert (bare["gpu"], bare["gpus"], bare["efa"], bare["arch"]) == ("-", 0, 0, "amd64")
    part = {"Name": "L4", "Count": 0, "LogicalGpuCount": 1, "MemoryInfo": {"SizeInMiB": 2861}}
    assert facts.ec2_row({**ENTRY, "GpuInfo": {"Gpus": [part]}})["gpus"] == 1


def test_the_script_writes_machines_that_both_know():
    types = json.loads(json.dumps({"p5.4xlarge": ENTRY, "x9.large": ENTRY}))
    head, columns, *rows = facts.ec2_table(types, "1.2.3", date(2026, 11, 21)).splitlines()
    assert head == "# moto 1.2.3, moto/ec2/resources/instance_types.json.gz, read 2026-11-21"
    assert columns.split(",") == list(facts.EC2_COLUMNS)
    assert [row.split(",")[0] for row in rows] == ["p5.4xlarge"]
