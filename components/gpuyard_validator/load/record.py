"""What came of a GPU under load: how each kind of work went, and what the driver said meanwhile."""

from dataclasses import dataclass
from enum import StrEnum

from gpuyard_validator.values import NOT_QUERIED, Answer

DONE, CRASHED, HUNG = "done", "crashed", "hung"
"""How the process of a GPU ended."""


class Task(StrEnum):
    """Kinds of work."""

    MEMORY = "memory"
    """Copies inside the GPU's memory."""
    TO_DEVICE = "to_device"
    TO_HOST = "to_host"
    PEERS = "peers"
    """Copies to each other GPU of the node."""
    MATMUL = "product"
    """A product of matrices, on tensor cores."""
    STEP = "step"
    """The products of a training step, forward and backward, and a copy of its weights."""


ALONE = (Task.MEMORY, Task.TO_DEVICE, Task.TO_HOST, Task.PEERS, Task.MATMUL)
"""What is measured on one GPU after the other."""
COPIES = (Task.TO_DEVICE, Task.TO_HOST)
HARD = (Task.MATMUL, Task.STEP)
"""What draws power."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """One kind of work, done again and again."""

    task: str
    other: int | None
    """The index of the GPU that it went to; null where it went to none."""
    amount: float
    """Of one round: bytes, or floating-point operations."""
    seconds: float
    """Of one round, the median by the GPU's own clock; what warmed it up does not count."""
    rounds: int
    wrong: int
    """Elements that are not what they must be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSample:
    """What the driver said while one kind of work ran. One answer that failed makes the whole unknown."""

    task: str
    samples: int
    reasons: Answer[int] = NOT_QUERIED
    """Why clocks were held, all bits of all looks."""
    margin: Answer[int] = NOT_QUERIED
    """Degrees until it slows down, at its hottest."""
    milliwatts: Answer[int] = NOT_QUERIED
    """The most that it drew."""
    sm_mhz: Answer[int] = NOT_QUERIED
    """The lowest clock."""
    pcie_generation: Answer[int] = NOT_QUERIED
    """The highest that the link came to."""
    pcie_width: Answer[int] = NOT_QUERIED
    uncorrected: Answer[int] = NOT_QUERIED
    """Errors of memory that came meanwhile, and that nothing corrected."""
    remapped: Answer[int] = NOT_QUERIED
    """Rows of memory that were given up meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One GPU's share."""

    uuid: str
    """As CUDA calls it."""
    ended: str
    """done, crashed or hung."""
    output: str
    """Its last words, where it is not done; before them what it did then."""
    code: int
    """Of CUDA's error; 0 where there was none."""
    missing_library: str
    """What could not be run for want of a library; empty where all was there."""
    versions: tuple[str, ...]
    rates: tuple[Rate, ...]
    seen: tuple[LoadSample, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """What a GPU is to do. Sizes are bytes, but for the side of the matrices."""

    tasks: tuple[str, ...]
    numbers: str
    """bf16, or fp16 where the architecture has no bf16."""
    seconds: float
    """So long each kind of work is repeated, at least."""
    copy: int = 1 << 30
    host: int = 1 << 28
    side: int = 8192
    rounds: int = 10
    """Rounds of one batch; before the first as many warm up."""
