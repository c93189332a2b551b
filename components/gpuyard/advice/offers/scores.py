"""Scores of offers for a workload, from 0 to 100, and their parts.

Each part is a figure of which more is better. It gives points in proportion up to a reference, which is
fixed, so that a score does not depend on other offers. `docs/concepts/offers.md` explains the parts, weights
and references.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from gpuyard_core.catalogue.fabric import direct_fabric
from gpuyard_core.catalogue.gpus import Gpu
from gpuyard_core.catalogue.machines import Machine


class OfferPurpose(StrEnum):
    """The workload for which offers are ranked."""

    TRAINING = "training"
    INFERENCE = "inference"
    GENERAL = "general"


@dataclass(frozen=True, slots=True)
class ScorePart:
    """One part of a score: the figure, and the points it gives."""

    name: str
    unit: str
    figure: float | None
    """None is unknown; it gives no points."""
    points: float
    most: int
    """Points at or above the reference."""
    note: str = ""
    """Why a figure gives fewer points than its size."""


@dataclass(frozen=True, slots=True)
class Measure:
    """The definition of a part."""

    name: str
    unit: str
    most: int
    reference: float
    """The figure that gives all points."""
    figure: Callable[[Machine, Gpu, float], float | None]
    """Computes the figure from a machine, its GPU and US dollars an hour."""
    note: Callable[[Machine], str] = lambda _: ""
    """Not empty: the figure gives no points, for this reason."""


def gpu_memory_gib(machine: Machine, gpu: Gpu) -> float:
    """Memory of one GPU of the machine, or of its fraction of a GPU."""
    return float(gpu.memory_gib * machine.gpu_fraction)


def whole_gpus(machine: Machine) -> float:
    """GPUs of one node; a node with an eighth of a GPU has 0.125."""
    return float(machine.gpus * machine.gpu_fraction)


def max_isolated_pods(machine: Machine, gpu: Gpu) -> int:
    """How many pods one node can serve with dedicated GPU memory.

    The maximum MIG slices for whole GPUs with MIG, else its GPUs.
    """
    if gpu.mig is None or machine.gpu_fraction != 1:
        return machine.gpus
    return machine.gpus * max(p.max_count for p in gpu.mig.profiles if not p.variant)


def _memory_per_dollar(machine: Machine, gpu: Gpu, usd: float) -> float:
    return machine.gpus * gpu_memory_gib(machine, gpu) / usd


def _units_per_dollar(machine: Machine, gpu: Gpu, usd: float) -> float:
    return max_isolated_pods(machine, gpu) / usd


def _fabric_per_gpu(machine: Machine, _gpu: Gpu, _usd: float) -> float | None:
    return None if machine.network_gbps is None else machine.network_gbps / whole_gpus(machine)


def _nvlink(_machine: Machine, gpu: Gpu, _usd: float) -> float:
    return float(gpu.nvlink_gbps)


def _over_tcp(machine: Machine) -> str:
    return "" if direct_fabric(machine) else "TCP only"


def _alone(machine: Machine) -> str:
    return "one GPU" if machine.gpus == 1 else ""


MEASURES: Mapping[OfferPurpose, tuple[Measure, ...]] = {
    OfferPurpose.TRAINING: (
        Measure("memory", "GiB/$", 30, 40.0, _memory_per_dollar),
        Measure("fabric", "Gbps/GPU", 40, 400.0, _fabric_per_gpu, _over_tcp),
        Measure("nvlink", "GB/s/GPU", 30, 900.0, _nvlink, _alone),
    ),
    OfferPurpose.INFERENCE: (
        Measure("memory", "GiB/$", 60, 40.0, _memory_per_dollar),
        Measure("units", "units/$", 40, 5.0, _units_per_dollar),
    ),
    OfferPurpose.GENERAL: (Measure("memory", "GiB/$", 100, 40.0, _memory_per_dollar),),
}
"""The parts of each workload; their points add up to 100."""


def parts_of(
    machine: Machine, gpu: Gpu, usd: float, workload: OfferPurpose
) -> tuple[ScorePart, ...]:
    """The parts of the score of a machine at a price."""
    return tuple(_part(m, machine, gpu, usd) for m in MEASURES[workload])


def _part(measure: Measure, machine: Machine, gpu: Gpu, usd: float) -> ScorePart:
    figure = measure.figure(machine, gpu, usd)
    if figure is None:
        return ScorePart(measure.name, measure.unit, None, 0.0, measure.most, "unknown")
    note = measure.note(machine)
    points = 0.0 if note else measure.most * min(1.0, figure / measure.reference)
    return ScorePart(measure.name, measure.unit, figure, points, measure.most, note)
