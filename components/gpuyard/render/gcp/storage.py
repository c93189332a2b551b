"""Storage on Google Cloud: file systems, buckets, and the permissions of each team's pods."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import DatasetPlan, PlatformPlan, TeamPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.plan.records.storage import KEEP_DAYS
from gpuyard.render.cloud.graph import CloudResource, Joined, TextBefore
from gpuyard.render.cloud.spelling import fit_name
from gpuyard.render.gcp.identity import workload_identity
from gpuyard.render.gcp.place import GcpLocation, gcp_resource, resource_labels
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

_READER, _USER = "roles/storage.objectViewer", "roles/storage.objectUser"
_NAME_LENGTH = 32
"""Length that a project id, with up to 30 characters, and a dash leave for a bucket's name."""
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
    return gcp_resource(
        plan,
        "filestore",
        store=dataset_store_name(data),
        own=fit_name(f"{plan.name}-{data.name}"),
        location=data.zone or foundation.place.region,
        tier=FILESTORE[str(data.tier)].name,
        share=SHARE,
        size=data.size_gib,
        network=foundation.network,
        protect=plan.storage.protect,
        labels=resource_labels(plan),
        key=_key(plan) if data.tier not in _BASIC else None,
    )


def _lustre(
    plan: PlatformPlan, foundation: GcpStoreFoundation, data: DatasetPlan, after: tuple[str, ...]
) -> CloudResource:
    return gcp_resource(
        plan,
        "lustre",
        store=dataset_store_name(data),
        own=fit_name(f"{plan.name}-{data.name}"),
        location=data.zone,
        filesystem=lustre_filesystem_name(data),
        size=str(data.size_gib),
        throughput=str(data.throughput),
        network=foundation.network,
        labels=resource_labels(plan),
        key=_key(plan),
        after=after,
        protect=plan.storage.protect,
    )


def _peering(plan: PlatformPlan, foundation: GcpStoreFoundation) -> Iterator[CloudResource]:
    """Managed Lustre is in a peered Google network; its servers open connections to nodes."""
    network, name = foundation.network, fit_name(f"{plan.name}-services")
    yield gcp_resource(plan, "services-range", own=name, network=network)
    yield gcp_resource(plan, "services", network=network)
    name = fit_name(f"{plan.name}-from-lustre")
    yield gcp_resource(plan, "from-lustre", own=name, network=network)


# ── buckets ───────────────────────────────────────────────────────────────────────────────────────
def _bucket(
    plan: PlatformPlan, foundation: GcpStoreFoundation, name: str, *, retention_days: int
) -> CloudResource:
    """Closed to the public; current objects never expire, deleted ones are kept for a while."""
    key = _key(plan)
    return gcp_resource(
        plan,
        "bucket",
        store=name,
        own=fit_name(f"{plan.name}-{name}", _NAME_LENGTH),
        location=foundation.place.region,
        days=retention_days,
        labels=resource_labels(plan),
        encryption={"defaultKmsKeyName": key} if key else None,
        protect=plan.storage.protect,
    )


# ── permissions of teams ──────────────────────────────────────────────────────────────────────────
def _team(
    plan: PlatformPlan, foundation: GcpStoreFoundation, team: TeamPlan
) -> Iterator[CloudResource]:
    """Access for the pods of one service account in its namespaces, without a Google account."""
    name, checkpoints = team.stable_name, plan.storage.checkpoints
    for space in team.namespaces:
        for data in plan.storage.buckets(name):
            role = _USER if name in data.writers else _READER
            yield _bucket_iam_member(plan, foundation, space.name, data, role)
        if checkpoints and plan.storage.keeps_checkpoints(name):
            bucket = checkpoints.bucket or UnresolvedOutput(f"{CHECKPOINTS_STORE}.name")
            yield gcp_resource(
                plan,
                "bucket-member",
                space=space.name,
                store=CHECKPOINTS_STORE,
                bucket=bucket,
                role=_USER,
                member=workload_identity(foundation.place, space.name, DATA_ACCOUNT),
                condition=_prefix_condition(bucket, name),
                after=foundation.ready,
            )


def _check(plan: PlatformPlan, foundation: GcpStoreFoundation) -> Iterator[CloudResource]:
    """The pods of the check that read buckets."""
    for data in plan.datasets_read_by_validation:
        if data.kind is DatasetKind.BUCKET:
            space = system_namespace(plan.name)
            yield _bucket_iam_member(plan, foundation, space, data, _READER)


def _bucket_iam_member(
    plan: PlatformPlan, foundation: GcpStoreFoundation, space: str, data: DatasetPlan, role: str
) -> CloudResource:
    name = dataset_store_name(data)
    return gcp_resource(
        plan,
        "bucket-member",
        space=space,
        store=name,
        bucket=data.bucket or UnresolvedOutput(f"{name}.name"),
        role=role,
        member=workload_identity(foundation.place, space, DATA_ACCOUNT),
        condition=None,
        after=foundation.ready,
    )


def _prefix_condition(bucket: Any, team: str) -> dict[str, Any]:
    """Access to objects with the team's prefix, and permission to list them."""
    named = Joined('resource.name.startsWith("projects/_/buckets/', bucket, f'/objects/{team}/")')
    listed = (
        f'api.getAttribute("storage.googleapis.com/objectListPrefix", "").startsWith("{team}/")'
    )
    expression = Joined(named, f" || {listed}")
    return {"title": f"checkpoints of {team}", "expression": expression}


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
