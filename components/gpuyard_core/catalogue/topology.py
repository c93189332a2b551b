"""Topology: the labels by which clouds describe the location of nodes, from wide to narrow.

Sources: `topology.gce`, `topology.nested`.
"""

from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.names import CLIQUE_LABEL

EC2_LAYER = "topology.k8s.aws/network-node-layer-"  # topology.ec2
GCE_BLOCK, GCE_SUBBLOCK, GCE_HOST = (
    f"cloud.google.com/gce-topology-{name}" for name in ("block", "subblock", "host")
)

TIER = "fabric.topograph.run/tier-"  # topology.topograph
NARROWEST_TIER = 100
"""The rank of the switch next to a node; each tier above it is one less."""
PLACES = (
    *("zone", "datacenter", "building", "hall", "room", "pod", "row"),
    *("core", "block", "spine", "subblock", "sub-block", "rack", "leaf", "switch"),
)
"""Label suffixes for locations in your own data center, from wide to narrow; gpuyard's list, not a standard."""


def network_labels(machine: Machine) -> tuple[str, ...]:
    """Network topology labels of the cloud that every node of this type has, the widest first."""
    layers = machine.network_layers
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
