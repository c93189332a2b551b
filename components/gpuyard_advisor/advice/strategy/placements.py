"""Where a workload fits: machines and units of each sharing mode, nodes and price for its demand."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from math import ceil

from gpuyard.job_classes.signals import JobClass
from gpuyard_advisor.advice.offers.offers import OfferPurpose, OfferRequest, offers
from gpuyard_advisor.advice.packing.slices import slice_for
from gpuyard_advisor.advice.strategy.answers import (
    WHOLE_NODE,
    AdvisedCloud,
    Answers,
    OwnedHardware,
    Workload,
)
from gpuyard_core.catalogue.gpus import GPUS
from gpuyard_core.catalogue.machines import Capacity, Machine, machines_of
from gpuyard_core.catalogue.regions import prices_in_region
from gpuyard_core.catalogue.sharing import mps_clients

_SHARES = 4
"""Pods on one GPU if their use of its compute is unknown."""
_MOST_SHARES = 48
_DEFAULT_REGIONS = {AdvisedCloud.AWS: "us-east-1", AdvisedCloud.GCP: "us-central1"}
_PURPOSES = {
    JobClass.TRAINING: OfferPurpose.TRAINING,
    JobClass.HPC: OfferPurpose.TRAINING,
    JobClass.INFERENCE: OfferPurpose.INFERENCE,
    JobClass.REAL_TIME: OfferPurpose.INFERENCE,
}


class Mode(StrEnum):
    """How pods use the GPUs of a pool."""

    DEDICATED = "dedicated"
    MIG = "mig"
    MPS = "mps"
    TIME_SLICING = "time-slicing"
    DRA = "dra"

    @property
    def is_whole(self) -> bool:
        """Whether a GPU belongs to one pod."""
        return self in {Mode.DEDICATED, Mode.DRA}


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A workload on the nodes of one machine type."""

    mode: Mode
    machine: Machine
    slice: str
    """MIG profile; "" without."""
    pods_per_gpu: int
    nodes_per_job: int
    nodes: int
    """Nodes for the demand."""
    usd_per_hour: float | None
    """Price of these nodes, on-demand or the steadiest other type; None is unknown, or your own nodes."""
    score: float

    @property
    def cost(self) -> tuple[float, int]:
        """For comparison: the price, an unknown one last; then the number of nodes."""
        return float("inf") if self.usd_per_hour is None else self.usd_per_hour, self.nodes


def region_for(answers: Answers) -> str:
    """The region, or the default of the cloud; "" for a cluster of your own."""
    return answers.region or _DEFAULT_REGIONS.get(answers.cloud, "")


def own_machine(owned: OwnedHardware) -> Machine:
    """The owned server as a machine type."""
    gpu = GPUS[owned.gpu]
    return Machine(
        name="own",
        cloud="none",
        gpu=gpu,
        gpus=owned.gpus_per_node,
        vcpus=owned.cpu,
        memory_gib=owned.memory_gib,
        source=gpu.source,
    )


def machines_for(answers: Answers, workload: Workload) -> Iterator[tuple[Machine, float]]:
    """The machines of the cloud with prices of the region, and their score; only your own on your own cluster.

    Fractional GPUs and arm64 nodes are excluded: they need other images or cannot be shared further.
    """
    if answers.cloud is AdvisedCloud.NONE and answers.owned is not None:
        yield own_machine(answers.owned), 0.0
        return
    region = region_for(answers)
    priced = (prices_in_region(machine, region) for machine in machines_of(answers.cloud).values())
    machines = {
        machine.name: machine
        for machine in priced
        if machine.gpu_fraction == 1 and machine.arch == "amd64" and machine.region == region
    }
    wish = OfferRequest(
        workload=_PURPOSES.get(workload.kind, OfferPurpose.GENERAL), capacity=Capacity.ON_DEMAND
    )
    for offer in offers(wish, machines).offers:
        if offer.price is not None:
            yield offer.machine, offer.score or 0.0


def placements(
    answers: Answers, workload: Workload, mode: Mode, min_slices: int
) -> list[Placement]:
    """Every machine on which the workload fits in this mode."""
    found = (
        _placement(workload, mode, min_slices, machine, score)
        for machine, score in machines_for(answers, workload)
    )
    return [each for each in found if each is not None]


def _placement(
    workload: Workload, mode: Mode, min_slices: int, machine: Machine, score: float
) -> Placement | None:
    gpu = machine.gpu
    if gpu is None or gpu.memory_gib < workload.gpu_memory_gib:
        return None
    usd = machine.on_demand.high if machine.on_demand else None
    base = Placement(
        mode=mode,
        machine=machine,
        slice="",
        pods_per_gpu=1,
        nodes_per_job=1,
        nodes=0,
        usd_per_hour=usd,
        score=score,
    )
    if mode.is_whole:
        return _whole(base, workload)
    profile, pods = _unit(workload, mode, min_slices, machine)
    if pods < (1 if mode is Mode.MIG else 2):
        return None
    return _priced(
        replace(base, slice=profile, pods_per_gpu=pods),
        ceil(workload.jobs / (pods * machine.gpus)),
    )


def _whole(base: Placement, workload: Workload) -> Placement | None:
    """Whole GPUs: several jobs on a node, or several whole nodes for a job."""
    gpus, jobs = base.machine.gpus, workload.jobs
    if workload.gpus_per_job <= gpus:
        return _priced(base, ceil(jobs / (gpus // workload.gpus_per_job)))
    small = base.machine.cloud != AdvisedCloud.NONE and gpus < WHOLE_NODE
    if not workload.spans_nodes or workload.gpus_per_job % gpus or small:
        return None
    each = workload.gpus_per_job // gpus
    return _priced(replace(base, nodes_per_job=each), jobs * each)


def _priced(base: Placement, nodes: int) -> Placement:
    usd = None if base.usd_per_hour is None else nodes * base.usd_per_hour
    return replace(base, nodes=nodes, usd_per_hour=usd)


def _unit(workload: Workload, mode: Mode, min_slices: int, machine: Machine) -> tuple[str, int]:
    """The MIG profile and the pods on one GPU; 0 pods if it does not fit."""
    gpu, percent = machine.gpu, workload.compute_percent
    if gpu is None:
        return "", 0
    if mode is Mode.MIG:
        product = None if machine.uses_cdmm else gpu.mig
        if product is None:
            return "", 0
        compute = max(Fraction(min_slices, product.slices), Fraction(percent or 0) / 100)
        profile = slice_for(
            product, memory_gib=Fraction(workload.gpu_memory_gib), compute=min(compute, Fraction(1))
        )
        if profile is None or profile.slices == product.slices:
            return "", 0
        return profile.name, profile.max_count
    by_memory = gpu.memory_gib // workload.gpu_memory_gib
    if mode is Mode.TIME_SLICING:
        return "", min(by_memory, _SHARES)
    by_compute = int(100 // percent) if percent else _SHARES
    most = mps_clients(gpu.compute_capability) or _MOST_SHARES
    return "", min(by_memory, by_compute, most)
