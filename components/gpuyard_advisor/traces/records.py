"""One job of a trace, the same for every format, and what a reader found."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gpuyard_core.errors import UsageError

MAX_JOBS = 2_000_000
"""Jobs that are read of one trace: two GiB of memory are enough for a million of them and their replay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceJob:
    """A job as the trace recorded it. Its pods are identical and start together."""

    name: str
    submitted_seconds: float
    """Submission time in seconds since the first submission of the trace."""
    run_seconds: float
    gpus: float
    """GPUs of one pod; a fraction for a share of one GPU."""
    pods: int = 1
    cpu_milli: int = 0
    """CPU request of one pod in thousandths of a core; 0 if the trace has none."""
    memory_mib: int = 0
    """Memory request of one pod; 0 if the trace has none."""
    gpu_memory_mib: int = 0
    """GPU memory of one pod; 0 if the trace has none."""
    priority: int = 0
    user: str = ""
    team: str = ""
    image: str = ""
    gpu_model: str = ""
    """GPU models that it selects, separated by `|`; empty for any."""
    utilisation: float | None = None
    """Mean utilisation of its GPUs, from 0 to 1; None if the trace has none."""
    line: int = 0
    """Its line in the trace, from 1; 0 if the format has no lines."""


@dataclass(frozen=True, slots=True)
class TraceProblem:
    """Why one row, or the file from there on, cannot be read."""

    line: int
    """From 1; 0 for the file as a whole."""
    column: str
    """The name of its column in the file; empty for the row as a whole."""
    problem: str
    given: str = ""
    allowed: str = ""
    fix: str = ""

    @property
    def place(self) -> str:
        """`line 7, column duration`."""
        line = f"line {self.line}" if self.line else ""
        return ", ".join(filter(None, (line, self.column and f"column {self.column}")))


class InvalidTrace(UsageError):
    """A trace that cannot be read, with every problem that was found."""

    def __init__(self, *problems: TraceProblem) -> None:
        super().__init__("; ".join(": ".join(filter(None, (p.place, p.problem))) for p in problems))
        self.problems = problems


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How to read a trace."""

    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    """By field, the column and its unit as `COLUMN` or `COLUMN:UNIT`; the rest is recognised."""
    limit: int | None = None
    """Read no job after this number of jobs; None: refuse a trace with more than MAX_JOBS."""
    skip_invalid: bool = False
    """Leave out rows with problems instead of refusing the trace."""
    max_problems: int = 20
    """Problems after which an invalid trace is refused."""
    progress: Callable[[int], None] | None = None
    """Called with the number of rows from time to time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceReading:
    """The jobs of a trace by submission."""

    format: str
    """`CSV`, `CSV of openb`, `Kueue workloads`."""
    jobs: tuple[TraceJob, ...]
    notes: tuple[str, ...]
    """What the reader changed or did not use."""
    skipped: int = 0
    """Rows that are left out because of problems."""
    problems: tuple[TraceProblem, ...] = ()
    """The first of them."""
