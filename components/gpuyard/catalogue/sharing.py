"""Ways in which the GPUs of a node are handed out, by the names that plans and node images call them."""

from datetime import date
from enum import StrEnum

from gpuyard.catalogue.sources import Source

MPS_SOURCE = Source(
    "k8s-device-plugin v0.20.0: MPS clients of a GPU below compute capability 7.5",
    date(2026, 11, 21),
    as_of=date(2026, 11, 21),
)


class SharingMethod(StrEnum):
    """How the device plugin, or the DRA driver, hands out the GPUs of a node."""

    NONE = "none"
    TIME_SLICING = "time-slicing"
    MPS = "mps"
    MIG = "mig"
    MIG_TIME_SLICING = "mig+time-slicing"
    DRA = "dra"

    @property
    def shares_whole_gpus(self) -> bool:
        """True when several pods have the same whole GPU."""
        return self in {SharingMethod.TIME_SLICING, SharingMethod.MPS}

    @property
    def is_time_sliced(self) -> bool:
        """True when pods wait for each other on a GPU or a slice."""
        return self in {SharingMethod.TIME_SLICING, SharingMethod.MIG_TIME_SLICING}

    @property
    def is_counted_as_whole_gpu(self) -> bool:
        """True when a GPU belongs to one pod, counted or claimed: nobody else has a part of it."""
        return self in {SharingMethod.NONE, SharingMethod.DRA}


def mps_clients(compute_capability: tuple[int, int]) -> int | None:
    """The most MPS clients of one GPU; None where the bounds of a stack file are lower already."""
    return 16 if compute_capability < (7, 5) else None
