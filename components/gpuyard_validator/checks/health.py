"""GPU health: memory errors, temperature, throttled clocks, lowered limits."""

from gpuyard_validator.checks.check import DEVICE, NVML, check, evaluate, evaluate_minimum
from gpuyard_validator.expectations import Expectations
from gpuyard_validator.results import Action, Evidence, Status
from gpuyard_validator.snapshot import Gpu
from gpuyard_validator.thresholds import Quantity, common, threshold_of
from gpuyard_validator.values import require_known

RECOVERY = {
    0: ("none", Action.NONE),
    1: ("reset the GPU", Action.RESET),
    2: ("reboot the node", Action.REBOOT),
    3: ("drain P2P traffic", Action.INVESTIGATE),
    4: ("drain, then reset the GPU", Action.RESET),
    5: ("IMEX: check the NVLink domain", Action.INVESTIGATE),
    6: ("reset the bus", Action.REBOOT),
    7: ("reboot the system", Action.REBOOT),
}
"""Number of the NVML field, from nvml.h."""
HW_SLOWDOWN, SW_THERMAL, HW_THERMAL, POWER_BRAKE = 0x8, 0x20, 0x40, 0x80
_HELD = {HW_SLOWDOWN: "hardware slowdown", HW_THERMAL: "heat", POWER_BRAKE: "power brake"}
_OLD = ("Pascal", "Volta", "Turing")
"""Architectures that retire pages; later ones remap rows."""


def recovery(_: Expectations, gpu: Gpu) -> Evidence:
    """The recovery action that the driver reports."""
    result = require_known(gpu.recovery_action, "the recovery action")
    message, action = RECOVERY.get(
        result, (f"unknown recovery action {result}", Action.INVESTIGATE)
    )
    return evaluate(
        result, 0, NVML, f"the driver reports: {message}" if result else "", action=action
    )


def repairs(_: Expectations, gpu: Gpu) -> Evidence:
    """No unrepairable memory and no pending repair."""
    if require_known(gpu.unrepairable, "the unrepairable memory flag"):
        return evaluate(True, False, NVML, "unrepairable memory", action=Action.REPLACE)
    waits = require_known(gpu.repair_pending, "the pending repair flag")
    return evaluate(waits, False, NVML, "a repair is pending" if waits else "", action=Action.RESET)


def remapped(_: Expectations, gpu: Gpu) -> Evidence:
    """Spare rows are left, and no remapping is pending."""
    if require_known(gpu.remap_failure, "the remapping failure flag"):
        return evaluate(True, False, NVML, "no spare rows are left", action=Action.REPLACE)
    if require_known(gpu.remap_pending, "the pending remapping flag"):
        return evaluate(
            True, False, NVML, "a remapping is pending until the GPU is reset", action=Action.RESET
        )
    most = common(Quantity.REMAPPED_ROWS)
    rows = require_known(gpu.remapped_uncorrectable, "the remapped row count")
    wrong = "too many rows are remapped" if rows >= most.value else ""
    return evaluate(rows, most.value, most.source_text, wrong, unit="rows", status=Status.WARN)


def retired(_: Expectations, gpu: Gpu) -> Evidence:
    """Few pages are retired, and no retirement is pending."""
    if require_known(gpu.retired_pending, "the pending retirement flag"):
        return evaluate(True, False, NVML, "a page retirement is pending", action=Action.REBOOT)
    most, pages = (
        common(Quantity.RETIRED_PAGES),
        require_known(gpu.retired_pages, "the retired page count"),
    )
    wrong = "no spare pages are left" if pages >= most.value else ""
    return evaluate(pages, most.value, most.source_text, wrong, unit="pages", action=Action.REPLACE)


def sram(_: Expectations, gpu: Gpu) -> Evidence:
    """No uncorrected SRAM error (caches and registers); SRAM cannot be remapped."""
    result = require_known(gpu.sram_uncorrected, "the SRAM error count")
    if result:
        return evaluate(
            result, 0, "AzNHC: any is fatal", "uncorrected SRAM errors", action=Action.RESET
        )
    over = gpu.sram_threshold is True
    wrong = "SRAM errors exceed the device's threshold" if over else ""
    return evaluate(over, False, DEVICE, wrong, action=Action.REPLACE)


def dram(_: Expectations, gpu: Gpu) -> Evidence:
    """Uncorrected DRAM errors: row remapping repairs them, so the check warns and does not fail."""
    result = require_known(gpu.dram_uncorrected, "the DRAM error count")
    wrong = "uncorrected DRAM errors; they killed the jobs that ran" if result else ""
    return evaluate(
        result, 0, "gpud: remapped rows decide", wrong, unit="errors", status=Status.WARN
    )


def clocks_held(_: Expectations, gpu: Gpu) -> Evidence:
    """Tests bits, not equality: the value combines several reasons, and idle is one of them."""
    result = require_known(gpu.clock_reasons, "the clock throttle reasons")
    reasons = [message for bit, message in _HELD.items() if result & bit]
    if reasons:
        return evaluate(
            hex(result), "none of 0xc8", NVML, f"clocks throttled: {', '.join(reasons)}"
        )
    warm = "the driver throttles clocks because of heat" if result & SW_THERMAL else ""
    return evaluate(hex(result), "none of 0xe8", NVML, warm, status=Status.WARN)


def temperature(_: Expectations, gpu: Gpu) -> Evidence:
    """Degrees below the device's own slowdown temperature; no single number fits all products."""
    result = require_known(gpu.thermal_margin, "the distance to the slowdown temperature")
    wrong = "the idle GPU is at its slowdown temperature" if result <= 0 else ""
    return evaluate(result, 1, DEVICE, wrong, unit="°C to slowdown")


def power(_: Expectations, gpu: Gpu) -> Evidence:
    """The power limit is the default."""
    result = require_known(gpu.power_limit_mw, "the power limit")
    default = require_known(gpu.power_default_mw, "the default power limit")
    wrong = "the power limit is below the default" if result < default else ""
    return evaluate(result, default, DEVICE, wrong, unit="mW", status=Status.WARN)


def clock_limit(expected: Expectations, gpu: Gpu) -> Evidence:
    """The highest clock that the product reaches."""
    floor = threshold_of(Quantity.MAX_SM_CLOCK, expected.product)
    result = require_known(gpu.max_sm_mhz, "the maximum SM clock")
    assert floor is not None, "the check applies only where a threshold is known"  # noqa: S101
    return evaluate_minimum(
        result,
        floor,
        "MHz",
        "the maximum SM clock is lower than that of other GPUs of this product",
        Status.WARN,
    )


def _remaps(expected: Expectations) -> str:
    return "this architecture retires pages instead" if expected.architecture in _OLD else ""


def _retires(expected: Expectations) -> str:
    return "" if expected.architecture in _OLD else "this architecture remaps rows instead"


def _clock_known(expected: Expectations) -> str:
    known_clock = threshold_of(Quantity.MAX_SM_CLOCK, expected.product)
    return "" if known_clock else "no maximum clock is published for this product"


HEALTH = (
    check("gpu.recovery", recovery),
    check("memory.repair", repairs),
    check("memory.remapped_rows", remapped, _remaps),
    check("memory.retired_pages", retired, _retires),
    check("ecc.sram", sram),
    check("ecc.dram", dram),
    check("clocks.held", clocks_held),
    check("gpu.temperature", temperature),
    check("power.limit", power),
    check("clocks.limit", clock_limit, _clock_known),
)
