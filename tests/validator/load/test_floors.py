"""Floors of one GPU: below what it is sold with, and that below what its clocks and wires can carry."""

import pytest

from gpuyard_core.catalogue.gpus import GPUS
from gpuyard_validator.load.thresholds import (
    OF_MEASURED,
    matmul_threshold,
    memory_threshold,
    pcie_threshold,
    peer_threshold,
    step_threshold,
)
from gpuyard_validator.nccl.thresholds import pcie_gbps
from gpuyard_validator.thresholds import Quantity, gpus, threshold_of
from kit.cases.hardware import CARDS, PRODUCTS
from kit.every import every

# Bits of the memory's bus and Gbit/s of each: boards' data sheets and memory clocks of nvidia-smi captures.
WIRES = {
    "T4": (256, 10.0),
    "L4": (192, 12.5),
    "L40S": (384, 18.0),
    "A100-40": (5120, 2.43),
    "A100-80": (5120, 3.186),
    "H100": (5120, 5.238),
    "H200": (6144, 6.402),
    "B200": (8192, 7.992),
    "GB200": (8192, 7.992),
    "RTX6000": (512, 25.0),
}
# Multiprocessors, and operations that tensor cores of each do in a clock: dense, fp16 or bf16 into float32.
CORES = {
    "T4": (40, 1024),
    "L4": (58, 1024),
    "L40S": (142, 1024),
    "A100-40": (108, 2048),
    "A100-80": (108, 2048),
    "H100": (132, 4096),
    "H200": (132, 4096),
    "B200": (148, 8192),
    "GB200": (152, 8192),
    "RTX6000": (188, 1024),
}
ROUNDED = 1.002
"""Sheets round: an A100 has 311.9 TFLOPS and is sold with 312."""


def test_every_product_has_a_row_and_every_row_a_product():
    assert set(WIRES) == set(CORES) == set(PRODUCTS)
    for sheet in ("memory_sheet", "matmul_sheet"):
        assert {n for n, row in gpus().items() if sheet in row} == {
            *PRODUCTS.values(),
            "NVIDIA-A10G",
        }


@every("name", PRODUCTS)
def test_a_floor_is_below_the_sheet_and_the_sheet_below_the_wire(name):
    product, card = PRODUCTS[name], CARDS[name]
    bits, rate = WIRES[name]
    cores, operations = CORES[name]
    tflops = cores * operations * card.sm_mhz / 1e6
    for kind, threshold, wire in (
        ("memory", memory_threshold(product), bits * rate / 8),
        ("matmul", matmul_threshold(product), tflops),
    ):
        sheet = gpus()[product][f"{kind}_sheet"].value
        measured = gpus()[product].get(kind)
        assert 0.3 <= threshold.floor / sheet <= 1.0
        assert sheet <= wire * ROUNDED, f"{sheet} of {wire}"
        assert threshold.floor <= (measured.value if measured else sheet) <= sheet
    assert step_threshold(product).floor < matmul_threshold(product).floor


@every("name", PRODUCTS)
def test_links_are_held_below_their_rates(name):
    product, card = PRODUCTS[name], CARDS[name]
    slot = pcie_gbps(product)
    assert 0.35 * slot <= pcie_threshold(product).floor <= slot
    if card.nvlink:
        uni = card.nvlink / 2
        assert 0.35 * uni <= peer_threshold(product, card.nvlink).floor <= uni


def test_what_nobody_has_measured_says_so_and_only_warns():
    for held in (
        memory_threshold(PRODUCTS["A100-40"]),
        matmul_threshold(PRODUCTS["L4"]),
        pcie_threshold(PRODUCTS["T4"]),
        peer_threshold(PRODUCTS["B200"], 1800),
    ):
        assert held.said.startswith("derived, not measured: ")
        assert not held.is_enforced
    firm = memory_threshold(PRODUCTS["H100"])
    assert (firm.floor, firm.is_enforced) == (OF_MEASURED * 2540, True)
    assert (
        firm.said
        == "0.75 of 2540, DCGM 4.6.0 nvvs/diag-skus.yaml.in, STREAM triad as measured (2026-11-25)"
    )


@every(
    ("product", "floor"),
    [
        (PRODUCTS["GB200"], 2602.5),
        (PRODUCTS["RTX6000"], 1110.0),
        ("NVIDIA-B300-SXM6-AC", 4623.36),
        ("NVIDIA-GB300", 4522.5),
        ("NVIDIA-H100-NVL", 2043.0),
        ("NVIDIA-RTX-PRO-4500-Blackwell-Server-Edition", 554.25),
    ],
)
def test_a_measurement_that_only_dcgm_has_warns_at_its_own_minimum(product, floor):
    held = memory_threshold(product)
    assert (held.floor, held.is_enforced) == (floor, False)
    assert held.said == (
        f"0.75 of {floor / 0.75:g}, DCGM 4.6.0 nvvs/diag-skus.yaml.in, STREAM triad as measured (2026-11-25);"
        " not measured elsewhere"
    )


def test_products_with_a_floor_of_memory_alone_are_in_the_catalogue_and_have_no_other_floor():
    products = {gpu.product for gpu in GPUS.values()}
    alone = [name for name, row in gpus().items() if set(row) == {"memory"}]
    assert len(alone) == 4
    for product in alone:
        assert product in products
        assert (matmul_threshold(product), step_threshold(product)) == (None, None)


def test_a_product_that_nobody_knows_has_no_floor_and_one_that_warns_warns_by_steps_too():
    assert (memory_threshold("X"), matmul_threshold("X"), step_threshold("X")) == (None, None, None)
    assert not step_threshold(PRODUCTS["L4"]).is_enforced
    assert (
        step_threshold(PRODUCTS["H100"]).said
        == f"derived: 0.85 of ({matmul_threshold(PRODUCTS['H100']).said})"
    )


# The floor of DCGM 4.6.0 (nvvs/diag-skus.yaml.in), and ours: as measured, or half of the sheet.
@every("name, theirs, meant", [("H200", 2.333, 3195.0), ("A100-40", 137.5, 777.5)])
def test_rows_of_dcgm_that_never_fail_are_not_copied(name, theirs, meant):
    product = PRODUCTS[name]
    assert theirs / gpus()[product]["memory_sheet"].value < 0.35, (
        "no machine that answers falls below it"
    )
    assert memory_threshold(product).floor == pytest.approx(meant)


def test_the_sheet_of_a_card_is_that_of_its_own_clock():
    """The workstation's card of this name is faster: 2617 MHz make 504 TFLOPS."""
    product = PRODUCTS["RTX6000"]
    assert threshold_of(Quantity.MAX_SM_CLOCK, product) is None
    assert gpus()[product]["matmul_sheet"].value * 1e6 <= 188 * 1024 * CARDS["RTX6000"].sm_mhz
