"""What came of a run of several nodes: who was there, how each rank ended, and what was measured."""

from dataclasses import dataclass

DONE, CRASHED, HUNG, STOPPED, ABSENT = "done", "crashed", "hung", "stopped", "absent"
"""How a rank ended. Stopped is one that waited for another, and was killed with it."""


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
    """Of one round, by the slowest rank."""
    wrong: int
    """Elements that are not what they must be, over all ranks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collectives:
    """One run."""

    on: str
    """The day: 2026-11-24."""
    nodes: int
    gpus: int
    """Of each node."""
    ends: tuple[RankEnd, ...]
    measures: tuple[Measure, ...]
    """Of all ranks together."""
    slow: tuple[int, ...]
    """Ranks that halving has found slower than the others."""
    bisected: bool
    """Whether it was looked for slow ones."""
    versions: tuple[str, ...]
    """Of NCCL, each that a rank has told."""
    logs: tuple[str, ...]
    """What NCCL has said of the channels, by rank."""

    @property
    def finished(self) -> bool:
        """Every rank came, and left when all had ended."""
        return bool(self.ends) and all(each.end == DONE for each in self.ends)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What the ranks are to do."""

    operations: tuple[str, ...]
    size: int
    rounds: int
    halving_size: int
    """Bytes of each all-reduce that looks for slow ranks; 0 looks for none."""
