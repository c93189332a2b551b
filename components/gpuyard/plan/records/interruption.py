"""Nodes that go while jobs run, in a plan: frozen records of plain values."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotDisruption:
    """What one notice loses of a job, where the stack file says how often jobs save."""

    expected_minutes: float
    """Of work: half an interval and the checkpoint being written; 0 where one is written at notice."""
    worst_minutes: float
    gpus: int
    """Of the largest job that the plan knows there: a shape, else all that the spot rung holds."""

    @property
    def expected_gpu_hours(self) -> float:
        """The same for all its GPUs."""
        return self.expected_minutes / 60 * self.gpus


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolInterruption:
    """A pool whose nodes may be taken back."""

    pool: str
    capacity_options: tuple[str, ...]
    """Rungs of its ladder of which nodes go."""
    notice_seconds: int | None
    """What a spot notice leaves to pods; None without spot, and of machines that no cloud sells."""
    loss: SpotDisruption | None
    """None without spot, and where nothing is said of checkpoints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptionPlan:
    """The program that queues a gang again as a whole and tells of nodes that were bought in a lower way."""

    image: str
    pools: tuple[PoolInterruption, ...]
    ladders: tuple[str, ...] = ()
    """Pools that a cloud sells in several ways, whether their nodes go or not."""
