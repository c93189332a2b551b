"""GPU rows against the devices that NVIDIA's open driver lists: a disagreement fails with both values.

The table comes from `make facts`. What differs
stands here with the reason, and no more.
"""

import csv
from pathlib import Path

import pytest

import facts
from gpuyard_core.catalogue.gpus import GPUS
from gpuyard_core.catalogue.software.versions import parse_version
from kit.every import every

TABLE = Path(__file__).with_name("driver_second_source.csv")
ROWS = list(csv.DictReader(TABLE.read_text(encoding="utf-8").splitlines()))
LISTED = [
    pytest.param(gpu, id=name)
    for name, gpu in GPUS.items()
    if gpu.pci_id in {row["pci"] for row in ROWS}
]
OLDEST = "515.48.07"
"""The first general release with a list: a device in it is older than the list."""

DEVIATIONS = {
    "T4": (
        None,
        "575.51.02",
        "the open driver serves it since 575, NVIDIA's own one since long before",
    ),
    "B200": ("570.133.20", "570.86.15", "the MIG User Guide asks for the later one"),
    "RTX4500": ("595.71.05", "580.142", "on EC2 it needs 595, says the AMI's documentation"),
}
NOT_LISTED = {
    "T4G": "an AWS board",
    "P100": "older than the open driver",
    "V100-16": "older than the open driver",
    "V100-32": "older than the open driver",
    "V100-PCIe-16": "older than the open driver",
    "P4": "older than the open driver",
    "A2": "shares its device id with the A16",
    "A16": "shares its device id with the A2",
    "RTX5000-48": "shares its device id with the one of 72 GB",
    "RTX5000-72": "shares its device id with the one of 48 GB",
}


def label(name):
    """What GPU Feature Discovery makes of the name the driver gives."""
    return "-".join(name.split())


@every("gpu", LISTED)
def test_the_driver_calls_a_device_what_we_say_the_node_calls_it(gpu):
    names = {label(row["name"]) for row in ROWS if row["pci"] == gpu.pci_id}
    assert gpu.product in names, (gpu.product, names)


@every("gpu", LISTED)
def test_the_first_driver_is_the_first_that_lists_it(gpu):
    theirs = next(
        row["first"]
        for row in ROWS
        if row["pci"] == gpu.pci_id and label(row["name"]) == gpu.product
    )
    if gpu.name in DEVIATIONS:
        assert (gpu.first_driver, theirs) == DEVIATIONS[gpu.name][:2]
        return
    assert (gpu.first_driver or OLDEST, theirs) == (theirs, theirs)
    if gpu.first_driver is None:
        assert parse_version("driver", theirs).numbers <= (515, 48, 7)


def test_a_gpu_that_the_driver_does_not_list_has_its_reason_here():
    assert {g.name for g in GPUS.values()} - {p.id for p in LISTED} == set(NOT_LISTED)


def test_the_script_finds_the_first_release_whatever_the_order():
    def readme(*rows):
        return "\n".join(f"| {name} | {pci} |" for name, pci in rows)

    h100, h200 = ("NVIDIA H100 80GB HBM3", "2330 10DE 16C1"), ("NVIDIA H200", "2335")
    found = facts.firsts(
        [("570.9.1", readme(h100, h200)), ("570.10.1", readme(h100)), ("535.43.02", readme(h100))]
    )
    assert found == {
        ("2330", "NVIDIA H100 80GB HBM3"): "535.43.02",
        ("2335", "NVIDIA H200"): "570.9.1",
    }
    assert facts.driver_table(found | {("FFFF", "not ours"): "1.2"}).splitlines() == [
        "pci,name,first",
        "2330,NVIDIA H100 80GB HBM3,535.43.02",
        "2335,NVIDIA H200,570.9.1",
    ]
