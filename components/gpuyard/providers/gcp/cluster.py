"""Clusters of Google Cloud: one subnetwork, addresses of nodes, upgrade hours, and labels."""

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network

from gpuyard.plan.cluster.network import too_small
from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.draft import Draft
from gpuyard.providers.gcp.cluster_maintenance import check_maintenance
from gpuyard.spec.sections.cluster import Subnets
from gpuyard_core.catalogue.cluster.networks import GCE_TAKEN, GKE_NODE_PODS
from gpuyard_core.catalogue.cluster.tags import gcp_key
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list

_SUBNETS: Path = ("cluster", "network", "subnets")
AWS_FIELDS: tuple[Path, ...] = (
    ("support",),
    ("logs", "retention_days"),
    ("network", "endpoints"),
    ("network", "tags"),
    ("network", "subnets", "public"),
    ("network", "security_groups"),
    ("roles", "cluster"),
)
"""Fields of `cluster` that have an effect on aws only."""


def check_cluster(draft: Draft) -> list[Diagnostic]:
    """Check the subnetwork of an existing network, upgrade hours, and labels."""
    subnets = cluster_spec(draft.spec).network.subnets
    listed = _subnetworks(subnets) if subnets else ()
    return [*listed, *check_maintenance(draft), *_same_labels(draft.spec.tags)]


def _subnetworks(subnets: Subnets) -> Iterator[Diagnostic]:
    """On gcp a subnetwork covers a whole region, and a cluster has one."""
    if len(subnets.private) > 1:
        first = subnets.private[0]
        yield error(
            "cluster.subnets",
            (*_SUBNETS, "private"),
            "on gcp a cluster has one subnetwork, which covers all zones of its region",
            given=format_list(subnets.private),
            allowed="one subnetwork",
            fix=Fix(message=f"write [{first}]", at=(*_SUBNETS, "private"), value=[first]),
        )


def check_addresses(draft: Draft, ranges: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Each node has an address and a block for pods; an upgrade first adds a node."""
    nodes = sum(p.nodes.high + 1 for p in draft.valid_pools.values())
    nodes += draft.spec.system.nodes.high + 1 if draft.spec.system else 0
    for word, each, reserved in (("cidr", 1, GCE_TAKEN), ("pods", GKE_NODE_PODS, 0)):
        free = IPv4Network(ranges[word]).num_addresses - reserved
        if nodes * each > free:
            yield too_small(draft, word, f"{nodes} nodes", nodes * each, free, "the range has")


def _same_labels(tags: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Labels allow fewer characters than tags: if two tags become the same label, one is lost."""
    first: dict[str, str] = {}
    for key in tags:
        label = gcp_key(key)
        if first.setdefault(label, key) != key:
            yield error(
                "tags.same",
                ("tags", key),
                f"on gcp it becomes the label {label}, as {first[label]} does",
                given=key,
                allowed="keys that differ in lowercase letters, digits, dashes and underscores",
                fix=Fix(message="remove it, or write another key", at=("tags", key)),
            )
