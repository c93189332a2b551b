"""Partitioning as planned, and no other process on the GPU."""

from collections import Counter
from collections.abc import Mapping
from math import ceil

from gpuyard_validator.checks.check import PLAN, check, evaluate
from gpuyard_validator.expectations import Expectations
from gpuyard_validator.results import Evidence, Status
from gpuyard_validator.snapshot import BAD_VARIABLES, Gpu, Instance, Snapshot
from gpuyard_validator.thresholds import Quantity, common
from gpuyard_validator.values import Missing, MissingReason, require_known

_PARTS, _MIB_IN_GIB = 8, 1024


def mig_mode(expected: Expectations, gpu: Gpu) -> Evidence:
    """MIG is on or off as planned, and no mode change is pending."""
    is_expected = bool(_planned(expected, gpu))
    never = gpu.mig_current
    if (
        not is_expected
        and isinstance(never, Missing)
        and never.reason is MissingReason.NOT_SUPPORTED
    ):
        return evaluate(False, False, PLAN)
    current, pending = (
        require_known(never, "the MIG mode"),
        require_known(gpu.mig_pending, "the pending MIG mode"),
    )
    if current == is_expected and pending != current:
        return evaluate(
            pending, is_expected, PLAN, "a MIG mode change is pending until the GPU is reset"
        )
    wrong = "" if current == is_expected else f"MIG is {'off' if is_expected else 'on'}"
    return evaluate(current, is_expected, PLAN, wrong)


def mig_geometry(expected: Expectations, gpu: Gpu) -> Evidence:
    """MIG slices of each GPU, by profile; media variants count as their base profile."""
    memory = require_known(gpu.memory_mib, "the memory size")
    instances = require_known(gpu.instances, "the MIG slices")
    results = Counter(mig_profile_name(each, memory) for each in instances)
    required: Counter[str] = Counter()
    for name, count in _planned(expected, gpu).items():
        required[name.partition("+")[0]] += count
    wrong = (
        ""
        if results == required
        else f"the GPU has slices {_format_counts(results)}, planned: {_format_counts(required)}"
    )
    return evaluate(dict(sorted(results.items())), dict(sorted(required.items())), PLAN, wrong)


def mig_profile_name(instance: Instance, total_mib: int) -> str:
    """Profile name as NVIDIA writes it: memory in eighths of the GPU's, rounded up (go-nvlib does the same)."""
    eighths = ceil(instance.memory_mib / total_mib * _PARTS) if total_mib > 0 else 0
    gib = int(eighths / _PARTS * ceil(total_mib / _MIB_IN_GIB) + 0.5)
    compute = instance.compute_slices
    head = "" if compute == instance.gpu_slices else f"{compute}c."
    return f"{head}{instance.gpu_slices}g.{gib}gb"


def processes(_: Expectations, gpu: Gpu) -> Evidence:
    """No process uses the GPU."""
    result = require_known(gpu.processes, "the process list")
    wrong = f"running processes: {', '.join(map(str, result[:8]))}" if result else ""
    return evaluate(len(result), 0, "validation needs an idle node", wrong, unit="processes")


def gpu_utilization(_: Expectations, gpu: Gpu) -> Evidence:
    """The GPU is idle."""
    most, result = common(Quantity.UTILIZATION), require_known(gpu.utilization, "the utilization")
    wrong = "the GPU is in use" if result > most.value else ""
    return evaluate(result, most.value, most.source_text, wrong, unit="%")


def environment(_: Expectations, machine: Snapshot) -> Evidence:
    """No environment variable slows or stops CUDA programs."""
    result = require_known(machine.environment, "the environment")
    bad = [name for name in BAD_VARIABLES if name in result]
    wrong = f"set: {', '.join(bad)}" if bad else ""
    source = "DCGM nvvs/src/Software.cpp at 0d22068"
    return evaluate(bad, [], source, wrong, status=Status.WARN)


def _planned(expected: Expectations, gpu: Gpu) -> Mapping[str, int]:
    return next((each.counts for each in expected.layouts if gpu.index in each.gpus), {})


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n} × {name}" for name, n in sorted(counts.items())) or "nothing"


def _inapplicable_to_whole(expected: Expectations) -> str:
    return "" if expected.layouts else "its GPUs are not partitioned"


def _inapplicable_to_mig(expected: Expectations) -> str:
    return "NVML does not report the utilization of a partitioned GPU" if expected.layouts else ""


SHARING = (
    check("mig.mode", mig_mode),
    check("mig.geometry", mig_geometry, _inapplicable_to_whole),
    check("load.processes", processes),
    check("load.utilization", gpu_utilization, _inapplicable_to_mig),
    check("host.environment", environment),
)
