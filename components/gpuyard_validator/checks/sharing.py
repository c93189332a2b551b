"""Is it cut as planned, and is nobody on it already."""

from collections import Counter
from collections.abc import Mapping
from math import ceil

from gpuyard_validator.checks.check import PLAN, Check, judged
from gpuyard_validator.expectations import Expectations
from gpuyard_validator.floors import Quantity, common
from gpuyard_validator.results import Evidence, Status
from gpuyard_validator.snapshot import BAD_VARIABLES, Gpu, Instance, Snapshot
from gpuyard_validator.values import Missing, Why, known

_PARTS, _MIB_IN_GIB = 8, 1024


def mig_mode(expected: Expectations, gpu: Gpu) -> Evidence:
    """Cut where the plan cuts it, whole where not, and no other mode waits for a reset."""
    wanted = bool(_planned(expected, gpu))
    never = gpu.mig_current
    if not wanted and isinstance(never, Missing) and never.why is Why.NOT_SUPPORTED:
        return judged(False, False, PLAN)
    current, pending = known(never, "its MIG mode"), known(gpu.mig_pending, "its next MIG mode")
    if current == wanted and pending != current:
        return judged(pending, wanted, PLAN, "another MIG mode waits for a reset")
    wrong = "" if current == wanted else f"MIG is {'off' if wanted else 'on'}"
    return judged(current, wanted, PLAN, wrong)


def mig_geometry(expected: Expectations, gpu: Gpu) -> Evidence:
    """The slices of each GPU, by profile; media variants count as their base."""
    memory = known(gpu.memory_mib, "its memory")
    made = known(gpu.instances, "its MIG instances")
    found = Counter(profile(each, memory) for each in made)
    wanted: Counter[str] = Counter()
    for name, count in _planned(expected, gpu).items():
        wanted[name.partition("+")[0]] += count
    wrong = "" if found == wanted else f"it is cut into {_said(found)}, planned is {_said(wanted)}"
    return judged(dict(sorted(found.items())), dict(sorted(wanted.items())), PLAN, wrong)


def profile(instance: Instance, total_mib: int) -> str:
    """Its name as NVIDIA writes it: memory in eighths of the GPU's, rounded up (go-nvlib does the same)."""
    eighths = ceil(instance.memory_mib / total_mib * _PARTS) if total_mib > 0 else 0
    gib = int(eighths / _PARTS * ceil(total_mib / _MIB_IN_GIB) + 0.5)
    compute = instance.compute_slices
    head = "" if compute == instance.gpu_slices else f"{compute}c."
    return f"{head}{instance.gpu_slices}g.{gib}gb"


def processes(_: Expectations, gpu: Gpu) -> Evidence:
    """Nobody computes on it."""
    found = known(gpu.processes, "its processes")
    wrong = f"processes {', '.join(map(str, found[:8]))} are on it" if found else ""
    return judged(len(found), 0, "a node that is checked is idle", wrong, unit="processes")


def load(_: Expectations, gpu: Gpu) -> Evidence:
    """It does nothing."""
    most, found = common(Quantity.UTILIZATION), known(gpu.utilization, "its utilization")
    wrong = "somebody uses it" if found > most.value else ""
    return judged(found, most.value, most.said, wrong, unit="%")


def environment(_: Expectations, machine: Snapshot) -> Evidence:
    """No variable that slows or stops what computes."""
    found = known(machine.environment, "the environment")
    bad = [name for name in BAD_VARIABLES if name in found]
    wrong = f"set: {', '.join(bad)}" if bad else ""
    source = "DCGM nvvs/src/Software.cpp at 0d22068"
    return judged(bad, [], source, wrong, status=Status.WARN)


def _planned(expected: Expectations, gpu: Gpu) -> Mapping[str, int]:
    return next((each.counts for each in expected.layouts if gpu.index in each.gpus), {})


def _said(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n} × {name}" for name, n in sorted(counts.items())) or "nothing"


def _cut(expected: Expectations) -> str:
    return "" if expected.layouts else "its GPUs are whole"


def _whole(expected: Expectations) -> str:
    return "NVML does not measure a GPU that is cut" if expected.layouts else ""


SHARING = (
    Check(
        id="mig.mode",
        group="sharing",
        says="MIG is on where GPUs are to be whole, or off where they are to be cut",
        do="look at the MIG manager's log and at the label nvidia.com/mig.config",
        gpu=mig_mode,
    ),
    Check(
        id="mig.geometry",
        group="sharing",
        says="a GPU is cut into other slices than planned",
        do="look at the MIG manager's log; it waits while pods hold slices",
        gpu=mig_geometry,
        applies=_cut,
    ),
    Check(
        id="load.processes",
        group="load",
        says="processes are on the GPU",
        do="end them, or check when the node is idle",
        gpu=processes,
    ),
    Check(
        id="load.utilization",
        group="load",
        says="the GPU is busy",
        do="check when the node is idle; a busy GPU without a process is wedged, reset it",
        gpu=load,
        applies=_whole,
    ),
    Check(
        id="host.environment",
        group="load",
        says="variables are set that slow or stop CUDA programs",
        do="take them out of the image or the pod",
        node=environment,
    ),
)
