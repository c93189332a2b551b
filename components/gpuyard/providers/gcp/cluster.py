"""Clusters of Google Cloud: one subnetwork, addresses of nodes, upgrade hours, and labels."""

from collections import Counter
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network

from gpuyard.plan.cluster.network import too_small
from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.draft import Draft
from gpuyard.plan.storage.stores import datasets_of
from gpuyard.spec.sections import DatasetKind, Freeze, Maintenance
from gpuyard.spec.sections.cluster import Subnets
from gpuyard.spec.teams import Team
from gpuyard_core.catalogue.cluster.networks import GCE_TAKEN, GKE_NODE_PODS
from gpuyard_core.catalogue.cluster.tags import gcp_key
from gpuyard_core.catalogue.gke.maintenance import (
    LEAST_HOURS,
    LONG_FREEZE_DAYS,
    LONGEST_FREEZE_DAYS,
    MOST_FREEZES,
)
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, warning

_PATH: Path = ("cluster", "maintenance")
_FREEZES: Path = (*_PATH, "freezes")
_WEEKS = 4
"""Any 32 days contain each weekday at least four times."""


def check_maintenance(draft: Draft) -> list[Diagnostic]:
    """GKE requires maintenance hours, and limits the number and the length of freezes."""
    window = cluster_spec(draft.spec).maintenance
    return [*_too_short(window), *_too_many(window.freezes), *_freezes(window.freezes)]


def _too_short(window: Maintenance) -> Iterator[Diagnostic]:
    days = len(set(window.days))
    hours = _WEEKS * days * window.hours
    if hours < LEAST_HOURS:
        needed = -(-LEAST_HOURS // (_WEEKS * days))
        yield error(
            "cluster.maintenance",
            _PATH,
            f"GKE requires {LEAST_HOURS} hours for upgrades in any 32 days",
            given=f"{hours} hours",
            allowed=f"{needed} hours on each of these days, or more days",
            fix=Fix(message=f"write hours: {needed}", at=(*_PATH, "hours"), value=needed),
        )


def _too_many(freezes: tuple[Freeze, ...]) -> Iterator[Diagnostic]:
    if len(freezes) > MOST_FREEZES:
        yield error(
            "cluster.freeze",
            _FREEZES,
            "too many freezes: GKE limits maintenance exclusions that block all upgrades",
            given=f"{len(freezes)} freezes",
            allowed=f"{MOST_FREEZES} at a time",
            fix=Fix(message="remove past freezes, or the last ones"),
        )


def _freezes(freezes: tuple[Freeze, ...]) -> Iterator[Diagnostic]:
    names = Counter(freeze.name for freeze in freezes)
    for i, freeze in enumerate(freezes):
        yield from _of_days(freeze, (*_FREEZES, i))
        if names[freeze.name] > 1 and freeze.name in {f.name for f in freezes[:i]}:
            yield error(
                "cluster.freeze",
                (*_FREEZES, i, "name"),
                "two freezes have the same name: GKE keeps only the last one",
                given=freeze.name,
                allowed="a unique name for each freeze",
                fix=Fix(message="write another name"),
            )


def _of_days(freeze: Freeze, path: Path) -> Iterator[Diagnostic]:
    days = (freeze.end - freeze.start).days
    if days <= 0:
        yield error(
            "cluster.maintenance",
            (*path, "end"),
            "a freeze must end after the day on which it starts",
            given=str(freeze.end),
            allowed=f"a day after {freeze.start}",
            fix=Fix(message="write the first day on which GKE may upgrade again"),
        )
    elif days > LONGEST_FREEZE_DAYS:
        yield error(
            "cluster.freeze",
            (*path, "end"),
            "GKE accepts no freeze of this length",
            given=f"{days} days",
            allowed=f"{LONGEST_FREEZE_DAYS} days, preferably {LONG_FREEZE_DAYS}",
            fix=Fix(message="write an earlier day"),
        )
    elif days > LONG_FREEZE_DAYS:
        yield warning(
            "cluster.freeze",
            (*path, "end"),
            f"GKE documentation advises against freezes longer than {LONG_FREEZE_DAYS} days, the earlier limit",
            given=f"{days} days",
            allowed=f"preferably at most {LONG_FREEZE_DAYS} days; GKE accepts {LONGEST_FREEZE_DAYS}",
            fix=Fix(message="write an earlier day"),
        )


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


SIDECAR = "gke.gcr.io/gcs-fuse-csi-driver-sidecar-mounter"
"""The sidecar that GKE adds to a pod that mounts a bucket."""


def check_storage(draft: Draft) -> list[Diagnostic]:
    """Warn of teams that mount a bucket and do not allow the image of the sidecar."""
    mounted = [d for _, d in datasets_of(draft) if d.kind is DatasetKind.BUCKET]
    return [
        warning(
            "storage.sidecar",
            ("teams", index, "allowed_images"),
            "its pods cannot mount the bucket: GKE adds a sidecar whose image is not allowed",
            given=format_list(_images(draft, team)),
            allowed=SIDECAR,
            fix=Fix(message=f"add {SIDECAR}"),
        )
        for index, team in enumerate(draft.spec.teams)
        if any(not d.teams or team.name in d.teams for d in mounted)
        and _images(draft, team)
        and not any(SIDECAR.startswith(each) for each in _images(draft, team))
    ]


def _images(draft: Draft, team: Team) -> tuple[str, ...]:
    admission = draft.spec.admission
    return team.allowed_images or (admission.allowed_images if admission else ())
