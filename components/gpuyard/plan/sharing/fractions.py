"""Fractional GPUs: the smallest slice or share that meets the needs of a pod."""

from dataclasses import dataclass

from gpuyard.plan.records import AdvertisedResource, PoolPlan
from gpuyard.spec.platform import PerPod, TimeSliceLatency
from gpuyard_core.catalogue.sharing import SharingMethod
from gpuyard_core.names import SHARED_UNIT

_SHARED_SLICE = f".{SHARED_UNIT}"


@dataclass(frozen=True, slots=True)
class GpuFraction:
    """One advertised part of a GPU, with its memory and compute."""

    offer: AdvertisedResource
    memory_gib: float
    """For a time-sliced GPU an even share, which is not enforced."""
    compute_percent: float
    is_time_sliced: bool

    @property
    def size(self) -> tuple[float, float]:
        """The sort key: memory, then compute."""
        return self.memory_gib, self.compute_percent

    def __str__(self) -> str:
        return f"{self.memory_gib:g} GiB and {self.compute_percent:.0f} % of a GPU"


def gpu_fractions(pool: PoolPlan) -> list[GpuFraction]:
    """The parts of GPUs that nodes of a pool advertise, the smallest first."""
    return sorted((_piece(offer, pool) for offer in pool.advertised), key=lambda p: p.size)


def _piece(offer: AdvertisedResource, pool: PoolPlan) -> GpuFraction:
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
    """Memory of a profile in GiB, from its name: 3g.20gb has 20."""
    return int(profile.partition(".")[2].partition("gb")[0])


def fits_fraction(pod: PerPod, piece: GpuFraction) -> bool:
    """Whether this part of a GPU meets the needs of a pod."""
    return (
        (pod.gpu_memory_gib or 0) <= piece.memory_gib
        and (pod.compute_percent or 0) <= piece.compute_percent
        and not (pod.latency is TimeSliceLatency.STRICT and piece.is_time_sliced)
    )


def smallest_fraction(pod: PerPod, pool: PoolPlan) -> GpuFraction | None:
    """The smallest part of a GPU in the pool that meets the needs of the pod."""
    return next((piece for piece in gpu_fractions(pool) if fits_fraction(pod, piece)), None)


def larger_slice(pod: PerPod, pool: PoolPlan) -> str | None:
    """The smallest profile that meets the needs of the pod, if the pool's slices are too small."""
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
    return both + (", with strict latency" if pod.latency is TimeSliceLatency.STRICT else "")
