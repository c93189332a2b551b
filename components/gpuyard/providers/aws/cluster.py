"""Clusters of AWS: subnets in zones, addresses of nodes, and tags."""

from collections.abc import Iterator, Mapping
from datetime import date

from gpuyard.plan.capacity.scaling import installs_karpenter
from gpuyard.plan.cluster.network import too_small
from gpuyard.plan.cluster.ranges import (
    cluster_spec,
    cluster_zones,
    subnet_ranges,
    zones_with_subnets,
)
from gpuyard.plan.draft import Draft
from gpuyard.spec.late_inputs import is_late_list
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.sections import DatasetKind
from gpuyard.spec.sections.cluster import Subnets
from gpuyard_core.catalogue.cluster.networks import EC2_TAKEN, PREFIX_ADDRESSES, PREFIXES_OF_A_NODE
from gpuyard_core.catalogue.cluster.tags import AWS_TAGS, RESERVED, aws_letters
from gpuyard_core.catalogue.fabric import efa_interfaces_to_launch
from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, info

_SUBNETS: Path = ("cluster", "network", "subnets")
_GROUPS: Path = ("cluster", "network", "security_groups")
_TAGS: Path = ("tags",)
_TAG_CHARACTERS = "letters, digits, spaces and _.:/=+-@"
GCP_FIELDS: tuple[Path, ...] = (
    ("release_channel",),
    ("maintenance",),
    ("endpoint", "dns"),
    ("network", "pods"),
)
"""Fields of `cluster` that have an effect on gcp only."""


def check_cluster(draft: Draft) -> list[Diagnostic]:
    """Check subnets of an existing network, and the form of tags."""
    subnets = cluster_spec(draft.spec).network.subnets
    listed = [*_duplicates(subnets), *_without_use(subnets)] if subnets else []
    return [
        *listed,
        *_groups_elsewhere(draft.spec),
        *_unknown_count(draft),
        *_tag_forms(draft.spec.tags),
    ]


# ── subnets ───────────────────────────────────────────────────────────────────────────────────────
def _duplicates(subnets: Subnets) -> Iterator[Diagnostic]:
    once = list(dict.fromkeys(subnets.private))
    if len(once) < len(subnets.private):
        yield error(
            "cluster.subnets",
            (*_SUBNETS, "private"),
            "a subnet is listed twice, which EKS does not accept",
            given=format_list(subnets.private),
            allowed="each subnet once",
            fix=Fix(message=f"write [{', '.join(once)}]", at=(*_SUBNETS, "private"), value=once),
        )


def _without_use(subnets: Subnets) -> Iterator[Diagnostic]:
    """Load balancer controllers look for tags, and gpuyard does not tag an existing network."""
    if subnets.public:
        yield info(
            "cluster.subnets",
            (*_SUBNETS, "public"),
            "the field has no effect: load balancers find public subnets by the tag kubernetes.io/role/elb",
            given=format_list(subnets.public),
            allowed="subnets with the tag kubernetes.io/role/elb: 1",
            fix=Fix(message="add the tag to these subnets, or remove `public`"),
        )


def _groups_elsewhere(spec: PlatformSpec) -> Iterator[Diagnostic]:
    """A security group belongs to one network, so that of a new network cannot exist yet."""
    cluster = cluster_spec(spec)
    if cluster.network.security_groups and not (cluster.network.id or cluster.existing):
        yield error(
            "cluster.subnets",
            _GROUPS,
            "security groups of another network cannot protect nodes of a new network",
            given=format_list(cluster.network.security_groups),
            allowed="security groups of an existing network with an `id`",
            fix=Fix(message="remove `security_groups`, or set `id` and `subnets`", at=_GROUPS),
        )


def _unknown_count(draft: Draft) -> Iterator[Diagnostic]:
    """A mount target of EFS and a term of Karpenter need one value for each subnet."""
    spec, subnets = draft.spec, cluster_spec(draft.spec).network.subnets
    if subnets is None or cluster_zones(spec) or not any(map(is_late_list, subnets.private)):
        return
    datasets = spec.storage.datasets if spec.storage else ()
    if installs_karpenter(spec) or any(
        each.kind is DatasetKind.EFS and not each.file_system for each in datasets
    ):
        yield error(
            "cluster.subnets",
            (*_SUBNETS, "private"),
            "EFS and Karpenter need each subnet, and the number of subnets in one output is known "
            "only at deployment",
            given="one output with a list",
            allowed="one output for each subnet; or zones of the cluster",
            fix=Fix(message="pass a list of outputs, or set `cluster.zones`"),
        )


# ── addresses ─────────────────────────────────────────────────────────────────────────────────────
def addresses_of_node(machine: Machine | None) -> int:
    """The minimum of addresses of an EKS node: its interfaces, and blocks for its pods."""
    with_address = (
        [i for i in efa_interfaces_to_launch(machine) if i.kind != "efa-only"] if machine else []
    )
    return max(1, len(with_address)) + PREFIXES_OF_A_NODE * PREFIX_ADDRESSES


def check_addresses(draft: Draft, ranges: Mapping[str, str]) -> Iterator[Diagnostic]:
    """A pool in one zone uses the subnet of that zone; all pools together use all subnets."""
    system = draft.spec.system.nodes.high * addresses_of_node(None) if draft.spec.system else 0
    addresses_by_pool = {
        p.name: p.nodes.high * addresses_of_node(p.machine) for p in draft.valid_pools.values()
    }
    subnets = subnet_ranges(ranges["cidr"], zones_with_subnets(draft.spec))
    free = {z: private.num_addresses - EC2_TAKEN for z, (private, _) in subnets.items()}
    for zone in cluster_zones(draft.spec):
        inside = [p.name for p in draft.valid_pools.values() if p.zones == (zone,)]
        needs = sum(addresses_by_pool[name] for name in inside)
        if needs > free[zone]:
            yield too_small(
                draft, "cidr", f"{', '.join(inside)} in {zone}", needs, free[zone], "the subnet has"
            )
    needs = sum(addresses_by_pool.values()) + system
    if needs > sum(free.values()):
        yield too_small(draft, "cidr", "all nodes", needs, sum(free.values()), "the subnets have")


# ── tags ──────────────────────────────────────────────────────────────────────────────────────────
def _tag_forms(tags: Mapping[str, str]) -> Iterator[Diagnostic]:
    for key, value in tags.items():
        if (suggestion := _near_key(key)) != key:
            renamed = {suggestion if k == key else k: v for k, v in tags.items()}
            usable = suggestion and suggestion not in tags
            yield error(
                "tags.form",
                (*_TAGS, key),
                "not a valid tag key on aws",
                given=key,
                allowed=f"{_TAG_CHARACTERS}, at most {AWS_TAGS.key}, not starting with {RESERVED}",
                fix=Fix(message=f"write {suggestion}", at=_TAGS, value=renamed)
                if usable
                else Fix(message="remove it", at=(*_TAGS, key)),
            )
        if (suggestion := aws_letters(value)) != value:
            yield error(
                "tags.form",
                (*_TAGS, key),
                "not a valid tag value on aws",
                given=value,
                allowed=_TAG_CHARACTERS,
                fix=Fix(message=f"write {suggestion}", at=(*_TAGS, key), value=suggestion),
            )


def _near_key(key: str) -> str:
    """The key as AWS would accept it; "" when nothing is left."""
    suggestion = aws_letters(key)
    while suggestion.lower().startswith(RESERVED):
        suggestion = suggestion[len(RESERVED) :]
    return suggestion[: AWS_TAGS.key]


# ── software ──────────────────────────────────────────────────────────────────────────────────────
def node_image_dates(spec: PlatformSpec) -> Iterator[tuple[str, date]]:
    """The release of AL2023 that new clusters use."""
    from gpuyard_core.catalogue.kubernetes.eks_nodes import RELEASES_SOURCE

    if not spec.cluster_exists:
        yield "the AL2023 node image", RELEASES_SOURCE.as_of
