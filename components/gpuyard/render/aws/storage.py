"""Storage on AWS: file systems, buckets, and the permissions of each team's pods."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import DatasetPlan, PlatformPlan, TeamPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.plan.records.storage import BACKUP_DAYS, KEEP_DAYS
from gpuyard.render.aws.place import (
    ACCOUNT,
    TAKEN_BY_PODS,
    AwsLocation,
    StringInput,
    aws_resource,
    pod_identity_association,
    role,
    role_policy,
    statement,
)
from gpuyard.render.cloud.graph import CloudCall, CloudResource, Joined
from gpuyard.render.cloud.spelling import fit_name
from gpuyard.render.limits import gib
from gpuyard.render.storage import (
    ANY_MODE,
    CHECKPOINTS_STORE,
    VolumeSource,
    csi_source,
    dataset_store_name,
    read_only,
    volume_name,
)
from gpuyard.spec.late_inputs import is_late_input
from gpuyard.spec.sections import DatasetKind, StoreTier
from gpuyard_core.catalogue.cluster.stores import FSX_LUSTRE
from gpuyard_core.names import DATA_ACCOUNT, system_namespace

_NFS = (2049, 2049)
_LUSTRE = ((988, 988), (1018, 1023))
"""Ports for requests, and for callbacks between servers and clients."""
_READ = ["s3:GetObject"]
_WRITE = [*_READ, "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"]
_BUCKET_PARTS = (
    *("bucket-public-access", "bucket-versioning", "bucket-encryption"),
    *("bucket-policy", "bucket-lifecycle"),
)
_NAME_LENGTH = 33
"""Length that an account, the longest region and two dashes leave for a bucket's name."""
_ROLE_LENGTH = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsStoreFoundation:
    """What storage needs of a cluster, new or existing."""

    place: AwsLocation
    vpc: StringInput
    subnets: Mapping[str, StringInput]
    """Ids of the private subnets, by zone."""
    node_security_group: CloudResource
    """The security group of nodes."""
    ready: tuple[str, ...] = ()
    """Resources that a pod identity association waits for."""


def store_parts(plan: PlatformPlan, foundation: AwsStoreFoundation) -> list[CloudResource]:
    """All resources for data and checkpoints, in order."""
    results: list[CloudResource] = []
    for data in plan.storage.datasets:
        if data.kind is DatasetKind.EFS and data.file_system is None:
            results += _efs(plan, foundation, data)
        elif data.kind is DatasetKind.FSX_LUSTRE:
            results += _lustre(plan, foundation, data)
        elif data.kind is DatasetKind.BUCKET and data.bucket is None:
            results += _bucket(plan, foundation, dataset_store_name(data), retention_days=KEEP_DAYS)
    checkpoints = plan.storage.checkpoints
    if checkpoints and checkpoints.bucket is None:
        results += _bucket(
            plan, foundation, CHECKPOINTS_STORE, retention_days=checkpoints.retention_days
        )
    results += [each for team in plan.teams for each in _team(plan, foundation, team)]
    return [*results, *_check(plan, foundation)]


def store_calls(plan: PlatformPlan) -> tuple[CloudCall, ...]:
    """Queries that a bucket needs."""
    new_buckets = [
        d for d in plan.storage.datasets if d.kind is DatasetKind.BUCKET and not d.bucket
    ]
    checkpoints = plan.storage.checkpoints
    return (ACCOUNT,) if new_buckets or (checkpoints and not checkpoints.bucket) else ()


def store_values(plan: PlatformPlan) -> dict[str, Any]:
    """Values of stores for objects in the cluster, by the names of their late values."""
    values: dict[str, Any] = {}
    for data in plan.storage.datasets:
        name = dataset_store_name(data)
        if data.kind is DatasetKind.EFS:
            created = Joined(
                UnresolvedOutput(f"{name}.id"), "::", UnresolvedOutput(f"root-{name}.id")
            )
            values[f"{name}.handle"] = data.file_system or created
        elif data.kind is DatasetKind.FSX_LUSTRE:
            values[f"{name}.handle"] = UnresolvedOutput(f"{name}.id")
            values[f"{name}.address"] = UnresolvedOutput(f"{name}.dnsName")
            values[f"{name}.share"] = UnresolvedOutput(f"{name}.mountName")
        elif data.kind is DatasetKind.BUCKET and data.bucket is None:
            values[f"{name}.bucket"] = UnresolvedOutput(f"{name}.id")
    checkpoints = plan.storage.checkpoints
    if checkpoints and checkpoints.bucket is None:
        values[f"{CHECKPOINTS_STORE}.url"] = Joined(
            "s3://", UnresolvedOutput(f"{CHECKPOINTS_STORE}.id")
        )
    return values


def _key(plan: PlatformPlan) -> str | None:
    """The key of the stack file; without one each service uses its default key."""
    return cluster_spec(plan.spec).key


# ── EFS ───────────────────────────────────────────────────────────────────────────────────────────
def _efs(
    plan: PlatformPlan, foundation: AwsStoreFoundation, data: DatasetPlan
) -> list[CloudResource]:
    """The file system, a mount target for each zone, an access point whose user owns all files."""
    name, protect = dataset_store_name(data), plan.storage.protect
    files = aws_resource(
        plan,
        "efs",
        name=name,
        data=data.name,
        key=_key(plan),
        mode="provisioned" if data.throughput else "elastic",
        throughput=data.throughput or None,
        protect=protect,
    )
    group = _group(plan, foundation, name, "NFS from nodes only")
    own = {"name": name, "files": files.get("id")}
    mounts = [
        aws_resource(plan, "efs-mount", zone=zone, subnet=subnet, group=group.get("id"), **own)
        for zone, subnet in _by_zone(foundation)
    ]
    return [
        files,
        group,
        _from(plan, group, foundation.node_security_group, "nodes", *_NFS),
        *mounts,
        aws_resource(plan, "efs-backups", status="ENABLED" if protect else "DISABLED", **own),
        aws_resource(plan, "efs-root", data=data.name, **own),
    ]


def _by_zone(foundation: AwsStoreFoundation) -> Sequence[tuple[str, StringInput]]:
    """A subnet for each zone, by the zone's name; if it is unknown, by its index."""
    subnets = list(foundation.subnets.items())
    return [(zone if _plain(zone) else str(n), subnet) for n, (zone, subnet) in enumerate(subnets)]


def _plain(zone: str) -> bool:
    return not zone.startswith(("subnet-", "vpcConfig.")) and not is_late_input(zone)


# ── FSx for Lustre ────────────────────────────────────────────────────────────────────────────────
def _lustre(
    plan: PlatformPlan, foundation: AwsStoreFoundation, data: DatasetPlan
) -> list[CloudResource]:
    """The file system in its zone, the rules between nodes and servers, and its data repository."""
    name, nodes = dataset_store_name(data), foundation.node_security_group
    group = _group(plan, foundation, name, "Lustre among its servers and nodes")
    rules = [
        _from(plan, group, peer, f"{who}-{low}", low, high)
        for who, peer in (("servers", group), ("nodes", nodes))
        for low, high in _LUSTRE
    ]
    rules += [_from(plan, nodes, group, f"{low}-{name}", low, high) for low, high in _LUSTRE]
    rules += [
        aws_resource(
            plan,
            "lustre-out",
            way=way,
            name=name,
            group=group.get("id"),
            peer=peer.get("id"),
            description=description,
        )
        for way, peer, description in (
            ("out", nodes, "Answers to nodes"),
            ("among", group, "Servers among themselves"),
        )
    ]
    persistent = _persistent(plan, data) if data.tier is StoreTier.PERSISTENT else None
    files = aws_resource(
        plan,
        "lustre",
        name=name,
        data=data.name,
        subnet=foundation.subnets[str(data.zone)],
        group=group.get("id"),
        deployment=FSX_LUSTRE[str(data.tier)].name,
        size=data.size_gib,
        persistent=persistent,
        after=tuple(each.name for each in rules),
        protect=plan.storage.protect,
    )
    return [group, *rules, files, *_filled(plan, data, files)]


def _persistent(plan: PlatformPlan, data: DatasetPlan) -> dict[str, Any]:
    """Throughput, key and backups; a file system linked to a bucket needs no backups."""
    key, own = _key(plan), data.bucket is None
    return {
        "perUnitStorageThroughput": data.throughput,
        "fileSystemTypeVersion": "2.15",
        "metadataConfiguration": {"mode": "AUTOMATIC"},
        "automaticBackupRetentionDays": BACKUP_DAYS if own else 0,
        "skipFinalBackup": not own,
        **({"copyTagsToBackups": True} if own else {}),
        **({"kmsKeyId": key} if key else {}),
    }


def _filled(plan: PlatformPlan, data: DatasetPlan, files: CloudResource) -> Iterator[CloudResource]:
    """Imports file names at once and contents when first read; exports files that teams write."""
    if data.bucket is None:
        return
    export = {"events": ["NEW", "CHANGED"]} if data.writers else None
    values = {"name": files.name, "files": files.get("id"), "bucket": data.bucket}
    yield aws_resource(plan, "lustre-filled", export=export, **values)


# ── access to a file system ───────────────────────────────────────────────────────────────────────
def _group(
    plan: PlatformPlan, foundation: AwsStoreFoundation, name: str, description: str
) -> CloudResource:
    return aws_resource(plan, "access", name=name, vpc=foundation.vpc, description=description)


def _from(
    plan: PlatformPlan, group: CloudResource, peer: CloudResource, who: str, low: int, high: int
) -> CloudResource:
    ids = {"group_id": group.get("id"), "peer_id": peer.get("id")}
    names = {"who": who, "group": group.name, "peer": peer.name}
    return aws_resource(plan, "access-from", low=low, high=high, **ids, **names)


# ── buckets ───────────────────────────────────────────────────────────────────────────────────────
def _bucket(
    plan: PlatformPlan, foundation: AwsStoreFoundation, name: str, *, retention_days: int
) -> list[CloudResource]:
    """Closed to the public and to requests without TLS; keeps deleted objects for a while."""
    key = _key(plan)
    bucket = aws_resource(
        plan,
        "bucket",
        name=name,
        own=fit_name(f"{plan.name}-{name}", _NAME_LENGTH),
        region=foundation.place.region,
        protect=plan.storage.protect,
    )
    values = {
        "name": name,
        "bucket": bucket.get("id"),
        "arn": bucket.get("arn"),
        "algorithm": "aws:kms" if key else "AES256",
        "key": key,
        "has_key": bool(key),
        "days": retention_days,
    }
    return [bucket, *(aws_resource(plan, part, **values) for part in _BUCKET_PARTS)]


# ── permissions of teams ──────────────────────────────────────────────────────────────────────────
def _team(
    plan: PlatformPlan, foundation: AwsStoreFoundation, team: TeamPlan
) -> Iterator[CloudResource]:
    """A role for the pods of one service account in its namespaces: data and checkpoint prefix."""
    allowed = list(_allowed(plan, foundation, team.stable_name))
    name = fit_name(f"team-{team.stable_name}", _ROLE_LENGTH)
    yield from _role(plan, foundation, name, allowed, [space.name for space in team.namespaces])


def _check(plan: PlatformPlan, foundation: AwsStoreFoundation) -> Iterator[CloudResource]:
    """A role for the pods of the check that read buckets."""
    buckets = [data for data in plan.datasets_read_by_validation if data.kind is DatasetKind.BUCKET]
    allowed = [allowance for data in buckets for allowance in _of_bucket(foundation, data, _READ)]
    yield from _role(plan, foundation, "check-volumes", allowed, [system_namespace(plan.name)])


def _role(
    plan: PlatformPlan,
    foundation: AwsStoreFoundation,
    name: str,
    allowed: list[dict[str, Any]],
    namespaces: list[str],
) -> Iterator[CloudResource]:
    """The permissions of the pods of one account in these namespaces; none without statements."""
    if not allowed:
        return
    iam_role = role(plan, name, "pods.eks.amazonaws.com", TAKEN_BY_PODS)
    if key := _key(plan):
        allowed.append(statement(["kms:Decrypt", "kms:GenerateDataKey"], key))
    rights = role_policy(iam_role, f"rights-{iam_role.name}", *allowed)
    yield iam_role
    yield rights
    for space in namespaces:
        yield pod_identity_association(
            plan,
            f"rights-of-{space}",
            (space, DATA_ACCOUNT),
            iam_role,
            (rights.name, *foundation.ready),
        )


def _allowed(
    plan: PlatformPlan, foundation: AwsStoreFoundation, team: str
) -> Iterator[dict[str, Any]]:
    for data in plan.storage.buckets(team):
        yield from _of_bucket(foundation, data, _WRITE if team in data.writers else _READ)
    if plan.storage.keeps_checkpoints(team) and plan.storage.checkpoints:
        arn = _arn(foundation, CHECKPOINTS_STORE, plan.storage.checkpoints.bucket)
        own = {"StringLike": {"s3:prefix": [f"{team}/*"]}}
        yield statement("s3:ListBucket", arn, Condition=own)
        yield statement(_WRITE, Joined(arn, f"/{team}/*"))


def _of_bucket(
    foundation: AwsStoreFoundation, data: DatasetPlan, actions: str | list[str]
) -> Iterator[dict[str, Any]]:
    """Permission to list a bucket, and these actions on all of its objects."""
    arn = _arn(foundation, dataset_store_name(data), data.bucket)
    yield statement("s3:ListBucket", arn)
    yield statement(actions, Joined(arn, "/*"))


def _arn(foundation: AwsStoreFoundation, name: str, value: str | None) -> StringInput:
    bucket_arn = Joined("arn:", foundation.place.partition, f":s3:::{value}")
    return bucket_arn if value else UnresolvedOutput(f"{name}.arn")


def volume_source(
    plan: PlatformPlan, space: str, data: DatasetPlan, *, writes: bool
) -> VolumeSource:
    """By the CSI driver of the dataset's kind."""
    name = dataset_store_name(data)
    if data.kind is DatasetKind.BUCKET:
        return _bucket_volume(plan, space, data, writes=writes)
    handle, read = UnresolvedOutput(f"{name}.handle"), read_only(writes=writes)
    if data.kind is DatasetKind.EFS:
        return csi_source("efs.csi.aws.com", handle), ["tls", *read]
    source = csi_source(
        "fsx.csi.aws.com",
        handle,
        dnsname=UnresolvedOutput(f"{name}.address"),
        mountname=UnresolvedOutput(f"{name}.share"),
    )
    return source, ["flock", *read]


def _bucket_volume(
    plan: PlatformPlan, space: str, data: DatasetPlan, *, writes: bool
) -> VolumeSource:
    """Mounted with the pod's identity: its service account has the permissions."""
    limit = {"cacheEmptyDirSizeLimit": gib(data.cache_gib)} if data.cache_gib else {}
    source = csi_source(
        "s3.csi.aws.com",
        volume_name(plan, space, data),
        bucketName=data.bucket or UnresolvedOutput(f"{dataset_store_name(data)}.bucket"),
        authenticationSource="pod",
        **({"cache": "emptyDir", **limit} if limit else {}),
    )
    changes = ["allow-delete", "allow-overwrite", *ANY_MODE]
    return source, ["allow-other", *(changes if writes else ["read-only"])]
