"""Checks of a cluster's network: the cloud accepts its ranges, none overlap, and all nodes fit."""

from collections.abc import Iterator
from ipaddress import IPv4Network, ip_network
from itertools import combinations

from gpuyard.plan.cluster.endpoint_access import check_cluster_zones
from gpuyard.plan.cluster.ranges import cluster_ranges, cluster_spec
from gpuyard.plan.draft import Draft
from gpuyard_core.catalogue.cluster.networks import PRIVATE_RANGES, SHARED_RANGE, RangeSizes
from gpuyard_core.findings import Diagnostic, Fix, Path, error

_NETWORK: Path = ("cluster", "network")


# ── ranges ────────────────────────────────────────────────────────────────────────────────────────
def check_ranges(draft: Draft) -> list[Diagnostic]:
    """Check that the cloud accepts each range, and that none overlap."""
    if not _is_made(draft):
        return []
    sizes, ranges = draft.provider.network_ranges, cluster_ranges(draft.spec)
    known = {word: cidr for word, cidr in ranges.items() if word in sizes}
    findings = [_size(word, cidr, sizes[word]) for word, cidr in known.items()]
    results = [finding for finding in findings if finding]
    return results or list(_overlaps(draft, known))


def _is_made(draft: Draft) -> bool:
    """Whether gpuyard creates the cluster on a cloud."""
    return bool(draft.provider.network_ranges) and not cluster_spec(draft.spec).existing


def _size(word: str, cidr: str, sizes: RangeSizes) -> Diagnostic | None:
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
        given=cidr,
        allowed=f"/{sizes.widest} to /{sizes.narrowest}, inside {', '.join(inside)}",
        fix=Fix(message=f"remove it: the default is {sizes.default}", at=path),
    )


def _overlaps(draft: Draft, ranges: dict[str, str]) -> Iterator[Diagnostic]:
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
                given=ranges[word],
                allowed=f"a range that does not overlap with {ranges[rest]}",
                fix=Fix(message="write another range"),
            )


# ── addresses ─────────────────────────────────────────────────────────────────────────────────────
def check_addresses(draft: Draft) -> Iterator[Diagnostic]:
    """Check that there are addresses for the maximum of nodes."""
    if (
        not _is_made(draft)
        or not draft.all_pools_valid
        or check_ranges(draft)
        or check_cluster_zones(draft)
    ):
        return
    ranges = cluster_ranges(draft.spec)
    if "cidr" in ranges:
        yield from draft.provider.check_addresses(draft, ranges)


def too_small(draft: Draft, word: str, who: str, needs: int, free: int, has: str) -> Diagnostic:
    """Reject a range with fewer addresses than nodes may need."""
    cidr, widest = cluster_ranges(draft.spec)[word], draft.provider.network_ranges[word].widest
    ways = "a larger range, " if IPv4Network(cidr).prefixlen > widest else ""
    return error(
        "cluster.addresses",
        (*_NETWORK, word),
        f"{who} need up to {needs:,} addresses, but {has} {free:,}",
        given=cidr,
        allowed=f"{needs:,} addresses or more",
        fix=Fix(
            message=f"write {ways}fewer nodes or more zones, or set `id` to an existing network"
        ),
    )
