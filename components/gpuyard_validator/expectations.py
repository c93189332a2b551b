"""What a node of a pool must be: one JSON document, written by the plan and mounted beside the program."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from gpuyard_validator.nccl.log import INTER_NODE
from gpuyard_validator.values import Malformed, decode, parsed_as, schema_of

SCHEMA = "gpuyard.dev/expectations/v3"
"""Changes with every change of what the document means."""
QUICK, FULL, SOAK = "quick", "full", "soak"
PROFILES = (QUICK, FULL, SOAK)
"""What a machine says of itself; with load and other nodes; the same for long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How the GPUs of these indexes are cut."""

    gpus: tuple[int, ...]
    counts: Mapping[str, int]
    """Instances by profile: 3g.40gb is 2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Adapters that reach other nodes' GPUs without TCP."""

    kind: str
    """efa, infiniband or roce."""
    devices: int
    """How many adapters a node has of them."""
    names: tuple[str, ...]
    """Which ones; empty where it is not known."""
    gbps_per_device: float | None
    """Gigabit a second that each port must run at; null where it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectivePeers:
    """Nodes that run collectives together, this one among them."""

    nodes: int
    between: str
    """What goes between them: efa, infiniband, roce, fastrak, tcpx, gib, nvlink of a rack, or tcp."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedThreshold:
    """Somebody has decided to live with less, for a reason and a while."""

    check: str
    value: float
    """In the unit of the check."""
    reason: str
    until: str
    """The last day it holds: 2027-01-31."""

    def applies(self, today: str) -> bool:
        """Whether it is not over yet."""
        return today <= self.until


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """One node."""

    schema: str
    platform: str
    pool: str
    required: bool
    """Hardware that was not checked does not count as good."""
    gpus: int
    product: str
    """As GPU Feature Discovery calls it: NVIDIA-H100-80GB-HBM3."""
    pci_id: str | None
    """Device id on the bus; null where other products have the same."""
    memory_gib: int
    """As the product is sold."""
    architecture: str
    driver: str | None
    """The driver that is pinned; null where somebody else chooses it."""
    nvlink_gbps: int
    """GB/s that one GPU has to the others by NVLink, both directions together; 0 without it."""
    rack: bool
    """Its NVLink domain goes through several nodes."""
    sharing: str
    """none, time-slicing, mps, mig, mig+time-slicing or dra."""
    layouts: tuple[Layout, ...]
    """Empty where GPUs are whole."""
    network: Network | None
    profile: str
    """quick, full or soak."""
    collectives: CollectivePeers | None
    """Null where no collective runs: in the profile quick."""
    accepted: tuple[AcceptedThreshold, ...]
    """Floors that somebody has lowered, each with its reason and last day."""


def read_expectations(text: str) -> Expectations:
    """The expectations of a document.

    Raises:
        Malformed: it is none, or of another version.
    """
    result: Expectations = decode(Expectations, parsed_as(SCHEMA, text, "expectations"))
    return validated(result)


def validated(result: Expectations) -> Expectations:
    """The same, where its parts go together.

    Raises:
        Malformed: they do not.
    """
    for number, each in enumerate(result.accepted):
        if wrong := _wrong_with(each):
            raise Malformed(f"accepted[{number}].{wrong}")
    together = result.collectives
    if result.profile not in PROFILES:
        raise Malformed(f"profile: one of {', '.join(PROFILES)} is needed, not {result.profile!r}")
    if together is None:
        if result.profile != QUICK:
            raise Malformed(
                f"collectives: the profile {result.profile} runs collectives, and needs it"
            )
        return result
    if together.nodes < 1:
        raise Malformed(f"collectives.nodes: at least 1 is needed, not {together.nodes}")
    if together.between not in INTER_NODE:
        ways = ", ".join(INTER_NODE)
        raise Malformed(f"collectives.between: one of {ways} is needed, not {together.between!r}")
    return result


def _wrong_with(accepted: AcceptedThreshold) -> str:
    """What keeps a lowered floor from being one; empty where nothing does."""
    if accepted.value <= 0:
        return f"value: more than 0 is needed, not {accepted.value:g}"
    if not accepted.reason.strip():
        return "reason: somebody will want to know it"
    try:
        date.fromisoformat(accepted.until)
    except ValueError:
        return f"until: a day as 2027-01-31 is needed, not {accepted.until!r}"
    return ""


def schema() -> dict[str, Any]:
    """The JSON Schema of the document."""
    result = schema_of(Expectations)
    result["properties"]["schema"] = {"const": SCHEMA}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": SCHEMA, **result}
