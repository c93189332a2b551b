"""Results of a GPU under load: each kind of work, and the driver's samples meanwhile."""

from dataclasses import dataclass
from enum import StrEnum

from gpuyard_validator.values import NOT_QUERIED, Answer

DONE, CRASHED, HUNG = "done", "crashed", "hung"
"""How the process of a GPU ended."""


class Task(StrEnum):
    """Kinds of work."""

    MEMORY = "memory"
    """Copies within GPU memory."""
    TO_DEVICE = "to_device"
    TO_HOST = "to_host"
    PEERS = "peers"
    """Copies to each other GPU of the node."""
    MATMUL = "product"
    """A matrix product, on tensor cores."""
    STEP = "step"
    """The matrix products of a training step, forward and backward, and a copy of its weights."""


ALONE = (Task.MEMORY, Task.TO_DEVICE, Task.TO_HOST, Task.PEERS, Task.MATMUL)
"""Work that is measured on one GPU after the other."""
COPIES = (Task.TO_DEVICE, Task.TO_HOST)
HARD = (Task.MATMUL, Task.STEP)
"""Work that draws high power."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """One kind of work, repeated."""

    task: str
    other: int | None
    """Index of the destination GPU; null where there is none."""
    amount: float
    """Bytes or floating-point operations of one round."""
    seconds: float
    """Median time of one round by the GPU's clock, without warm-up."""
    rounds: int
    wrong: int
    """Number of wrong elements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSample:
    """Samples of the driver during one kind of work. One failed query makes the value unknown."""

    task: str
    samples: int
    reasons: Answer[int] = NOT_QUERIED
    """Clock throttle reasons, all bits of all samples."""
    margin: Answer[int] = NOT_QUERIED
    """Minimum distance to the slowdown temperature in °C."""
    milliwatts: Answer[int] = NOT_QUERIED
    """Maximum power draw."""
    sm_mhz: Answer[int] = NOT_QUERIED
    """Lowest clock."""
    pcie_generation: Answer[int] = NOT_QUERIED
    """Highest generation and width of the link."""
    pcie_width: Answer[int] = NOT_QUERIED
    uncorrected: Answer[int] = NOT_QUERIED
    """Uncorrected memory errors meanwhile."""
    remapped: Answer[int] = NOT_QUERIED
    """Rows remapped meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Results of one GPU."""

    uuid: str
    """As CUDA reports it."""
    ended: str
    """done, crashed or hung."""
    output: str
    """Its last output where it is not done, preceded by what it was doing."""
    code: int
    """CUDA's error code; 0 without an error."""
    missing_library: str
    """Work that did not run because a library is missing; empty where all ran."""
    versions: tuple[str, ...]
    rates: tuple[Rate, ...]
    seen: tuple[LoadSample, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """The work of a GPU. Sizes are bytes, except the side of the matrices."""

    tasks: tuple[str, ...]
    numbers: str
    """bf16, or fp16 where the architecture has no bf16."""
    seconds: float
    """Minimum duration of each kind of work."""
    copy: int = 1 << 30
    host: int = 1 << 28
    side: int = 8192
    rounds: int = 10
    """Rounds of one batch; as many warm-up rounds run first."""
