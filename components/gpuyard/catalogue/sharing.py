"""Ways in which the GPUs of a node are handed out, by the names that plans and node images call them."""

from enum import StrEnum


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
    def takes_turns(self) -> bool:
        """True when pods wait for each other on a GPU or a slice."""
        return self in {SharingMethod.TIME_SLICING, SharingMethod.MIG_TIME_SLICING}

    @property
    def counted_whole(self) -> bool:
        """True when a GPU belongs to one pod, counted or claimed: nobody else has a part of it."""
        return self in {SharingMethod.NONE, SharingMethod.DRA}
