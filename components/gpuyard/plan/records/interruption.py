"""Interruptions in a plan, of nodes that end while jobs run: frozen records of plain values."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotDisruption:
    """The work that one interruption costs a job, if the stack file has a checkpoint interval."""

    expected_minutes: float
    """Lost work: half an interval and the checkpoint in progress; 0 if jobs write one at the notice."""
    worst_minutes: float
    gpus: int
    """GPUs of the largest known job of the pool: a shape, else the maximum of the spot capacity option."""

    @property
    def expected_gpu_hours(self) -> float:
        """Expected lost work of all its GPUs, in GPU hours."""
        return self.expected_minutes / 60 * self.gpus


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolInterruption:
    """A pool whose nodes may be interrupted."""

    pool: str
    capacity_options: tuple[str, ...]
    """Its capacity options whose nodes may be interrupted."""
    notice_seconds: int | None
    """Seconds between a spot notice and the end; None without spot, and for machines that no cloud sells."""
    loss: SpotDisruption | None
    """None without spot, and without a checkpoint interval in the stack file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptionPlan:
    """The program that requeues interrupted gangs as a whole and reports nodes of fallback capacity options."""

    image: str
    pools: tuple[PoolInterruption, ...]
    fallback_pools: tuple[str, ...] = ()
    """Pools with several capacity options, whether their nodes may be interrupted or not."""
