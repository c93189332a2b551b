"""The floors that a plan knows are what the validator holds nodes against; `make golden` writes them."""

import json
from dataclasses import replace

import sizes
from gpuyard_core.catalogue.cluster.check_thresholds import (
    CheckThreshold,
    adjustable_checks,
    row_key,
)
from gpuyard_core.catalogue.gpus import GPUS
from gpuyard_validator.checks import CHECKS
from gpuyard_validator.expectations import FULL, QUICK
from gpuyard_validator.load.thresholds import (
    matmul_threshold,
    memory_threshold,
    pcie_threshold,
    peer_threshold,
    step_threshold,
)
from gpuyard_validator.nccl.arithmetic import GIB, Operation
from gpuyard_validator.nccl.thresholds import NVLINK, PCIE, Shape, bandwidth_threshold, measured
from gpuyard_validator.thresholds import Quantity, common, threshold_of
from kit.cases.hardware import expected
from kit.every import every

TABLE = sizes.ROOT / "components/gpuyard_core/catalogue/tables/check_floors.json"
NVLINKS = {gpu.product: gpu.nvlink_gbps for gpu in GPUS.values()}
H100 = "NVIDIA-H100-80GB-HBM3"


def slot(quantity):
    def found(product):
        floor = threshold_of(quantity, product) or common(quantity)
        return floor.value, floor.source_text

    return found


def rate(function):
    def found(product):
        one = function(product)
        return (round(one.floor, 1), one.said) if one else None

    return found


OF_GPU = {
    "pcie.width": slot(Quantity.PCIE_WIDTH),
    "pcie.generation": slot(Quantity.PCIE_GENERATION),
    "work.memory": rate(memory_threshold),
    "work.to_device": rate(pcie_threshold),
    "work.to_host": rate(pcie_threshold),
    "work.peers": rate(lambda p: peer_threshold(p, NVLINKS[p]) if NVLINKS[p] else None),
    "work.product": rate(matmul_threshold),
    "work.step": rate(step_threshold),
}


def together(operation, product, gpus, nodes, way):
    """As the program asks it: messages of 8 GiB, adapters that are never what holds it up."""
    shape = Shape(
        product=product, gpus=gpus, nodes=nodes, operation=operation, size=8 * GIB, way=way,
        nvlink=NVLINKS.get(product, 0), network=1e6,
    )  # fmt: skip
    found = bandwidth_threshold(shape)
    return round(found.floor, 1), found.said


def rows(operation):
    mine = [each for each in measured() if each.operation == operation]
    asked = [(each.product, each.gpus, each.nodes, each.way) for each in mine]
    return {row_key(*one): together(operation, *one) for one in asked}


def nobody_measured(operation, product):
    """Of a number of nodes of which there is no row, and of which none is asked for."""
    return together(operation, product, 9, 1, NVLINK if NVLINKS[product] else PCIE)


def floors(name):
    if name in OF_GPU:
        found = {product: OF_GPU[name](product) for product in sorted(NVLINKS)}
        return {product: floor for product, floor in found.items() if floor}
    operation = Operation(name.removeprefix("nccl."))
    return {product: nobody_measured(operation, product) for product in sorted(NVLINKS)}


def runs(check, profile):
    return not check.inapplicable_reason(replace(expected("H100-loaded"), profile=profile))


def row(check):
    return {
        "unit": check.unit,
        "at_work": not runs(check, QUICK),
        "soak": not runs(check, FULL),
        "floors": floors(check.id),
        "rows": rows(check.id.removeprefix("nccl.")) if check.group == "nccl" else {},
    }


def written(value, depth, margin=""):
    """JSON with one floor a line."""
    if not depth or not value or not isinstance(value, dict):
        return json.dumps(value)
    inner = f"{margin} "
    lines = [f"{inner}{json.dumps(k)}: {written(v, depth - 1, inner)}" for k, v in value.items()]
    return "{\n" + ",\n".join(lines) + f"\n{margin}}}"


def test_the_table_is_what_the_validator_says(golden):
    found = {name: row(check) for name, check in CHECKS.items() if check.unit}
    golden(TABLE, written(found, 3) + "\n")


@every(
    "check, product, gpus, nodes, way, value",
    [
        ("nccl.all_reduce", H100, 8, 1, "nvlink", 325.6),
        ("nccl.all_reduce", H100, 8, 2, "efa", 292.2),
        ("nccl.all_reduce", H100, 8, 3, "efa", 270.0),
        ("nccl.all_reduce", "NVIDIA-L4", 4, 2, "tcp", 1.2),
        ("work.memory", H100, 8, 1, "nvlink", 1905.0),
        ("pcie.width", "Tesla-T4", 1, 1, "pcie", 8),
        ("work.peers", "NVIDIA-L4", 4, 1, "pcie", None),
        ("work.memory", "nobody's", 8, 1, "nvlink", None),
    ],
)
def test_a_floor_is_found_by_what_runs_on_what(check, product, gpus, nodes, way, value):
    found = adjustable_checks()[check].threshold_of(product, gpus, nodes, way)
    assert (found and found.value) == value
    assert found is None or isinstance(found, CheckThreshold)


def test_what_puts_gpus_to_work_is_known_by_its_profile():
    found = adjustable_checks()
    assert (found["pcie.width"].runs_under_load, found["pcie.width"].runs_in_soak) == (False, False)
    assert (found["work.memory"].runs_under_load, found["work.memory"].runs_in_soak) == (
        True,
        False,
    )
    assert (found["work.step"].runs_under_load, found["work.step"].runs_in_soak) == (True, True)
    assert found["nccl.all_to_all"].unit == "GB/s"
