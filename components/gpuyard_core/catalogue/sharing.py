"""Sharing methods of a node's GPUs, by their names in plans and node images."""

from enum import StrEnum

MAX_REPLICAS = 48
"""The device plugin's limit for MPS clients (16 before compute capability 7.5); gpuyard's for
time-slicing (sharing.mps)."""


class SharingMethod(StrEnum):
    """How the device plugin or the DRA driver allocates the GPUs of a node."""

    NONE = "none"
    TIME_SLICING = "time-slicing"
    MPS = "mps"
    MIG = "mig"
    MIG_TIME_SLICING = "mig+time-slicing"
    DRA = "dra"

    @property
    def shares_whole_gpus(self) -> bool:
        """Whether several pods share a whole GPU."""
        return self in {SharingMethod.TIME_SLICING, SharingMethod.MPS}

    @property
    def is_time_sliced(self) -> bool:
        """Whether pods take turns on a GPU or a slice."""
        return self in {SharingMethod.TIME_SLICING, SharingMethod.MIG_TIME_SLICING}

    @property
    def is_counted_as_whole_gpu(self) -> bool:
        """Whether a GPU belongs to one pod as a whole, by extended resource or by claim."""
        return self in {SharingMethod.NONE, SharingMethod.DRA}


def mps_clients(compute_capability: tuple[int, int]) -> int | None:
    """The maximum MPS clients of one GPU; None if the limit of the stack file is lower anyway."""
    return 16 if compute_capability < (7, 5) else None
