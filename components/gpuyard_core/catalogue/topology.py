"""Topology: the labels by which clouds describe the location of nodes, from wide to narrow."""

from collections.abc import Mapping
from datetime import date
from functools import cache

from gpuyard_core.catalogue.machines import Machine, table_records
from gpuyard_core.catalogue.sources import Source
from gpuyard_core.catalogue.tables.machines import EC2_GPU, GCE_GPU
from gpuyard_core.names import CLIQUE_LABEL

EC2_LAYER = "topology.k8s.aws/network-node-layer-"
EC2_SOURCE = Source(
    "EC2 User Guide, prerequisites of EC2 topology: the types that return three network nodes and those that"
    " return four. An AWS blog shows four labels on p6e-gb200; the guide has three, which is used here",
    date(2026, 11, 22),
    as_of=date(2026, 11, 22),
)
GCE_BLOCK, GCE_SUBBLOCK, GCE_HOST = (
    f"cloud.google.com/gce-topology-{name}" for name in ("block", "subblock", "host")
)
GCE_SOURCE = Source(
    "cluster-toolkit v1.95.0 at 1047080, kueue-configuration.yaml.tftpl of gke-a3-ultragpu, gke-a4 and gke-a4x:"
    " the level of one NVLink domain is above the host",
    date(2026, 11, 22),
    as_of=date(2026, 11, 22),
)
NESTED_SOURCE = Source(
    "kueue v0.19.2 pkg/util/tas/tas.go: a domain is identified by the values of all levels down to its own, so"
    " nodes with different values of a wider level never share one",
    date(2026, 11, 22),
    as_of=date(2026, 8, 20),
)

TOPOGRAPH_SOURCE = Source(
    "NVIDIA Topograph, labels of nodes: network.topology.nvidia.com/leaf, spine and core up to v0.5, and"
    " fabric.topograph.run/tier-N from v1.0, where 0 is the switch next to the node",
    date(2026, 11, 25),
    as_of=date(2026, 11, 25),
)
TIER = "fabric.topograph.run/tier-"
NARROWEST_TIER = 100
"""The rank of the switch next to a node; each tier above it is one less."""
PLACES = (
    *("zone", "datacenter", "building", "hall", "room", "pod", "row"),
    *("core", "block", "spine", "subblock", "sub-block", "rack", "leaf", "switch"),
)
"""Label suffixes for locations in your own data center, from wide to narrow; gpuyard's list, not a standard."""


@cache
def _layers() -> Mapping[str, int]:
    rows = (row for table in (EC2_GPU, GCE_GPU) for row in table_records(table))
    return {row["type"]: int(row["layers"]) for row in rows}


def network_labels(machine: Machine) -> tuple[str, ...]:
    """Network topology labels of the cloud that every node of this type has, the widest first."""
    layers = _layers().get(machine.name, 0)
    if machine.cloud == "gcp":
        return (GCE_BLOCK, GCE_SUBBLOCK, GCE_HOST)[:layers]
    return tuple(f"{EC2_LAYER}{layer}" for layer in range(1, layers + 1))


def place_rank(key: str) -> int | None:
    """The rank of the location that one of your labels names, the widest first; None if it names none."""
    if key.startswith(TIER):
        tier = key.removeprefix(TIER)
        return NARROWEST_TIER - int(tier) if tier.isdecimal() and len(tier) == 1 else None
    name = key.rpartition("/")[2].lower()
    ends = [place for place in PLACES if name == place or name.endswith((f"-{place}", f".{place}"))]
    return PLACES.index(max(ends, key=len)) if ends else None


def with_clique(labels: tuple[str, ...], machine: Machine) -> tuple[str, ...]:
    """The labels with that of the NVLink domain, at the level above those that are narrower.

    A domain has many nodes and a GCE host has one, so the domain is above the host. Kueue nests domains
    (NESTED_SOURCE): below the host, no two nodes would share one.
    """
    if not machine.is_rack:
        return labels
    at = labels.index(GCE_HOST) if GCE_HOST in labels else len(labels)
    return (*labels[:at], CLIQUE_LABEL, *labels[at:])
