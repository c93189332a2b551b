"""Address ranges of a cluster's network, and the part of each zone."""

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Network

from gpuyard.provider import provider_of
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.sections import ClusterSpec
from gpuyard_core.catalogue.purchasing import EC2_ZONE
from gpuyard_core.findings import Path

_SLOTS_BITS = 3
"""Eight parts: seven for the private subnets of zones, and one for all public ones."""
_PUBLIC_SLOT = 2**_SLOTS_BITS - 1
MOST_ZONES = _PUBLIC_SLOT
EKS_ZONES = 2
"""EKS places its control plane in at least this many availability zones."""
ANOTHER_ZONE = "another"
"""Placeholder for a zone whose name is known only from the cloud."""


_NOTHING_SAID = ClusterSpec.model_construct()
"""Created once: each instance copies all defaults, and a plan reads it a dozen times."""


def cluster_spec(spec: PlatformSpec) -> ClusterSpec:
    """The cluster section of the stack file, with defaults."""
    return spec.cluster or _NOTHING_SAID


def cluster_ranges(spec: PlatformSpec) -> Mapping[str, str]:
    """By field, the ranges of the network: those in the stack file, else the defaults.

    The ranges of an existing network are unknown; on aws it gets a range of services if one is
    configured, on gcp it gets ranges of pods and services in any case.
    """
    network = cluster_spec(spec).network
    given = {"cidr": network.cidr, "pods": network.pods, "services": network.services}
    sizes = provider_of(spec.cloud).network_ranges
    managed = {} if network.id and "pods" not in sizes else sizes
    defaults = {word: size.default for word, size in managed.items()}
    if network.id:
        defaults.pop("cidr", None)
    return defaults | {word: cidr for word, cidr in given.items() if cidr is not None}


def configured_zones(spec: PlatformSpec) -> dict[str, Path]:
    """Each zone that the stack file names for the cluster or a pool, with its first path."""
    paths: dict[str, Path] = {}
    for number, zone in enumerate(cluster_spec(spec).zones):
        paths.setdefault(zone, ("cluster", "zones", number))
    for index, pool in enumerate(spec.pools):
        for number, zone in enumerate(pool.zones):
            paths.setdefault(zone, ("pools", index, "zones", number))
    return paths


def cluster_zones(spec: PlatformSpec) -> tuple[str, ...]:
    """The zones of the cluster, as far as they are named: its own, else those of the pools."""
    zones = dict.fromkeys(cluster_spec(spec).zones)
    return tuple(zones or sorted({zone for pool in spec.pools for zone in pool.zones}))


def is_local_zone(zone: str) -> bool:
    """Whether it is a Local Zone of EC2, which can have nodes, but no EKS control plane."""
    form = EC2_ZONE.pattern.fullmatch(zone)
    return form is not None and form["local"] is not None


def without_local_zones(zones: Iterable[str]) -> list[str]:
    """The availability zones, each once."""
    return [zone for zone in dict.fromkeys(zones) if not is_local_zone(zone)]


def zones_with_subnets(spec: PlatformSpec) -> tuple[str, ...]:
    """The zones of the cluster, and those that EKS also needs, which have no name yet."""
    named = cluster_zones(spec)
    missing = EKS_ZONES - len(without_local_zones(named))
    return (*named, *(f"{ANOTHER_ZONE}-{n}" for n in range(1, 1 + missing)))


def subnet_ranges(
    cidr: str, zones: tuple[str, ...]
) -> Mapping[str, tuple[IPv4Network, IPv4Network]]:
    """By zone, the ranges of its private and its public subnet.

    The letter of a zone determines its slot, so that adding a zone moves no other: private subnets
    are eighths of the network, public ones eighths of the last eighth. A zone without a name takes
    the last free slot, and so does a Local Zone, after all others.
    """
    eighths = list(IPv4Network(cidr).subnets(prefixlen_diff=_SLOTS_BITS))
    public = list(eighths[_PUBLIC_SLOT].subnets(prefixlen_diff=_SLOTS_BITS))
    slots: dict[str, int] = {}
    for zone in sorted(zones, key=is_local_zone):
        preferred_slot = ord(zone[-1]) - ord("a")
        free = [n for n in reversed(range(_PUBLIC_SLOT)) if n not in slots.values()]
        slots[zone] = preferred_slot if preferred_slot in free else free[0]
    return {zone: (eighths[slot], public[slot]) for zone, slot in slots.items()}
