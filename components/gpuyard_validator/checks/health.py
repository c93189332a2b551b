"""Is it well: memory that fails, heat, clocks that are held down, limits that somebody has set."""

from gpuyard_validator.checks.check import DEVICE, NVML, Check, at_least, evaluate
from gpuyard_validator.expectations import Expectations
from gpuyard_validator.results import Action, Evidence, Status
from gpuyard_validator.snapshot import Gpu
from gpuyard_validator.thresholds import Quantity, common, threshold_of
from gpuyard_validator.values import known

RECOVERY = {
    0: ("none", Action.NONE),
    1: ("reset the GPU", Action.RESET),
    2: ("reboot the node", Action.REBOOT),
    3: ("drain P2P traffic", Action.INVESTIGATE),
    4: ("drain, then reset the GPU", Action.RESET),
    5: ("IMEX: look at the NVLink domain", Action.INVESTIGATE),
    6: ("reset the bus", Action.REBOOT),
    7: ("reboot the system", Action.REBOOT),
}
"""NVML's field 230, as its header numbers it."""
HW_SLOWDOWN, SW_THERMAL, HW_THERMAL, POWER_BRAKE = 0x8, 0x20, 0x40, 0x80
_HELD = {HW_SLOWDOWN: "hardware slowdown", HW_THERMAL: "heat", POWER_BRAKE: "power brake"}
_OLD = ("Pascal", "Volta", "Turing")
"""Architectures that retire pages; later ones remap rows."""


def recovery(_: Expectations, gpu: Gpu) -> Evidence:
    """What the driver itself says is to be done."""
    result = known(gpu.recovery_action, "its recovery action")
    message, action = RECOVERY.get(
        result, (f"action {result}, which is not known here", Action.INVESTIGATE)
    )
    return evaluate(result, 0, NVML, f"the driver says: {message}" if result else "", action=action)


def repairs(_: Expectations, gpu: Gpu) -> Evidence:
    """No memory beyond repair, no repair that waits."""
    if known(gpu.unrepairable, "whether its memory can be repaired"):
        return evaluate(True, False, NVML, "memory beyond repair", action=Action.REPLACE)
    waits = known(gpu.repair_pending, "whether a repair waits")
    return evaluate(waits, False, NVML, "a repair waits" if waits else "", action=Action.RESET)


def remapped(_: Expectations, gpu: Gpu) -> Evidence:
    """Spare rows are left, and none waits to be put in."""
    if known(gpu.remap_failure, "whether remapping failed"):
        return evaluate(True, False, NVML, "no spare rows are left", action=Action.REPLACE)
    if known(gpu.remap_pending, "whether a remap waits"):
        return evaluate(True, False, NVML, "a remap waits for a reset", action=Action.RESET)
    most = common(Quantity.REMAPPED_ROWS)
    rows = known(gpu.remapped_uncorrectable, "its remapped rows")
    wrong = "many rows have failed" if rows >= most.value else ""
    return evaluate(rows, most.value, most.source_text, wrong, unit="rows", status=Status.WARN)


def retired(_: Expectations, gpu: Gpu) -> Evidence:
    """Few pages are retired, and none waits to be."""
    if known(gpu.retired_pending, "whether a page waits"):
        return evaluate(True, False, NVML, "a page waits to be retired", action=Action.REBOOT)
    most, pages = common(Quantity.RETIRED_PAGES), known(gpu.retired_pages, "its retired pages")
    wrong = "its spare pages are used up" if pages >= most.value else ""
    return evaluate(pages, most.value, most.source_text, wrong, unit="pages", action=Action.REPLACE)


def sram(_: Expectations, gpu: Gpu) -> Evidence:
    """No uncorrected error in caches and registers, which nothing can remap."""
    result = known(gpu.sram_uncorrected, "its SRAM errors")
    if result:
        return evaluate(
            result, 0, "AzNHC: any is fatal", "uncorrected SRAM errors", action=Action.RESET
        )
    over = gpu.sram_threshold is True
    wrong = "SRAM errors are past the device's threshold" if over else ""
    return evaluate(over, False, DEVICE, wrong, action=Action.REPLACE)


def dram(_: Expectations, gpu: Gpu) -> Evidence:
    """Uncorrected errors of memory: remapping covers them, so they are told, not fatal."""
    result = known(gpu.dram_uncorrected, "its DRAM errors")
    wrong = "uncorrected DRAM errors; jobs that had them have died" if result else ""
    return evaluate(
        result, 0, "gpud: remapped rows decide", wrong, unit="errors", status=Status.WARN
    )


def clocks_held(_: Expectations, gpu: Gpu) -> Evidence:
    """Bits, not equality: several reasons stand in one number, and idle is one of them."""
    result = known(gpu.clock_reasons, "why its clocks are held")
    reasons = [message for bit, message in _HELD.items() if result & bit]
    if reasons:
        return evaluate(hex(result), "none of 0xc8", NVML, f"clocks held by {', '.join(reasons)}")
    warm = "the driver holds clocks because of heat" if result & SW_THERMAL else ""
    return evaluate(hex(result), "none of 0xe8", NVML, warm, status=Status.WARN)


def temperature(_: Expectations, gpu: Gpu) -> Evidence:
    """Room until the device slows itself: its own limit, for no one number fits all products."""
    result = known(gpu.thermal_margin, "its distance to slowdown")
    wrong = "it is as hot as makes it slow, without load" if result <= 0 else ""
    return evaluate(result, 1, DEVICE, wrong, unit="°C to slowdown")


def power(_: Expectations, gpu: Gpu) -> Evidence:
    """Nobody has set a lower limit."""
    result = known(gpu.power_limit_mw, "its power limit")
    default = known(gpu.power_default_mw, "its default power limit")
    wrong = "a lower power limit is set" if result < default else ""
    return evaluate(result, default, DEVICE, wrong, unit="mW", status=Status.WARN)


def clock_limit(expected: Expectations, gpu: Gpu) -> Evidence:
    """The clock that the product can reach."""
    floor = threshold_of(Quantity.MAX_SM_CLOCK, expected.product)
    result = known(gpu.max_sm_mhz, "its highest clock")
    assert floor is not None, "it applies only where there is one"  # noqa: S101
    return at_least(result, floor, "MHz", "its highest clock is lower than others'", Status.WARN)


def _remaps(expected: Expectations) -> str:
    return "it retires pages instead" if expected.architecture in _OLD else ""


def _retires(expected: Expectations) -> str:
    return "" if expected.architecture in _OLD else "it remaps rows instead"


def _clock_known(expected: Expectations) -> str:
    known_clock = threshold_of(Quantity.MAX_SM_CLOCK, expected.product)
    return "" if known_clock else "nobody has published what this product reaches"


HEALTH = (
    Check(
        id="gpu.recovery",
        group="health",
        description="the driver asks for a reset, a reboot or more",
        remediation="do what the reason says; it is the driver's own advice",
        gpu=recovery,
        is_required=False,
    ),
    Check(
        id="memory.repair",
        group="health",
        description="memory cannot be repaired, or waits for a repair",
        remediation="reset the GPU for a repair that waits; otherwise replace the node",
        gpu=repairs,
        is_required=False,
    ),
    Check(
        id="memory.remapped_rows",
        group="health",
        description="spare rows of memory are used up, or a remap waits",
        remediation="reset the GPU for a remap that waits; otherwise replace the node",
        gpu=remapped,
        applies=_remaps,
    ),
    Check(
        id="memory.retired_pages",
        group="health",
        description="too many pages of memory are retired, or one waits to be",
        remediation="reboot for a page that waits; otherwise replace the node",
        gpu=retired,
        applies=_retires,
    ),
    Check(
        id="ecc.sram",
        group="health",
        description="caches or registers had errors that nothing corrected",
        remediation="reset the GPU; when it happens again, replace the node",
        gpu=sram,
    ),
    Check(
        id="ecc.dram",
        group="health",
        description="memory had uncorrected errors since the last reset",
        remediation="nothing as long as memory.remapped_rows passes",
        gpu=dram,
    ),
    Check(
        id="clocks.held",
        group="health",
        description="the hardware holds the clocks down, without load",
        remediation="look at cooling and power supply of the node",
        gpu=clocks_held,
    ),
    Check(
        id="gpu.temperature",
        group="health",
        description="the GPU is as hot as slows it, without load",
        remediation="look at the node's cooling",
        gpu=temperature,
    ),
    Check(
        id="power.limit",
        group="health",
        description="somebody has set a lower power limit",
        remediation="nvidia-smi -pl with the default, and look who has set it",
        gpu=power,
    ),
    Check(
        id="clocks.limit",
        group="health",
        description="the highest clock is lower than the product's",
        remediation="nvidia-smi -rgc; compare with another node",
        gpu=clock_limit,
        applies=_clock_known,
    ),
)
