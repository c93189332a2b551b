"""Ranges of a cluster's network: what it has, and which of it each zone gets."""

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Network

from gpuyard.catalogue.cluster.networks import RANGES
from gpuyard.catalogue.purchasing import EC2_ZONE
from gpuyard.findings import Path
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.sections import ClusterSpec

_SLOTS_BITS = 3
"""Eight parts: seven for the private subnets of zones, and one for all public ones."""
_PUBLIC_SLOT = 2**_SLOTS_BITS - 1
MOST_ZONES = _PUBLIC_SLOT
EKS_ZONES = 2
"""EKS puts its control plane into so many availability zones at least."""
ANOTHER_ZONE = "another"
"""Stands for a zone whose name is known only when the cloud is asked."""


_NOTHING_SAID = ClusterSpec.model_construct()
"""Made once: each copies all its defaults, and a plan asks a dozen times."""


def cluster_spec(spec: PlatformSpec) -> ClusterSpec:
    """What the stack file says of the cluster, with the defaults of what it does not."""
    return spec.cluster or _NOTHING_SAID


def cluster_ranges(spec: PlatformSpec) -> Mapping[str, str]:
    """By word, the ranges that the network will have: what is written, else the default.

    A network that is there already has ranges that nobody here knows; on aws it takes those of its
    services where it is told to, on gcp pods and services get ranges in it all the same.
    """
    network = cluster_spec(spec).network
    given = {"cidr": network.cidr, "pods": network.pods, "services": network.services}
    sizes = RANGES.get(spec.cloud.value, {})
    managed = {} if network.id and "pods" not in sizes else sizes
    defaults = {word: size.default for word, size in managed.items()}
    if network.id:
        defaults.pop("cidr", None)
    return defaults | {word: cidr for word, cidr in given.items() if cidr is not None}


def configured_zones(spec: PlatformSpec) -> dict[str, Path]:
    """Each zone that the stack file names, of its cluster and of its pools, and the first place that does."""
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
    """Whether it is a Local Zone of EC2, which takes nodes, and no control plane of EKS."""
    form = EC2_ZONE.pattern.fullmatch(zone)
    return form is not None and form["local"] is not None


def without_local_zones(zones: Iterable[str]) -> list[str]:
    """The availability zones, each once."""
    return [zone for zone in dict.fromkeys(zones) if not is_local_zone(zone)]


def zones_with_subnets(spec: PlatformSpec) -> tuple[str, ...]:
    """The same for EKS, which wants two availability zones: what is missing has no name yet."""
    named = cluster_zones(spec)
    missing = EKS_ZONES - len(without_local_zones(named))
    return (*named, *(f"{ANOTHER_ZONE}-{n}" for n in range(1, 1 + missing)))


def subnet_ranges(
    cidr: str, zones: tuple[str, ...]
) -> Mapping[str, tuple[IPv4Network, IPv4Network]]:
    """By zone, the ranges of its private and its public subnet.

    A zone has its place by its letter, so that one that comes later moves no other: private subnets are
    eighths of the network, public ones eighths of the last eighth. A zone without a name takes the last free,
    and so does a Local Zone, after all others.
    """
    eighths = list(IPv4Network(cidr).subnets(prefixlen_diff=_SLOTS_BITS))
    public = list(eighths[_PUBLIC_SLOT].subnets(prefixlen_diff=_SLOTS_BITS))
    slots: dict[str, int] = {}
    for zone in sorted(zones, key=is_local_zone):
        preferred_slot = ord(zone[-1]) - ord("a")
        free = [n for n in reversed(range(_PUBLIC_SLOT)) if n not in slots.values()]
        slots[zone] = preferred_slot if preferred_slot in free else free[0]
    return {zone: (eighths[slot], public[slot]) for zone, slot in slots.items()}
