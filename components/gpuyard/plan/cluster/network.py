"""Checks of a cluster's network: the cloud accepts its ranges, none overlap, and all nodes fit."""

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network, ip_network
from itertools import combinations

from gpuyard.catalogue.cluster.networks import (
    EC2_TAKEN,
    GCE_TAKEN,
    GKE_NODE_PODS,
    PREFIX_ADDRESSES,
    PREFIXES_OF_A_NODE,
    PRIVATE_RANGES,
    RANGES,
    SHARED_RANGE,
    RangeSizes,
)
from gpuyard.catalogue.fabric import efa_interfaces_to_launch
from gpuyard.catalogue.machines import Machine
from gpuyard.findings import Finding, Fix, Path, error
from gpuyard.plan.cluster.endpoint_access import check_cluster_zones
from gpuyard.plan.cluster.ranges import (
    cluster_ranges,
    cluster_spec,
    cluster_zones,
    subnet_ranges,
    zones_with_subnets,
)
from gpuyard.plan.draft import Draft
from gpuyard.spec.platform import Cloud

_NETWORK: Path = ("cluster", "network")


# ── ranges ────────────────────────────────────────────────────────────────────────────────────────
def check_ranges(draft: Draft) -> list[Finding]:
    """Check that the cloud accepts each range, and that none overlap."""
    if not _is_made(draft):
        return []
    sizes, ranges = RANGES[draft.spec.cloud.value], cluster_ranges(draft.spec)
    known = {word: cidr for word, cidr in ranges.items() if word in sizes}
    findings = [_size(word, cidr, sizes[word]) for word, cidr in known.items()]
    results = [finding for finding in findings if finding]
    return results or list(_overlaps(draft, known))


def _is_made(draft: Draft) -> bool:
    """Whether gpuyard creates the cluster on a cloud."""
    return draft.spec.cloud.value in RANGES and not cluster_spec(draft.spec).existing


def _size(word: str, cidr: str, sizes: RangeSizes) -> Finding | None:
    network = ip_network(cidr)
    inside = (*PRIVATE_RANGES, *([SHARED_RANGE] if word != "services" else []))
    fits = (
        isinstance(network, IPv4Network)
        and sizes.widest <= network.prefixlen <= sizes.narrowest
        and any(network.subnet_of(IPv4Network(each)) for each in inside)
    )
    if fits:
        return None
    path = (*_NETWORK, word)
    return error(
        "cluster.range",
        path,
        "the cloud does not accept this range here",
        value=cidr,
        allowed=f"/{sizes.widest} to /{sizes.narrowest}, inside {', '.join(inside)}",
        fix=Fix(message=f"remove it: the default is {sizes.default}", at=path),
    )


def _overlaps(draft: Draft, ranges: dict[str, str]) -> Iterator[Finding]:
    """One of each two ranges that overlap: an address would belong to a node and to a service."""
    given = cluster_spec(draft.spec).network.model_fields_set
    for one, other in combinations(sorted(ranges, key=lambda w: (w not in given, w)), 2):
        if IPv4Network(ranges[one]).overlaps(IPv4Network(ranges[other])):
            word = other if other in given else one
            rest = one if word == other else other
            yield error(
                "cluster.range",
                (*_NETWORK, word),
                f"this range overlaps with `{rest}`, {ranges[rest]}",
                value=ranges[word],
                allowed=f"a range that does not overlap with {ranges[rest]}",
                fix=Fix(message="write another range"),
            )


# ── addresses ─────────────────────────────────────────────────────────────────────────────────────
def check_addresses(draft: Draft) -> list[Finding]:
    """Check that there are addresses for the maximum of nodes."""
    if (
        not _is_made(draft)
        or not draft.all_pools_valid
        or check_ranges(draft)
        or check_cluster_zones(draft)
    ):
        return []
    ranges = cluster_ranges(draft.spec)
    if "cidr" not in ranges:
        return []
    return list(
        _on_aws(draft, ranges["cidr"]) if draft.spec.cloud is Cloud.AWS else _on_gcp(draft, ranges)
    )


def addresses_of_node(machine: Machine | None) -> int:
    """The minimum of addresses of an EKS node: its interfaces, and blocks for its pods."""
    with_address = (
        [i for i in efa_interfaces_to_launch(machine) if i.kind != "efa-only"] if machine else []
    )
    return max(1, len(with_address)) + PREFIXES_OF_A_NODE * PREFIX_ADDRESSES


def _on_aws(draft: Draft, cidr: str) -> Iterator[Finding]:
    """A pool in one zone uses the subnet of that zone; all pools together use all subnets."""
    system = draft.spec.system.nodes.high * addresses_of_node(None) if draft.spec.system else 0
    addresses_by_pool = {
        p.name: p.nodes.high * addresses_of_node(p.machine) for p in draft.valid_pools.values()
    }
    subnets = subnet_ranges(cidr, zones_with_subnets(draft.spec))
    free = {z: private.num_addresses - EC2_TAKEN for z, (private, _) in subnets.items()}
    for zone in cluster_zones(draft.spec):
        inside = [p.name for p in draft.valid_pools.values() if p.zones == (zone,)]
        needs = sum(addresses_by_pool[name] for name in inside)
        if needs > free[zone]:
            yield _too_small(
                draft, "cidr", f"{', '.join(inside)} in {zone}", needs, free[zone], "the subnet has"
            )
    needs = sum(addresses_by_pool.values()) + system
    if needs > sum(free.values()):
        yield _too_small(draft, "cidr", "all nodes", needs, sum(free.values()), "the subnets have")


def _on_gcp(draft: Draft, ranges: Mapping[str, str]) -> Iterator[Finding]:
    """Each node has an address and a block for pods; an upgrade first adds a node."""
    nodes = sum(p.nodes.high + 1 for p in draft.valid_pools.values())
    nodes += draft.spec.system.nodes.high + 1 if draft.spec.system else 0
    for word, each, reserved in (("cidr", 1, GCE_TAKEN), ("pods", GKE_NODE_PODS, 0)):
        free = IPv4Network(ranges[word]).num_addresses - reserved
        if nodes * each > free:
            yield _too_small(draft, word, f"{nodes} nodes", nodes * each, free, "the range has")


def _too_small(draft: Draft, word: str, who: str, needs: int, free: int, has: str) -> Finding:
    cidr, widest = cluster_ranges(draft.spec)[word], RANGES[draft.spec.cloud.value][word].widest
    ways = "a larger range, " if IPv4Network(cidr).prefixlen > widest else ""
    return error(
        "cluster.addresses",
        (*_NETWORK, word),
        f"{who} need up to {needs:,} addresses, but {has} {free:,}",
        value=cidr,
        allowed=f"{needs:,} addresses or more",
        fix=Fix(
            message=f"write {ways}fewer nodes or more zones, or set `id` to an existing network"
        ),
    )
