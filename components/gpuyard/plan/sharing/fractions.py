"""Fractional GPUs: the smallest slice or share that has what a pod says it needs."""

from dataclasses import dataclass

from gpuyard.catalogue.sharing import SharingMethod
from gpuyard.names import SHARED_UNIT
from gpuyard.plan.records import Advertised, PoolPlan
from gpuyard.spec.platform import Latency, PerPod

_SHARED_SLICE = f".{SHARED_UNIT}"


@dataclass(frozen=True, slots=True)
class GpuFraction:
    """One thing a pod can have of a GPU, and what is in it."""

    offer: Advertised
    memory_gib: float
    """Of a time-sliced GPU an even share, which nothing enforces."""
    compute_percent: float
    is_time_sliced: bool

    @property
    def size(self) -> tuple[float, float]:
        """For the smallest: by memory, then by compute."""
        return self.memory_gib, self.compute_percent

    def __str__(self) -> str:
        return f"{self.memory_gib:g} GiB and {self.compute_percent:.0f} % of a GPU"


def gpu_fractions(pool: PoolPlan) -> list[GpuFraction]:
    """What the nodes of a pool advertise, the smallest first."""
    return sorted((_piece(offer, pool) for offer in pool.advertised), key=lambda p: p.size)


def _piece(offer: Advertised, pool: PoolPlan) -> GpuFraction:
    gpu = pool.machine.gpu
    product = gpu.mig if gpu else None
    name, turns = offer.unit.removesuffix(_SHARED_SLICE), pool.sharing.is_time_sliced
    replicas = pool.replicas if offer.unit.endswith(SHARED_UNIT) else 1
    profile = product.profile(name) if product else None
    if profile is None or product is None:
        share = float(offer.gpu_share)
        return GpuFraction(
            offer, (gpu.memory_gib if gpu else 0) * share, 100 * share, turns and replicas > 1
        )
    return GpuFraction(
        offer,
        _memory(name) / replicas,
        100 * profile.slices / product.slices / replicas,
        turns and replicas > 1,
    )


def _memory(profile: str) -> int:
    """GiB of a profile, as NVIDIA names it: 3g.20gb has 20."""
    return int(profile.partition(".")[2].partition("gb")[0])


def fits_fraction(pod: PerPod, piece: GpuFraction) -> bool:
    """Whether a pod that says what it needs has it in this piece."""
    return (
        (pod.gpu_memory_gib or 0) <= piece.memory_gib
        and (pod.compute_percent or 0) <= piece.compute_percent
        and not (pod.latency is Latency.STRICT and piece.is_time_sliced)
    )


def smallest_fraction(pod: PerPod, pool: PoolPlan) -> GpuFraction | None:
    """The smallest piece of the pool that has what the pod needs."""
    return next((piece for piece in gpu_fractions(pool) if fits_fraction(pod, piece)), None)


def larger_slice(pod: PerPod, pool: PoolPlan) -> str | None:
    """The smallest profile that has what the pod needs, where slices of the pool's GPUs have too little."""
    product = pool.machine.gpu.mig if pool.machine.gpu else None
    if product is None or pool.sharing is not SharingMethod.MIG or smallest_fraction(pod, pool):
        return None
    memory, percent = pod.gpu_memory_gib or 0, pod.compute_percent or 0
    fits = [
        profile
        for profile in product.profiles
        if not profile.variant
        and _memory(profile.name) >= memory
        and 100 * profile.slices / product.slices >= percent
    ]
    return min(fits, key=lambda each: (_memory(each.name), each.slices)).name if fits else None


def format_needs(pod: PerPod) -> str:
    """`24 GiB and 50 % of a GPU, strict`."""
    memory = f"{pod.gpu_memory_gib} GiB" if pod.gpu_memory_gib else ""
    compute = f"{pod.compute_percent:g} % of a GPU" if pod.compute_percent else "of a GPU"
    both = (
        f"{memory} and {compute}"
        if memory and pod.compute_percent
        else f"{memory} {compute}".strip()
    )
    return both + (", in time" if pod.latency is Latency.STRICT else "")
