"""What a node of a pool must be: one JSON document, written by the plan and mounted into the pod."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from gpuyard_validator.nccl.log import INTER_NODE
from gpuyard_validator.values import Malformed, decode, parsed_as, schema_of

SCHEMA = "gpuyard.dev/expectations/v3"
"""Changes whenever the meaning of the document changes."""
QUICK, FULL, SOAK = "quick", "full", "soak"
PROFILES = (QUICK, FULL, SOAK)
"""Queries only; plus load and collectives; plus the same for long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The MIG layout of the GPUs with these indexes."""

    gpus: tuple[int, ...]
    counts: Mapping[str, int]
    """Slices by profile: 3g.40gb is 2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Network adapters for GPU traffic between nodes without TCP."""

    kind: str
    """efa, infiniband or roce."""
    devices: int
    """Number of adapters per node."""
    names: tuple[str, ...]
    """Names of the adapters; empty where unknown."""
    gbps_per_device: float | None
    """Required Gbit/s of each port; null where unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectivePeers:
    """Nodes that run collectives together, including this one."""

    nodes: int
    between: str
    """Transport between nodes: efa, infiniband, roce, fastrak, tcpx, gib, nvlink of a rack, or tcp."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedThreshold:
    """A lower threshold that you accepted, with a reason and an end date."""

    check: str
    value: float
    """In the unit of the check."""
    reason: str
    until: str
    """The last day on which it applies: 2027-01-31."""

    def applies(self, today: str) -> bool:
        """Whether it has not expired."""
        return today <= self.until


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """One node."""

    schema: str
    platform: str
    pool: str
    required: bool
    """A check that did not run counts as failed."""
    gpus: int
    product: str
    """As GPU Feature Discovery writes it: NVIDIA-H100-80GB-HBM3."""
    pci_id: str | None
    """PCI device id; null where other products have the same."""
    memory_gib: int
    """The size in the product name."""
    architecture: str
    driver: str | None
    """The pinned driver version; null where gpuyard does not manage the driver."""
    nvlink_gbps: int
    """GB/s from one GPU to the others over NVLink, both directions summed; 0 without NVLink."""
    rack: bool
    """Its NVLink domain spans several nodes."""
    sharing: str
    """none, time-slicing, mps, mig, mig+time-slicing or dra."""
    layouts: tuple[Layout, ...]
    """Empty where GPUs are not partitioned."""
    network: Network | None
    profile: str
    """quick, full or soak."""
    collectives: CollectivePeers | None
    """Null where no collective runs: in profile quick."""
    accepted: tuple[AcceptedThreshold, ...]
    """Accepted lower thresholds, each with its reason and last day."""


def read_expectations(text: str) -> Expectations:
    """The expectations of a document.

    Raises:
        Malformed: the document is not valid, or has another version.
    """
    result: Expectations = decode(Expectations, parsed_as(SCHEMA, text, "expectations"))
    return validated(result)


def validated(result: Expectations) -> Expectations:
    """The expectations, if their fields are consistent.

    Raises:
        Malformed: they are not.
    """
    for number, each in enumerate(result.accepted):
        if wrong := _wrong_with(each):
            raise Malformed(f"accepted[{number}].{wrong}")
    together = result.collectives
    if result.profile not in PROFILES:
        raise Malformed(f"profile: must be one of {', '.join(PROFILES)}, not {result.profile!r}")
    if together is None:
        if result.profile != QUICK:
            raise Malformed(
                f"collectives: required, because profile {result.profile} runs collectives"
            )
        return result
    if together.nodes < 1:
        raise Malformed(f"collectives.nodes: must be at least 1, not {together.nodes}")
    if together.between not in INTER_NODE:
        ways = ", ".join(INTER_NODE)
        raise Malformed(f"collectives.between: must be one of {ways}, not {together.between!r}")
    return result


def _wrong_with(accepted: AcceptedThreshold) -> str:
    """Why an accepted threshold is invalid; empty where it is valid."""
    if accepted.value <= 0:
        return f"value: must be more than 0, not {accepted.value:g}"
    if not accepted.reason.strip():
        return "reason: must not be empty"
    try:
        date.fromisoformat(accepted.until)
    except ValueError:
        return f"until: must be a date such as 2027-01-31, not {accepted.until!r}"
    return ""


def schema() -> dict[str, Any]:
    """The JSON Schema of the document."""
    result = schema_of(Expectations)
    result["properties"]["schema"] = {"const": SCHEMA}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": SCHEMA, **result}
