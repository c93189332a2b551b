"""What a node of a pool must be: one JSON document, written by the plan and mounted beside the program."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard_validator.values import Malformed, decode, schema_of

SCHEMA = "gpuyard.dev/expectations/v1"
"""Changes with every change of what the document means."""


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


def read_expectations(text: str) -> Expectations:
    """The expectations of a document.

    Raises:
        Malformed: it is none, or of another version.
    """
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise Malformed(f"expectations: not JSON: {problem}") from None
    if isinstance(raw, dict) and raw.get("schema") != SCHEMA:
        raise Malformed(f"schema: {SCHEMA} is understood, not {raw.get('schema')!r}")
    found: Expectations = decode(Expectations, raw)
    return found


def schema() -> dict[str, Any]:
    """The JSON Schema of the document."""
    made = schema_of(Expectations)
    made["properties"]["schema"] = {"const": SCHEMA}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": SCHEMA, **made}
