"""Result of a run over several nodes: nodes present, the end of each rank, and measurements."""

from dataclasses import dataclass

DONE, CRASHED, HUNG, STOPPED, ABSENT = "done", "crashed", "hung", "stopped", "absent"
"""How a rank ended. A stopped rank waited for another and was killed with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankEnd:
    """One rank: a process that has one GPU."""

    rank: int
    node: str
    end: str
    """done, crashed, hung, stopped or absent."""
    output: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One collective over some ranks."""

    operation: str
    size: int
    """Bytes of one rank's buffer."""
    ranks: tuple[int, ...]
    seconds: float
    """Seconds of one round, on the slowest rank."""
    wrong: int
    """Number of wrong elements, over all ranks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collectives:
    """One run."""

    on: str
    """The day: 2026-11-24."""
    nodes: int
    gpus: int
    """Number of GPUs per node."""
    ends: tuple[RankEnd, ...]
    measures: tuple[Measure, ...]
    """Measurements over all ranks."""
    slow: tuple[int, ...]
    """Ranks that bisection found slower than the others."""
    bisected: bool
    """Whether slow ranks were searched."""
    versions: tuple[str, ...]
    """NCCL versions that the ranks reported."""
    logs: tuple[str, ...]
    """NCCL's log of the channels, by rank."""

    @property
    def finished(self) -> bool:
        """Every rank joined, and left when all had finished."""
        return bool(self.ends) and all(each.end == DONE for each in self.ends)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The work of the ranks."""

    operations: tuple[str, ...]
    size: int
    rounds: int
    halving_size: int
    """Bytes of each all-reduce that searches slow ranks; 0 skips the search."""
