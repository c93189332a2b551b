"""Is it well: memory that fails, heat, clocks that are held down, limits that somebody has set."""

from gpuyard_validator.checks.check import DEVICE, NVML, Check, at_least, judged
from gpuyard_validator.expectations import Expectations
from gpuyard_validator.floors import Quantity, common, floor_of
from gpuyard_validator.results import Action, Evidence, Status
from gpuyard_validator.snapshot import Gpu
from gpuyard_validator.values import known

RECOVERY = {
    0: ("none", Action.NONE),
    1: ("reset the GPU", Action.RESET),
    2: ("reboot the node", Action.REBOOT),
    3: ("drain P2P traffic", Action.LOOK),
    4: ("drain, then reset the GPU", Action.RESET),
    5: ("IMEX: look at the NVLink domain", Action.LOOK),
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
    found = known(gpu.recovery_action, "its recovery action")
    said, action = RECOVERY.get(found, (f"action {found}, which is not known here", Action.LOOK))
    return judged(found, 0, NVML, f"the driver says: {said}" if found else "", action=action)


def repairs(_: Expectations, gpu: Gpu) -> Evidence:
    """No memory beyond repair, no repair that waits."""
    if known(gpu.unrepairable, "whether its memory can be repaired"):
        return judged(True, False, NVML, "memory beyond repair", action=Action.REPLACE)
    waits = known(gpu.repair_pending, "whether a repair waits")
    return judged(waits, False, NVML, "a repair waits" if waits else "", action=Action.RESET)


def remapped(_: Expectations, gpu: Gpu) -> Evidence:
    """Spare rows are left, and none waits to be put in."""
    if known(gpu.remap_failure, "whether remapping failed"):
        return judged(True, False, NVML, "no spare rows are left", action=Action.REPLACE)
    if known(gpu.remap_pending, "whether a remap waits"):
        return judged(True, False, NVML, "a remap waits for a reset", action=Action.RESET)
    most = common(Quantity.REMAPPED_ROWS)
    rows = known(gpu.remapped_uncorrectable, "its remapped rows")
    wrong = "many rows have failed" if rows >= most.value else ""
    return judged(rows, most.value, most.said, wrong, unit="rows", status=Status.WARN)


def retired(_: Expectations, gpu: Gpu) -> Evidence:
    """Few pages are retired, and none waits to be."""
    if known(gpu.retired_pending, "whether a page waits"):
        return judged(True, False, NVML, "a page waits to be retired", action=Action.REBOOT)
    most, pages = common(Quantity.RETIRED_PAGES), known(gpu.retired_pages, "its retired pages")
    wrong = "its spare pages are used up" if pages >= most.value else ""
    return judged(pages, most.value, most.said, wrong, unit="pages", action=Action.REPLACE)


def sram(_: Expectations, gpu: Gpu) -> Evidence:
    """No uncorrected error in caches and registers, which nothing can remap."""
    found = known(gpu.sram_uncorrected, "its SRAM errors")
    if found:
        return judged(
            found, 0, "AzNHC: any is fatal", "uncorrected SRAM errors", action=Action.RESET
        )
    over = gpu.sram_threshold is True
    wrong = "SRAM errors are past the device's threshold" if over else ""
    return judged(over, False, DEVICE, wrong, action=Action.REPLACE)


def dram(_: Expectations, gpu: Gpu) -> Evidence:
    """Uncorrected errors of memory: remapping covers them, so they are told, not fatal."""
    found = known(gpu.dram_uncorrected, "its DRAM errors")
    wrong = "uncorrected DRAM errors; jobs that had them have died" if found else ""
    return judged(found, 0, "gpud: remapped rows decide", wrong, unit="errors", status=Status.WARN)


def clocks_held(_: Expectations, gpu: Gpu) -> Evidence:
    """Bits, not equality: several reasons stand in one number, and idle is one of them."""
    found = known(gpu.clock_reasons, "why its clocks are held")
    held = [said for bit, said in _HELD.items() if found & bit]
    if held:
        return judged(hex(found), "none of 0xc8", NVML, f"clocks held by {', '.join(held)}")
    warm = "the driver holds clocks because of heat" if found & SW_THERMAL else ""
    return judged(hex(found), "none of 0xe8", NVML, warm, status=Status.WARN)


def temperature(_: Expectations, gpu: Gpu) -> Evidence:
    """Room until the device slows itself: its own limit, for no one number fits all products."""
    found = known(gpu.thermal_margin, "its distance to slowdown")
    wrong = "it is as hot as makes it slow, without load" if found <= 0 else ""
    return judged(found, 1, DEVICE, wrong, unit="°C to slowdown")


def power(_: Expectations, gpu: Gpu) -> Evidence:
    """Nobody has set a lower limit."""
    found = known(gpu.power_limit_mw, "its power limit")
    default = known(gpu.power_default_mw, "its default power limit")
    wrong = "a lower power limit is set" if found < default else ""
    return judged(found, default, DEVICE, wrong, unit="mW", status=Status.WARN)


def clock_limit(expected: Expectations, gpu: Gpu) -> Evidence:
    """The clock that the product can reach."""
    floor = floor_of(Quantity.MAX_SM_CLOCK, expected.product)
    found = known(gpu.max_sm_mhz, "its highest clock")
    assert floor is not None, "it applies only where there is one"  # noqa: S101
    return at_least(found, floor, "MHz", "its highest clock is lower than others'", Status.WARN)


def _remaps(expected: Expectations) -> str:
    return "it retires pages instead" if expected.architecture in _OLD else ""


def _retires(expected: Expectations) -> str:
    return "" if expected.architecture in _OLD else "it remaps rows instead"


def _clock_known(expected: Expectations) -> str:
    known_clock = floor_of(Quantity.MAX_SM_CLOCK, expected.product)
    return "" if known_clock else "nobody has published what this product reaches"


HEALTH = (
    Check(
        id="gpu.recovery",
        group="health",
        says="the driver asks for a reset, a reboot or more",
        do="do what the reason says; it is the driver's own advice",
        gpu=recovery,
        must=False,
    ),
    Check(
        id="memory.repair",
        group="health",
        says="memory cannot be repaired, or waits for a repair",
        do="reset the GPU for a repair that waits; otherwise replace the node",
        gpu=repairs,
        must=False,
    ),
    Check(
        id="memory.remapped_rows",
        group="health",
        says="spare rows of memory are used up, or a remap waits",
        do="reset the GPU for a remap that waits; otherwise replace the node",
        gpu=remapped,
        applies=_remaps,
    ),
    Check(
        id="memory.retired_pages",
        group="health",
        says="too many pages of memory are retired, or one waits to be",
        do="reboot for a page that waits; otherwise replace the node",
        gpu=retired,
        applies=_retires,
    ),
    Check(
        id="ecc.sram",
        group="health",
        says="caches or registers had errors that nothing corrected",
        do="reset the GPU; when it happens again, replace the node",
        gpu=sram,
    ),
    Check(
        id="ecc.dram",
        group="health",
        says="memory had uncorrected errors since the last reset",
        do="nothing as long as memory.remapped_rows passes",
        gpu=dram,
    ),
    Check(
        id="clocks.held",
        group="health",
        says="the hardware holds the clocks down, without load",
        do="look at cooling and power supply of the node",
        gpu=clocks_held,
    ),
    Check(
        id="gpu.temperature",
        group="health",
        says="the GPU is as hot as slows it, without load",
        do="look at the node's cooling",
        gpu=temperature,
    ),
    Check(
        id="power.limit",
        group="health",
        says="somebody has set a lower power limit",
        do="nvidia-smi -pl with the default, and look who has set it",
        gpu=power,
    ),
    Check(
        id="clocks.limit",
        group="health",
        says="the highest clock is lower than the product's",
        do="nvidia-smi -rgc; compare with another node",
        gpu=clock_limit,
        applies=_clock_known,
    ),
)
