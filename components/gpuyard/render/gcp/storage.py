"""Storage on Google Cloud: file systems, buckets, and the permissions of each team's pods."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import CheckpointsPlan, DatasetPlan, PlatformPlan, TeamPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.plan.records.storage import KEEP_DAYS
from gpuyard.render.cloud.graph import CloudResource, Joined, TextBefore
from gpuyard.render.cloud.spelling import fit_name
from gpuyard.render.gcp.identity import workload_identity
from gpuyard.render.gcp.names import resource_labels
from gpuyard.render.gcp.place import GcpLocation
from gpuyard.render.storage import (
    ANY_MODE,
    CHECKPOINTS_STORE,
    SHARE,
    VolumeSource,
    csi_source,
    dataset_store_name,
    lustre_filesystem_name,
    read_only,
)
from gpuyard.spec.sections import DatasetKind, StoreTier
from gpuyard_core.catalogue.cluster.stores import FILESTORE
from gpuyard_core.names import DATA_ACCOUNT, system_namespace

_BUCKET = "gcp:storage/bucket:Bucket"
_MEMBER = "gcp:storage/bucketIAMMember:BucketIAMMember"
_READER, _USER = "roles/storage.objectViewer", "roles/storage.objectUser"
_NAME_LENGTH = 32
"""Length that a project id, with up to 30 characters, and a dash leave for a bucket's name."""
_ABORT_DAYS = 7
_PEERING_BITS = 20
"""Of the range for services: each Lustre file system uses a /23 of it."""
_PORTS = ["988", "6988"]
"""Ports of Lustre, and of Lustre on nodes older than GKE 1.33.2."""
_BASIC = (StoreTier.BASIC_HDD, StoreTier.BASIC_SSD)


@dataclass(frozen=True, slots=True, kw_only=True)
class GcpStoreFoundation:
    """What storage needs of a cluster, new or existing."""

    place: GcpLocation
    network: Any
    """The network of the cluster, in the form of its cloud."""
    managed: bool
    """Whether gpuyard creates the network."""
    ready: tuple[str, ...] = ()
    """The cluster if gpuyard creates it: a project has no identity pool before its first
    cluster."""


def store_parts(plan: PlatformPlan, foundation: GcpStoreFoundation) -> list[CloudResource]:
    """All resources for data and checkpoints, in order."""
    results: list[CloudResource] = []
    if DatasetKind.MANAGED_LUSTRE in plan.storage.kinds and foundation.managed:
        results += _peering(plan, foundation)
    for data in plan.storage.datasets:
        if data.kind is DatasetKind.FILESTORE:
            results.append(_filestore(plan, foundation, data))
        elif data.kind is DatasetKind.MANAGED_LUSTRE:
            results.append(
                _lustre(plan, foundation, data, tuple(each.name for each in results[:2]))
            )
        elif data.kind is DatasetKind.BUCKET and data.bucket is None:
            results.append(
                _bucket(plan, foundation, dataset_store_name(data), retention_days=KEEP_DAYS)
            )
    checkpoints = plan.storage.checkpoints
    if checkpoints and checkpoints.bucket is None:
        results.append(
            _bucket(plan, foundation, CHECKPOINTS_STORE, retention_days=checkpoints.retention_days)
        )
    results += [each for team in plan.teams for each in _team(plan, foundation, team)]
    return [*results, *_check(plan, foundation)]


def store_values(plan: PlatformPlan, place: GcpLocation) -> dict[str, Any]:
    """Values of stores for objects in the cluster, by the names of their late values."""
    values: dict[str, Any] = {}
    for data in plan.storage.datasets:
        name = dataset_store_name(data)
        if data.kind is DatasetKind.FILESTORE:
            values[f"{name}.address"] = UnresolvedOutput(f"{name}.networks.0.ipAddresses.0")
        elif data.kind is DatasetKind.MANAGED_LUSTRE:
            own = UnresolvedOutput(f"{name}.instanceId")
            values[f"{name}.handle"] = Joined(place.project, f"/{data.zone}/", own)
            values[f"{name}.address"] = TextBefore(UnresolvedOutput(f"{name}.mountPoint"), "@")
        elif data.kind is DatasetKind.BUCKET and data.bucket is None:
            values[f"{name}.bucket"] = UnresolvedOutput(f"{name}.name")
    checkpoints = plan.storage.checkpoints
    if checkpoints and checkpoints.bucket is None:
        values[f"{CHECKPOINTS_STORE}.url"] = Joined(
            "gs://", UnresolvedOutput(f"{CHECKPOINTS_STORE}.name")
        )
    return values


def _key(plan: PlatformPlan) -> str | None:
    """The key of the stack file, which has its own access policy."""
    return cluster_spec(plan.spec).key


# ── file systems ──────────────────────────────────────────────────────────────────────────────────
def _filestore(
    plan: PlatformPlan, foundation: GcpStoreFoundation, data: DatasetPlan
) -> CloudResource:
    """Reached only from the cluster's network."""
    key = _key(plan) if data.tier not in _BASIC else None
    return CloudResource(
        kind="gcp:filestore/instance:Instance",
        name=dataset_store_name(data),
        inputs={
            "name": fit_name(f"{plan.name}-{data.name}"),
            "location": data.zone or foundation.place.region,
            "tier": FILESTORE[str(data.tier)].name,
            "fileShares": {"name": SHARE, "capacityGb": data.size_gib},
            "networks": [{"network": foundation.network, "modes": ["MODE_IPV4"]}],
            "deletionProtectionEnabled": plan.storage.protect,
            "labels": resource_labels(plan),
            **({"kmsKeyName": key} if key else {}),
        },
        protect=plan.storage.protect,
        delete_first=True,
    )


def _lustre(
    plan: PlatformPlan, foundation: GcpStoreFoundation, data: DatasetPlan, after: tuple[str, ...]
) -> CloudResource:
    key = _key(plan)
    return CloudResource(
        kind="gcp:lustre/instance:Instance",
        name=dataset_store_name(data),
        inputs={
            "instanceId": fit_name(f"{plan.name}-{data.name}"),
            "location": data.zone,
            "filesystem": lustre_filesystem_name(data),
            "capacityGib": str(data.size_gib),
            "perUnitStorageThroughput": str(data.throughput),
            "network": foundation.network,
            "labels": resource_labels(plan),
            **({"kmsKey": key} if key else {}),
        },
        outputs=("mountPoint",),
        after=after,
        protect=plan.storage.protect,
        delete_first=True,
    )


def _peering(plan: PlatformPlan, foundation: GcpStoreFoundation) -> Iterator[CloudResource]:
    """Managed Lustre is in a peered Google network; its servers open connections to nodes."""
    address_range = CloudResource(
        kind="gcp:compute/globalAddress:GlobalAddress",
        name="services-range",
        inputs={
            "name": fit_name(f"{plan.name}-services"),
            "purpose": "VPC_PEERING",
            "addressType": "INTERNAL",
            "prefixLength": _PEERING_BITS,
            "network": foundation.network,
        },
        outputs=("address",),
    )
    joined = CloudResource(
        kind="gcp:servicenetworking/connection:Connection",
        name="services",
        inputs={
            "network": foundation.network,
            "service": "servicenetworking.googleapis.com",
            "reservedPeeringRanges": [address_range.get("name")],
        },
    )
    yield address_range
    yield joined
    yield CloudResource(
        kind="gcp:compute/firewall:Firewall",
        name="from-lustre",
        inputs={
            "name": fit_name(f"{plan.name}-from-lustre"),
            "network": foundation.network,
            "direction": "INGRESS",
            "sourceRanges": [Joined(address_range.get("address"), f"/{_PEERING_BITS}")],
            "allows": [{"protocol": "tcp", "ports": _PORTS}],
        },
    )


# ── buckets ───────────────────────────────────────────────────────────────────────────────────────
def _bucket(
    plan: PlatformPlan, foundation: GcpStoreFoundation, name: str, *, retention_days: int
) -> CloudResource:
    """Closed to the public; current objects never expire, deleted ones are kept for a while."""
    key = _key(plan)
    return CloudResource(
        kind=_BUCKET,
        name=name,
        inputs={
            "name": Joined(
                foundation.place.project, "-", fit_name(f"{plan.name}-{name}", _NAME_LENGTH)
            ),
            "location": foundation.place.region,
            "uniformBucketLevelAccess": True,
            "publicAccessPrevention": "enforced",
            "versioning": {"enabled": True},
            "forceDestroy": False,
            "lifecycleRules": [
                {
                    "action": {"type": "AbortIncompleteMultipartUpload"},
                    "condition": {"age": _ABORT_DAYS},
                },
                {
                    "action": {"type": "Delete"},
                    "condition": {
                        "daysSinceNoncurrentTime": retention_days,
                        "withState": "ARCHIVED",
                    },
                },
            ],
            "labels": resource_labels(plan),
            **({"encryption": {"defaultKmsKeyName": key}} if key else {}),
        },
        protect=plan.storage.protect,
        delete_first=True,
    )


# ── permissions of teams ──────────────────────────────────────────────────────────────────────────
def _team(
    plan: PlatformPlan, foundation: GcpStoreFoundation, team: TeamPlan
) -> Iterator[CloudResource]:
    """Access for the pods of one service account in its namespaces, without a Google account."""
    name = team.stable_name
    for space in team.namespaces:
        for data in plan.storage.buckets(name):
            yield _bucket_iam_member(
                foundation, space.name, data, _USER if name in data.writers else _READER
            )
        checkpoints = plan.storage.checkpoints
        if checkpoints and plan.storage.keeps_checkpoints(name):
            yield _place(foundation, checkpoints, name, space.name, _member(foundation, space.name))


def _check(plan: PlatformPlan, foundation: GcpStoreFoundation) -> Iterator[CloudResource]:
    """The pods of the check that read buckets."""
    for data in plan.datasets_read_by_validation:
        if data.kind is DatasetKind.BUCKET:
            yield _bucket_iam_member(foundation, system_namespace(plan.name), data, _READER)


def _member(foundation: GcpStoreFoundation, space: str) -> Joined:
    return workload_identity(foundation.place, space, DATA_ACCOUNT)


def _bucket_iam_member(
    foundation: GcpStoreFoundation, space: str, data: DatasetPlan, role: str
) -> CloudResource:
    return CloudResource(
        kind=_MEMBER,
        name=f"{space}_{dataset_store_name(data)}",
        inputs={
            "bucket": data.bucket or UnresolvedOutput(f"{dataset_store_name(data)}.name"),
            "role": role,
            "member": _member(foundation, space),
        },
        after=foundation.ready,
        delete_first=True,
    )


def _place(
    foundation: GcpStoreFoundation,
    checkpoints: CheckpointsPlan,
    team: str,
    space: str,
    member: Joined,
) -> CloudResource:
    """Access to objects with the team's prefix, and permission to list them."""
    bucket = checkpoints.bucket or UnresolvedOutput(f"{CHECKPOINTS_STORE}.name")
    named = Joined('resource.name.startsWith("projects/_/buckets/', bucket, f'/objects/{team}/")')
    listed = (
        f'api.getAttribute("storage.googleapis.com/objectListPrefix", "").startsWith("{team}/")'
    )
    return CloudResource(
        kind=_MEMBER,
        name=f"{space}_{CHECKPOINTS_STORE}",
        inputs={
            "bucket": bucket,
            "role": _USER,
            "member": member,
            "condition": {
                "title": f"checkpoints of {team}",
                "expression": Joined(named, f" || {listed}"),
            },
        },
        after=foundation.ready,
        delete_first=True,
    )


def volume_source(
    _plan: PlatformPlan, _space: str, data: DatasetPlan, *, writes: bool
) -> VolumeSource:
    """By the CSI driver of the dataset's kind, or NFS for Filestore.

    The CSI driver of Filestore mounts once on a node, the same for readers and writers. A node
    mounts Managed Lustre once: all its teams write it, or none; a static check ensures that.
    """
    name, read = dataset_store_name(data), read_only(writes=writes)
    if data.kind is DatasetKind.BUCKET:
        return _bucket_volume(data, writes=writes)
    address = UnresolvedOutput(f"{name}.address")
    if data.kind is DatasetKind.FILESTORE:
        return {"nfs": {"server": address, "path": f"/{SHARE}"}}, read
    source = csi_source(
        "lustre.csi.storage.gke.io",
        UnresolvedOutput(f"{name}.handle"),
        ip=address,
        filesystem=lustre_filesystem_name(data),
    )
    return source, read


def _bucket_volume(data: DatasetPlan, *, writes: bool) -> VolumeSource:
    """Mounted with the pod's identity: its service account has the permissions."""
    name = data.bucket or UnresolvedOutput(f"{dataset_store_name(data)}.bucket")
    mib = (data.cache_gib or 0) * 1024
    cache = [f"file-cache:max-size-mb:{mib}", "file-cache:cache-file-for-range-read:true"]
    access = ANY_MODE if writes else ("ro",)
    options = ["implicit-dirs", *(cache if mib else []), *access]
    return csi_source("gcsfuse.csi.storage.gke.io", name), options
