"""What one GPU has shown at work: that it ends, rightly, fast, and without being held."""

from functools import partial
from statistics import median

from gpuyard_validator.checks.check import DEVICE, NVML, PLAN, Check, alive, evaluate
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
from gpuyard_validator.values import Missing, MissingReason, ReportedBy, UnknownValue, known

ECC_ERROR, OUT_OF_MEMORY = 214, 2
"""CUDA_ERROR_ECC_UNCORRECTABLE and CUDA_ERROR_OUT_OF_MEMORY."""
HELD, WARM = 0x8 | 0x40 | 0x80, 0x20
"""Reasons of the hardware: slowdown, heat, power brake; and of the driver: heat."""
BEHIND = 0.05
"""superbench takes as much for the spread of a good node."""
_GIGA, _TERA = 1e9, 1e12


def ran(_: Expectations, gpu: Gpu) -> Evidence:
    """Its process has ended by itself, having done all."""
    load = known(gpu.load, "how it works")
    if load.ended == DONE and load.uuid != known(gpu.uuid, "its UUID"):
        wrong = f"another GPU has worked in its place: {load.uuid or 'one without a UUID'}"
        return evaluate(load.uuid, gpu.uuid, NVML, wrong)
    wrong = "" if load.ended == DONE else f"{load.ended}: {load.output}"
    return evaluate(load.ended, DONE, "its own process", wrong, action=_needs(load))


def _needs(load: Load) -> Action:
    if load.ended == HUNG or load.code == ECC_ERROR:
        return Action.RESET
    return Action.INVESTIGATE


def results(_: Expectations, gpu: Gpu) -> Evidence:
    """Copies are copies, and products what arithmetic says."""
    bad = {each.task: each.wrong for each in _done(gpu).rates if each.wrong}
    wrong = f"wrong elements, and no error: {', '.join(sorted(bad))}" if bad else ""
    result = sum(bad.values())
    return evaluate(result, 0, "arithmetic", wrong, unit="elements", action=Action.REPLACE)


def memory(expected: Expectations, gpu: Gpu) -> Evidence:
    """Copies inside its memory."""
    return _fast(gpu, Task.MEMORY, memory_threshold(expected.product))


def copies(task: Task, expected: Expectations, gpu: Gpu) -> Evidence:
    """Copies between host and GPU."""
    return _fast(gpu, task, pcie_threshold(expected.product))


def peers(expected: Expectations, gpu: Gpu) -> Evidence:
    """Copies to each other GPU; the slowest counts, and all must be there."""
    result = _rates(gpu, Task.PEERS)
    required = expected.gpus - 1
    if len(result) < required:
        wrong = "it shares no memory with some of the others"
        return evaluate(len(result), required, PLAN, wrong, unit="GPUs")
    slowest = min(result, key=_value)
    threshold = peer_threshold(expected.product, expected.nvlink_gbps)
    return _against(slowest, threshold, f"to GPU {slowest.other}: ")


def product(expected: Expectations, gpu: Gpu) -> Evidence:
    """Products of matrices."""
    return _fast(gpu, Task.MATMUL, matmul_threshold(expected.product))


def step(expected: Expectations, gpu: Gpu) -> Evidence:
    """Steps of a training, all GPUs of the node at once."""
    return _fast(gpu, Task.STEP, step_threshold(expected.product))


def spread(expected: Expectations, machine: Snapshot) -> Evidence:
    """GPUs of one node are alike; of those below their floor another check tells."""
    threshold = matmul_threshold(expected.product)
    floor = threshold.floor if threshold else 0.0
    rate_by_gpu = {}
    for gpu in alive(machine):
        (rate,) = _rates(gpu, Task.MATMUL)[:1] or (None,)
        if rate is None:
            raise UnknownValue("its rate of products", Missing(MissingReason.UNASKED))
        if (value := _value(rate)) >= floor:
            rate_by_gpu[gpu.index] = value
    if len(rate_by_gpu) < 2:  # noqa: PLR2004
        raise ReportedBy("work.product")
    middle = median(rate_by_gpu.values())
    least = round((1 - BEHIND) * middle, 1)
    slow = [f"gpu {n} {value:g}" for n, value in rate_by_gpu.items() if value < least]
    wrong = f"slower than the others: {', '.join(slow)}" if slow else ""
    source = f"{1 - BEHIND:g} of the node's median"
    return evaluate(
        min(rate_by_gpu.values()), least, source, wrong, unit="TFLOPS", status=Status.WARN
    )


def clocks(_: Expectations, gpu: Gpu) -> Evidence:
    """Nothing but its power limit holds the clocks down while it computes."""
    bits = 0
    for each in _seen(gpu, HARD):
        bits |= known(each.reasons, "what holds its clocks")
    held, warm = bits & HELD, bits & WARM
    wrong = "the hardware holds clocks down under load" if held else ""
    if warm and not held:
        wrong = "the driver holds clocks because of heat, under load"
    status = Status.FAIL if held else Status.WARN
    floor = f"none of {HELD | WARM:#x}"
    return evaluate(f"{bits:#x}", floor, NVML, wrong, status=status)


def temperature(_: Expectations, gpu: Gpu) -> Evidence:
    """It stays below what slows it down."""
    result = min(known(each.margin, "its thermal margin") for each in _seen(gpu, HARD))
    wrong = "" if result > 0 else "it is as hot as makes it slow, under load"
    return evaluate(result, 1, DEVICE, wrong, unit="°C to slowdown")


def power(_: Expectations, gpu: Gpu) -> Evidence:
    """It draws what steps of a training draw; less is a cap that nobody has told NVML of."""
    limit = known(gpu.power_limit_mw, "its power limit")
    milliwatts = max(known(each.milliwatts, "its power") for each in _seen(gpu, (Task.STEP,)))
    floor = round(common(Quantity.POWER_SHARE).value * limit / 1000)
    result = round(milliwatts / 1000)
    wrong = "it draws less than work like this does" if result < floor else ""
    source = common(Quantity.POWER_SHARE).source_text
    return evaluate(result, floor, source, wrong, unit="W", status=Status.WARN)


def errors(_: Expectations, gpu: Gpu) -> Evidence:
    """No error of memory comes under load, and no row is given up."""
    seen = _all(gpu)
    wrong_bits = max(known(each.uncorrected, "its errors of memory") for each in seen)
    rows = max(known(each.remapped, "its remapped rows") for each in seen)
    wrong = "errors that nothing corrected came under load" if wrong_bits else ""
    wrong = wrong or ("rows of memory were given up under load" if rows else "")
    result = wrong_bits or rows
    return evaluate(result, 0, NVML, wrong, unit="errors", action=Action.RESET)


def pcie(expected: Expectations, gpu: Gpu) -> Evidence:
    """The link runs as fast and wide as the slot, while it is in use."""
    seen = _seen(gpu, COPIES)
    generation = max(known(each.pcie_generation, "its link's generation") for each in seen)
    width = max(known(each.pcie_width, "its link's width") for each in seen)
    for result, quantity, problem in (
        (generation, Quantity.PCIE_GENERATION, "a slower link than its slot has, under load"),
        (width, Quantity.PCIE_WIDTH, "fewer lanes than its slot has, under load"),
    ):
        floor = _slot_floor(expected, quantity)
        if result < floor.value:
            return evaluate(result, floor.value, floor.source_text, problem, unit=quantity.value)
    return evaluate(generation, generation, DEVICE, unit=Quantity.PCIE_GENERATION.value)


def _slot_floor(expected: Expectations, quantity: Quantity) -> Threshold:
    """That of the idle slot: where a lower one is accepted, its own check tells of it."""
    floor = threshold_of(quantity, expected.product) or common(quantity)
    name = "pcie.width" if quantity is Quantity.PCIE_WIDTH else "pcie.generation"
    lower = [each.value for each in expected.accepted if each.check == name]
    return Threshold(min([floor.value, *lower]), floor.source)


def _done(gpu: Gpu) -> Load:
    """Half of it says nothing of the rest."""
    load = known(gpu.load, "how it works")
    if load.ended != DONE:
        raise ReportedBy("work.ran")
    return load


def _rates(gpu: Gpu, task: Task) -> list[Rate]:
    load = _done(gpu)
    task_rates = [each for each in load.rates if each.task == task]
    if not task_rates and load.missing_library:
        raise UnknownValue(
            f"its rate of {task}", Missing(MissingReason.NO_LIBRARY, load.missing_library)
        )
    return task_rates


def _fast(gpu: Gpu, task: Task, threshold: LoadThreshold | None) -> Evidence:
    result = _rates(gpu, task)
    if not result:
        raise UnknownValue(f"its rate of {task}", Missing(MissingReason.UNASKED))
    return _against(result[0], threshold)


def _against(rate: Rate, threshold: LoadThreshold | None, where: str = "") -> Evidence:
    result, unit = _value(rate), _unit(rate)
    if threshold is None:
        return evaluate(result, None, "nobody has measured this product", unit=unit)
    floor = round(threshold.floor, 1)
    wrong = f"{where}slower than its kind" if result < floor else ""
    status = Status.FAIL if threshold.is_enforced else Status.WARN
    return evaluate(result, floor, threshold.said, wrong, unit=unit, status=status)


def _value(rate: Rate) -> float:
    scale = _TERA if rate.task in HARD else _GIGA
    if rate.seconds <= 0:
        raise UnknownValue(
            f"its rate of {rate.task}", Missing(MissingReason.MALFORMED, "it took no time")
        )
    return round(rate.amount / rate.seconds / scale, 1)


def _unit(rate: Rate) -> str:
    return "TFLOPS" if rate.task in HARD else "GB/s"


def _all(gpu: Gpu) -> tuple[LoadSample, ...]:
    seen = _done(gpu).seen
    if not seen:
        raise UnknownValue("how it is under load", Missing(MissingReason.UNASKED))
    return seen


def _seen(gpu: Gpu, tasks: tuple[Task, ...]) -> list[LoadSample]:
    loads = [each for each in _all(gpu) if each.task in tasks]
    if not loads:
        raise UnknownValue("how it is under this load", Missing(MissingReason.UNASKED))
    return loads


def _loaded(expected: Expectations) -> str:
    if expected.profile == QUICK:
        return "the profile quick puts no load on a GPU"
    if expected.sharing != "none":
        return "its GPUs are cut or shared: what one share does says little of the whole"
    return ""


def _soaked(expected: Expectations) -> str:
    return _loaded(expected) or ("" if expected.profile == SOAK else "only the profile soak does")


def _linked(expected: Expectations) -> str:
    if reason := _loaded(expected):
        return reason
    return "" if expected.nvlink_gbps and expected.gpus > 1 else "there is no NVLink between GPUs"


def _several(expected: Expectations) -> str:
    if reason := _loaded(expected):
        return reason
    return "" if expected.gpus > 1 else "one GPU has no others to compare with"


LOADS = (
    Check(
        id="work.ran",
        group="work",
        description="work on the GPU hung, broke or never began",
        remediation="reset the GPU after a hang or an ECC error; when it is out of memory, look who holds it",
        gpu=ran,
        applies=_loaded,
    ),
    Check(
        id="work.results",
        group="work",
        description="a copy or a product came out wrong, without an error",
        remediation="take the node out at once: it corrupts silently; replace the GPU",
        gpu=results,
        applies=_loaded,
    ),
    Check(
        id="work.memory",
        group="work",
        description="copies inside the GPU's memory are slower than its kind",
        remediation="look at work.clocks, work.errors and memory.remapped_rows; compare with another node",
        gpu=memory,
        applies=_loaded,
        unit="GB/s",
    ),
    Check(
        id="work.to_device",
        group="work",
        description="copies from the host's pinned memory are slower than the slot allows",
        remediation="look at work.pcie, at the NUMA node of the pod and at the IOMMU",
        gpu=partial(copies, Task.TO_DEVICE),
        applies=_loaded,
        unit="GB/s",
    ),
    Check(
        id="work.to_host",
        group="work",
        description="copies into the host's pinned memory are slower than the slot allows",
        remediation="look at work.pcie, at the NUMA node of the pod and at the IOMMU",
        gpu=partial(copies, Task.TO_HOST),
        applies=_loaded,
        unit="GB/s",
    ),
    Check(
        id="work.peers",
        group="work",
        description="copies to another GPU of the node are slower than NVLink allows, or impossible",
        remediation="look at nvlink.links, nvlink.errors and the fabric manager; then reset the GPUs",
        gpu=peers,
        applies=_linked,
        unit="GB/s",
    ),
    Check(
        id="work.product",
        group="work",
        description="products of matrices are slower than its kind",
        remediation="look at work.clocks, work.temperature and power.limit; compare with another node",
        gpu=product,
        applies=_loaded,
        unit="TFLOPS",
    ),
    Check(
        id="work.spread",
        group="work",
        description="one GPU of the node computes slower than the others",
        remediation="look at its clocks and cooling; jobs of this node run at its pace",
        node=spread,
        applies=_several,
    ),
    Check(
        id="work.step",
        group="work",
        description="steps of a training are slower than its kind, with all GPUs at work for long",
        remediation="look at work.clocks and work.temperature: one GPU alone may be fast, and all together not",
        gpu=step,
        applies=_soaked,
        unit="TFLOPS",
    ),
    Check(
        id="work.clocks",
        group="work",
        description="heat or the power supply hold the clocks down under load",
        remediation="look at cooling and power supply of the node",
        gpu=clocks,
        applies=_loaded,
    ),
    Check(
        id="work.temperature",
        group="work",
        description="the GPU becomes as hot as slows it",
        remediation="look at the node's cooling",
        gpu=temperature,
        applies=_loaded,
    ),
    Check(
        id="work.power",
        group="work",
        description="the GPU draws far less than its limit under the heaviest load",
        remediation="look at work.clocks, and for a cap of the node's supply",
        gpu=power,
        applies=_soaked,
    ),
    Check(
        id="work.errors",
        group="work",
        description="uncorrected errors of memory or remapped rows come under load",
        remediation="reset the GPU; when it happens again, replace the node",
        gpu=errors,
        applies=_loaded,
    ),
    Check(
        id="work.pcie",
        group="work",
        description="the link to the host is slower or narrower under load than the product's nodes have",
        remediation="look at the BIOS's link speed of the slot; of your own: reseat the card",
        gpu=pcie,
        applies=_loaded,
    ),
)
