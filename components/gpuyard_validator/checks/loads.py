"""Load on one GPU: it finishes, with correct results, at speed, without throttling."""

from functools import partial
from statistics import median

from gpuyard_validator.checks.check import DEVICE, NVML, PLAN, check, evaluate, responding_gpus
from gpuyard_validator.expectations import QUICK, SOAK, Expectations
from gpuyard_validator.load.record import COPIES, DONE, HARD, HUNG, Load, LoadSample, Rate, Task
from gpuyard_validator.load.thresholds import (
    LoadThreshold,
    matmul_threshold,
    memory_threshold,
    pcie_threshold,
    peer_threshold,
    step_threshold,
)
from gpuyard_validator.results import Action, Evidence, Status
from gpuyard_validator.snapshot import Gpu, Snapshot
from gpuyard_validator.thresholds import Quantity, Threshold, common, threshold_of
from gpuyard_validator.values import (
    Missing,
    MissingReason,
    ReportedByOtherCheck,
    UnknownValue,
    require_known,
)

ECC_ERROR, OUT_OF_MEMORY = 214, 2
"""CUDA_ERROR_ECC_UNCORRECTABLE and CUDA_ERROR_OUT_OF_MEMORY."""
HELD, WARM = 0x8 | 0x40 | 0x80, 0x20
"""Hardware reasons: slowdown, heat, power brake; driver reason: heat."""
BEHIND = 0.05
"""Allowed spread between good GPUs, as in superbench."""
_GIGA, _TERA = 1e9, 1e12


def load_completed(_: Expectations, gpu: Gpu) -> Evidence:
    """The load process finished all its work."""
    load = require_known(gpu.load, "the result of the load")
    if load.ended == DONE and load.uuid != require_known(gpu.uuid, "the UUID"):
        wrong = f"the load ran on another GPU: {load.uuid or 'one without a UUID'}"
        return evaluate(load.uuid, gpu.uuid, NVML, wrong)
    wrong = "" if load.ended == DONE else f"{load.ended}: {load.output}"
    return evaluate(load.ended, DONE, "the load process", wrong, action=_needs(load))


def _needs(load: Load) -> Action:
    if load.ended == HUNG or load.code == ECC_ERROR:
        return Action.RESET
    return Action.INVESTIGATE


def load_results_correct(_: Expectations, gpu: Gpu) -> Evidence:
    """Copies are identical, and matrix products are correct."""
    bad = {each.task: each.wrong for each in _done(gpu).rates if each.wrong}
    wrong = f"wrong elements without an error: {', '.join(sorted(bad))}" if bad else ""
    result = sum(bad.values())
    return evaluate(result, 0, "arithmetic", wrong, unit="elements", action=Action.REPLACE)


def memory(expected: Expectations, gpu: Gpu) -> Evidence:
    """Copies within GPU memory."""
    return _fast(gpu, Task.MEMORY, memory_threshold(expected.product))


def host_copy_rate(task: Task, expected: Expectations, gpu: Gpu) -> Evidence:
    """Copies between host and GPU."""
    return _fast(gpu, task, pcie_threshold(expected.product))


def peer_copy_rate(expected: Expectations, gpu: Gpu) -> Evidence:
    """Copies to each other GPU; the slowest counts, and all GPUs must be reachable."""
    result = _rates(gpu, Task.PEERS)
    required = expected.gpus - 1
    if len(result) < required:
        wrong = "no peer access to some of the other GPUs"
        return evaluate(len(result), required, PLAN, wrong, unit="GPUs")
    slowest = min(result, key=_value)
    threshold = peer_threshold(expected.product, expected.nvlink_gbps)
    return _against(slowest, threshold, f"to GPU {slowest.other}: ")


def matmul_rate(expected: Expectations, gpu: Gpu) -> Evidence:
    """Matrix products."""
    return _fast(gpu, Task.MATMUL, matmul_threshold(expected.product))


def training_step_rate(expected: Expectations, gpu: Gpu) -> Evidence:
    """Training steps on all GPUs of the node at once."""
    return _fast(gpu, Task.STEP, step_threshold(expected.product))


def gpu_rate_spread(expected: Expectations, machine: Snapshot) -> Evidence:
    """GPUs of one node have the same rate; another check reports GPUs below their threshold."""
    threshold = matmul_threshold(expected.product)
    floor = threshold.floor if threshold else 0.0
    rate_by_gpu = {}
    for gpu in responding_gpus(machine):
        (rate,) = _rates(gpu, Task.MATMUL)[:1] or (None,)
        if rate is None:
            raise UnknownValue("the rate of matrix products", Missing(MissingReason.UNASKED))
        if (value := _value(rate)) >= floor:
            rate_by_gpu[gpu.index] = value
    if len(rate_by_gpu) < 2:  # noqa: PLR2004
        raise ReportedByOtherCheck("work.product")
    middle = median(rate_by_gpu.values())
    least = round((1 - BEHIND) * middle, 1)
    slow = [f"gpu {n} {value:g}" for n, value in rate_by_gpu.items() if value < least]
    wrong = f"slower than the others: {', '.join(slow)}" if slow else ""
    source = f"{1 - BEHIND:g} of the node's median"
    return evaluate(
        min(rate_by_gpu.values()), least, source, wrong, unit="TFLOPS", status=Status.WARN
    )


def clocks(_: Expectations, gpu: Gpu) -> Evidence:
    """Only the power limit throttles the clocks under load."""
    bits = 0
    for each in _seen(gpu, HARD):
        bits |= require_known(each.reasons, "the clock throttle reasons")
    held, warm = bits & HELD, bits & WARM
    wrong = "the hardware throttles clocks under load" if held else ""
    if warm and not held:
        wrong = "the driver throttles clocks because of heat under load"
    status = Status.FAIL if held else Status.WARN
    floor = f"none of {HELD | WARM:#x}"
    return evaluate(f"{bits:#x}", floor, NVML, wrong, status=status)


def temperature(_: Expectations, gpu: Gpu) -> Evidence:
    """The GPU stays below its slowdown temperature under load."""
    result = min(require_known(each.margin, "the thermal margin") for each in _seen(gpu, HARD))
    wrong = "" if result > 0 else "the GPU reaches its slowdown temperature under load"
    return evaluate(result, 1, DEVICE, wrong, unit="°C to slowdown")


def power(_: Expectations, gpu: Gpu) -> Evidence:
    """Power draw of training steps; a low draw shows a power cap that NVML does not report."""
    limit = require_known(gpu.power_limit_mw, "the power limit")
    milliwatts = max(
        require_known(each.milliwatts, "the power draw") for each in _seen(gpu, (Task.STEP,))
    )
    floor = round(common(Quantity.POWER_SHARE).value * limit / 1000)
    result = round(milliwatts / 1000)
    wrong = "the GPU draws less power than this load needs" if result < floor else ""
    source = common(Quantity.POWER_SHARE).source_text
    return evaluate(result, floor, source, wrong, unit="W", status=Status.WARN)


def memory_errors_under_load(_: Expectations, gpu: Gpu) -> Evidence:
    """No memory errors and no remapped rows appear under load."""
    seen = _all(gpu)
    wrong_bits = max(require_known(each.uncorrected, "the memory error count") for each in seen)
    rows = max(require_known(each.remapped, "the remapped row count") for each in seen)
    wrong = "uncorrected errors appeared under load" if wrong_bits else ""
    wrong = wrong or ("rows of memory were remapped under load" if rows else "")
    result = wrong_bits or rows
    return evaluate(result, 0, NVML, wrong, unit="errors", action=Action.RESET)


def pcie(expected: Expectations, gpu: Gpu) -> Evidence:
    """Under load, the PCIe link runs at the generation and width of the slot."""
    seen = _seen(gpu, COPIES)
    generation = max(
        require_known(each.pcie_generation, "the PCIe link generation") for each in seen
    )
    width = max(require_known(each.pcie_width, "the PCIe link width") for each in seen)
    for result, quantity, problem in (
        (generation, Quantity.PCIE_GENERATION, "the PCIe link is slower than its slot under load"),
        (width, Quantity.PCIE_WIDTH, "the PCIe link has fewer lanes than its slot under load"),
    ):
        floor = _slot_floor(expected, quantity)
        if result < floor.value:
            return evaluate(result, floor.value, floor.source_text, problem, unit=quantity.value)
    return evaluate(generation, generation, DEVICE, unit=Quantity.PCIE_GENERATION.value)


def _slot_floor(expected: Expectations, quantity: Quantity) -> Threshold:
    """The threshold of the idle slot; where a lower one is accepted, the idle check reports it."""
    floor = threshold_of(quantity, expected.product) or common(quantity)
    name = "pcie.width" if quantity is Quantity.PCIE_WIDTH else "pcie.generation"
    lower = [each.value for each in expected.accepted if each.check == name]
    return Threshold(min([floor.value, *lower]), floor.source)


def _done(gpu: Gpu) -> Load:
    """A load that did not finish has no valid measurements."""
    load = require_known(gpu.load, "the result of the load")
    if load.ended != DONE:
        raise ReportedByOtherCheck("work.ran")
    return load


def _rates(gpu: Gpu, task: Task) -> list[Rate]:
    load = _done(gpu)
    task_rates = [each for each in load.rates if each.task == task]
    if not task_rates and load.missing_library:
        raise UnknownValue(
            f"the rate of {task}", Missing(MissingReason.NO_LIBRARY, load.missing_library)
        )
    return task_rates


def _fast(gpu: Gpu, task: Task, threshold: LoadThreshold | None) -> Evidence:
    result = _rates(gpu, task)
    if not result:
        raise UnknownValue(f"the rate of {task}", Missing(MissingReason.UNASKED))
    return _against(result[0], threshold)


def _against(rate: Rate, threshold: LoadThreshold | None, where: str = "") -> Evidence:
    result, unit = _value(rate), _unit(rate)
    if threshold is None:
        return evaluate(result, None, "no measurement of this product is published", unit=unit)
    floor = round(threshold.floor, 1)
    wrong = f"{where}slower than other GPUs of this product" if result < floor else ""
    status = Status.FAIL if threshold.is_enforced else Status.WARN
    return evaluate(result, floor, threshold.said, wrong, unit=unit, status=status)


def _value(rate: Rate) -> float:
    scale = _TERA if rate.task in HARD else _GIGA
    if rate.seconds <= 0:
        raise UnknownValue(
            f"the rate of {rate.task}", Missing(MissingReason.MALFORMED, "the time is zero")
        )
    return round(rate.amount / rate.seconds / scale, 1)


def _unit(rate: Rate) -> str:
    return "TFLOPS" if rate.task in HARD else "GB/s"


def _all(gpu: Gpu) -> tuple[LoadSample, ...]:
    seen = _done(gpu).seen
    if not seen:
        raise UnknownValue("the GPU state under load", Missing(MissingReason.UNASKED))
    return seen


def _seen(gpu: Gpu, tasks: tuple[Task, ...]) -> list[LoadSample]:
    loads = [each for each in _all(gpu) if each.task in tasks]
    if not loads:
        raise UnknownValue("the GPU state under this load", Missing(MissingReason.UNASKED))
    return loads


def _loaded(expected: Expectations) -> str:
    if expected.profile == QUICK:
        return "profile quick puts no load on GPUs"
    if expected.sharing != "none":
        return "its GPUs are partitioned or shared: the load of one share does not measure the GPU"
    return ""


def _soaked(expected: Expectations) -> str:
    return _loaded(expected) or ("" if expected.profile == SOAK else "only profile soak runs it")


def _linked(expected: Expectations) -> str:
    if reason := _loaded(expected):
        return reason
    return "" if expected.nvlink_gbps and expected.gpus > 1 else "its GPUs have no NVLink"


def _several(expected: Expectations) -> str:
    if reason := _loaded(expected):
        return reason
    return "" if expected.gpus > 1 else "the node has only one GPU"


LOADS = (
    check("work.ran", load_completed, _loaded),
    check("work.results", load_results_correct, _loaded),
    check("work.memory", memory, _loaded),
    check("work.to_device", partial(host_copy_rate, Task.TO_DEVICE), _loaded),
    check("work.to_host", partial(host_copy_rate, Task.TO_HOST), _loaded),
    check("work.peers", peer_copy_rate, _linked),
    check("work.product", matmul_rate, _loaded),
    check("work.spread", gpu_rate_spread, _several),
    check("work.step", training_step_rate, _soaked),
    check("work.clocks", clocks, _loaded),
    check("work.temperature", temperature, _loaded),
    check("work.power", power, _soaked),
    check("work.errors", memory_errors_under_load, _loaded),
    check("work.pcie", pcie, _loaded),
)
