"""Is it cut as planned, and is nobody on it already."""

from collections import Counter
from collections.abc import Mapping
from math import ceil

from gpuyard_validator.checks.check import PLAN, Check, evaluate
from gpuyard_validator.expectations import Expectations
from gpuyard_validator.results import Evidence, Status
from gpuyard_validator.snapshot import BAD_VARIABLES, Gpu, Instance, Snapshot
from gpuyard_validator.thresholds import Quantity, common
from gpuyard_validator.values import Missing, MissingReason, known

_PARTS, _MIB_IN_GIB = 8, 1024


def mig_mode(expected: Expectations, gpu: Gpu) -> Evidence:
    """Cut where the plan cuts it, whole where not, and no other mode waits for a reset."""
    is_expected = bool(_planned(expected, gpu))
    never = gpu.mig_current
    if (
        not is_expected
        and isinstance(never, Missing)
        and never.reason is MissingReason.NOT_SUPPORTED
    ):
        return evaluate(False, False, PLAN)
    current, pending = known(never, "its MIG mode"), known(gpu.mig_pending, "its next MIG mode")
    if current == is_expected and pending != current:
        return evaluate(pending, is_expected, PLAN, "another MIG mode waits for a reset")
    wrong = "" if current == is_expected else f"MIG is {'off' if is_expected else 'on'}"
    return evaluate(current, is_expected, PLAN, wrong)


def mig_geometry(expected: Expectations, gpu: Gpu) -> Evidence:
    """The slices of each GPU, by profile; media variants count as their base."""
    memory = known(gpu.memory_mib, "its memory")
    instances = known(gpu.instances, "its MIG instances")
    results = Counter(profile(each, memory) for each in instances)
    required: Counter[str] = Counter()
    for name, count in _planned(expected, gpu).items():
        required[name.partition("+")[0]] += count
    wrong = (
        ""
        if results == required
        else f"it is cut into {_format_counts(results)}, planned is {_format_counts(required)}"
    )
    return evaluate(dict(sorted(results.items())), dict(sorted(required.items())), PLAN, wrong)


def profile(instance: Instance, total_mib: int) -> str:
    """Its name as NVIDIA writes it: memory in eighths of the GPU's, rounded up (go-nvlib does the same)."""
    eighths = ceil(instance.memory_mib / total_mib * _PARTS) if total_mib > 0 else 0
    gib = int(eighths / _PARTS * ceil(total_mib / _MIB_IN_GIB) + 0.5)
    compute = instance.compute_slices
    head = "" if compute == instance.gpu_slices else f"{compute}c."
    return f"{head}{instance.gpu_slices}g.{gib}gb"


def processes(_: Expectations, gpu: Gpu) -> Evidence:
    """Nobody computes on it."""
    result = known(gpu.processes, "its processes")
    wrong = f"processes {', '.join(map(str, result[:8]))} are on it" if result else ""
    return evaluate(len(result), 0, "a node that is checked is idle", wrong, unit="processes")


def load(_: Expectations, gpu: Gpu) -> Evidence:
    """It does nothing."""
    most, result = common(Quantity.UTILIZATION), known(gpu.utilization, "its utilization")
    wrong = "somebody uses it" if result > most.value else ""
    return evaluate(result, most.value, most.source_text, wrong, unit="%")


def environment(_: Expectations, machine: Snapshot) -> Evidence:
    """No variable that slows or stops what computes."""
    result = known(machine.environment, "the environment")
    bad = [name for name in BAD_VARIABLES if name in result]
    wrong = f"set: {', '.join(bad)}" if bad else ""
    source = "DCGM nvvs/src/Software.cpp at 0d22068"
    return evaluate(bad, [], source, wrong, status=Status.WARN)


def _planned(expected: Expectations, gpu: Gpu) -> Mapping[str, int]:
    return next((each.counts for each in expected.layouts if gpu.index in each.gpus), {})


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n} × {name}" for name, n in sorted(counts.items())) or "nothing"


def _inapplicable_to_whole(expected: Expectations) -> str:
    return "" if expected.layouts else "its GPUs are whole"


def _inapplicable_to_mig(expected: Expectations) -> str:
    return "NVML does not measure a GPU that is cut" if expected.layouts else ""


SHARING = (
    Check(
        id="mig.mode",
        group="sharing",
        description="MIG is on where GPUs are to be whole, or off where they are to be cut",
        remediation="look at the MIG manager's log and at the label nvidia.com/mig.config",
        gpu=mig_mode,
    ),
    Check(
        id="mig.geometry",
        group="sharing",
        description="a GPU is cut into other slices than planned",
        remediation="look at the MIG manager's log; it waits while pods hold slices",
        gpu=mig_geometry,
        applies=_inapplicable_to_whole,
    ),
    Check(
        id="load.processes",
        group="load",
        description="processes are on the GPU",
        remediation="end them, or check when the node is idle",
        gpu=processes,
    ),
    Check(
        id="load.utilization",
        group="load",
        description="the GPU is busy",
        remediation="check when the node is idle; a busy GPU without a process is wedged, reset it",
        gpu=load,
        applies=_inapplicable_to_mig,
    ),
    Check(
        id="host.environment",
        group="load",
        description="variables are set that slow or stop CUDA programs",
        remediation="take them out of the image or the pod",
        node=environment,
    ),
)
