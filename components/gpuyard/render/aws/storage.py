"""Storage on AWS: file systems, buckets, and the permissions of each team's pods."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import DatasetPlan, PlatformPlan, TeamPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.plan.records.storage import BACKUP_DAYS, KEEP_DAYS
from gpuyard.render.aws.foundation import StringInput
from gpuyard.render.aws.place import (
    ACCOUNT,
    AwsLocation,
    document,
    pod_identity_association,
    role,
    statement,
    tags_of,
)
from gpuyard.render.aws.roles import TAKEN_BY_PODS
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
_BUCKET = "aws:s3/bucket:Bucket"
_READ = ["s3:GetObject"]
_WRITE = [*_READ, "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"]
_ABORT_DAYS = 7
_NAME_LENGTH = 33
"""Length that an account, the longest region and two dashes leave for a bucket's name."""
_ROLE_LENGTH = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsStoreFoundation:
    """What storage needs of a cluster, new or existing."""

    place: AwsLocation
    cluster: StringInput
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
    name, key = dataset_store_name(data), _key(plan)
    value = {"provisionedThroughputInMibps": data.throughput} if data.throughput else {}
    files = CloudResource(
        kind="aws:efs/fileSystem:FileSystem",
        name=name,
        inputs={
            "encrypted": True,
            **({"kmsKeyId": key} if key else {}),
            "performanceMode": "generalPurpose",
            "throughputMode": "provisioned" if value else "elastic",
            **value,
            "lifecyclePolicies": [
                {"transitionToIa": "AFTER_30_DAYS"},
                {"transitionToPrimaryStorageClass": "AFTER_1_ACCESS"},
            ],
            "tags": tags_of(plan, Name=f"{plan.name}-{data.name}"),
        },
        protect=plan.storage.protect,
    )
    group = _group(plan, foundation, name, "NFS from nodes only")
    doors = [
        CloudResource(
            kind="aws:efs/mountTarget:MountTarget",
            name=f"mount-{zone}-{name}",
            inputs={
                "fileSystemId": files.get("id"),
                "subnetId": subnet,
                "securityGroups": [group.get("id")],
            },
            delete_first=True,
        )
        for zone, subnet in _by_zone(foundation)
    ]
    backups = CloudResource(
        kind="aws:efs/backupPolicy:BackupPolicy",
        name=f"backups-{name}",
        inputs={
            "fileSystemId": files.get("id"),
            "backupPolicy": {"status": "ENABLED" if plan.storage.protect else "DISABLED"},
        },
    )
    user_id = 1000
    root = CloudResource(
        kind="aws:efs/accessPoint:AccessPoint",
        name=f"root-{name}",
        inputs={
            "fileSystemId": files.get("id"),
            # The root of the file system belongs to root: pods without root could not write to it.
            "posixUser": {"uid": user_id, "gid": user_id},
            "rootDirectory": {
                "path": "/data",
                "creationInfo": {
                    "ownerUid": user_id,
                    "ownerGid": user_id,
                    "permissions": "0775",
                },
            },
            "tags": tags_of(plan, Name=f"{plan.name}-{data.name}"),
        },
    )
    return [
        files,
        group,
        _from(group, foundation.node_security_group, "nodes", *_NFS),
        *doors,
        backups,
        root,
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
    name, tier = dataset_store_name(data), str(data.tier)
    group = _group(plan, foundation, name, "Lustre among its servers and nodes")
    peers = {"servers": (group, group), "nodes": (group, foundation.node_security_group)}
    rules = [
        _from(group, peer, f"{who}-{low}", low, high)
        for who, (_, peer) in peers.items()
        for low, high in _LUSTRE
    ]
    rules += [
        _from(foundation.node_security_group, group, f"{low}-{name}", low, high)
        for low, high in _LUSTRE
    ]
    out = CloudResource(
        kind="aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
        name=f"out-{name}",
        inputs={
            "securityGroupId": group.get("id"),
            "referencedSecurityGroupId": foundation.node_security_group.get("id"),
            "ipProtocol": "-1",
            "description": "Answers to nodes",
        },
    )
    itself = CloudResource(
        kind=out.kind,
        name=f"among-{name}",
        inputs={
            **out.inputs,
            "referencedSecurityGroupId": group.get("id"),
            "description": "Servers among themselves",
        },
    )
    files = CloudResource(
        kind="aws:fsx/lustreFileSystem:LustreFileSystem",
        name=name,
        inputs={
            "subnetIds": foundation.subnets[str(data.zone)],
            "securityGroupIds": [group.get("id")],
            "deploymentType": FSX_LUSTRE[tier].name,
            "storageType": "SSD",
            "storageCapacity": data.size_gib,
            "dataCompressionType": "LZ4",
            **(_persistent(plan, data) if data.tier is StoreTier.PERSISTENT else {}),
            "tags": tags_of(plan, Name=f"{plan.name}-{data.name}"),
        },
        outputs=("dnsName", "mountName"),
        after=(*(each.name for each in rules), out.name, itself.name),
        protect=plan.storage.protect,
    )
    return [group, *rules, out, itself, files, *_filled(plan, data, files)]


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
    back = {"autoExportPolicy": {"events": ["NEW", "CHANGED"]}} if data.writers else {}
    yield CloudResource(
        kind="aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation",
        name=f"filled-{files.name}",
        inputs={
            "fileSystemId": files.get("id"),
            "fileSystemPath": "/",
            "dataRepositoryPath": f"s3://{data.bucket}",
            "batchImportMetaDataOnCreate": True,
            "s3": {"autoImportPolicy": {"events": ["NEW", "CHANGED", "DELETED"]}, **back},
            "tags": tags_of(plan),
        },
    )


# ── access to a file system ───────────────────────────────────────────────────────────────────────
def _group(
    plan: PlatformPlan, foundation: AwsStoreFoundation, name: str, description: str
) -> CloudResource:
    return CloudResource(
        kind="aws:ec2/securityGroup:SecurityGroup",
        name=f"access-{name}",
        inputs={
            "vpcId": foundation.vpc,
            "description": description,
            # Its rules, and those of nodes, refer to it: they are deleted first.
            "revokeRulesOnDelete": True,
            "tags": tags_of(plan, Name=f"{plan.name}-{name}"),
        },
    )


def _from(
    group: CloudResource, peer: CloudResource, name: str, low: int, high: int
) -> CloudResource:
    return CloudResource(
        kind="aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
        name=f"from-{name}-{group.name}",
        inputs={
            "securityGroupId": group.get("id"),
            "referencedSecurityGroupId": peer.get("id"),
            "ipProtocol": "tcp",
            "fromPort": low,
            "toPort": high,
            "description": f"From {peer.name}",
        },
    )


# ── buckets ───────────────────────────────────────────────────────────────────────────────────────
def _bucket(
    plan: PlatformPlan, foundation: AwsStoreFoundation, name: str, *, retention_days: int
) -> list[CloudResource]:
    """Closed to the public and to requests without TLS; keeps deleted objects for a while."""
    own = fit_name(f"{plan.name}-{name}", _NAME_LENGTH)
    bucket = CloudResource(
        kind=_BUCKET,
        name=name,
        inputs={
            # Bucket names are global: account and region make this one unique.
            "bucket": Joined(own, "-", ACCOUNT.get("accountId"), "-", foundation.place.region),
            "forceDestroy": False,
            "tags": tags_of(plan),
        },
        outputs=("arn",),
        protect=plan.storage.protect,
        delete_first=True,
    )
    key = _key(plan)
    by = {"sseAlgorithm": "aws:kms", "kmsMasterKeyId": key} if key else {"sseAlgorithm": "AES256"}
    block = _about(
        bucket,
        "PublicAccessBlock",
        blockPublicAcls=True,
        blockPublicPolicy=True,
        ignorePublicAcls=True,
        restrictPublicBuckets=True,
    )
    versions = _about(bucket, "Versioning", versioningConfiguration={"status": "Enabled"})
    encryption = _about(
        bucket,
        "ServerSideEncryptionConfiguration",
        rules=[{"applyServerSideEncryptionByDefault": by, "bucketKeyEnabled": bool(key)}],
    )
    policy = _about(
        bucket, "Policy", after=(block.name,), policy=document(_without_tls(bucket.get("arn")))
    )
    cycle = _about(
        bucket,
        "LifecycleConfiguration",
        after=(versions.name,),
        rules=list(_cycle(retention_days)),
    )
    return [bucket, block, versions, encryption, policy, cycle]


def _about(
    bucket: CloudResource, part: str, after: tuple[str, ...] = (), **inputs: Any
) -> CloudResource:
    return CloudResource(
        kind=f"aws:s3/bucket{part}:Bucket{part}",
        name=f"{part.lower()}-{bucket.name}",
        inputs={"bucket": bucket.get("id"), **inputs},
        after=after,
    )


def _without_tls(arn: StringInput) -> dict[str, Any]:
    return {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": [arn, Joined(arn, "/*")],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }


def _cycle(retention_days: int) -> Iterator[dict[str, Any]]:
    """Current objects never expire: only incomplete uploads and earlier versions do."""
    yield {
        "id": "unfinished-uploads",
        "status": "Enabled",
        "filter": {"prefix": ""},
        "abortIncompleteMultipartUpload": {"daysAfterInitiation": _ABORT_DAYS},
    }
    yield {
        "id": "earlier-versions",
        "status": "Enabled",
        "filter": {"prefix": ""},
        "noncurrentVersionExpiration": {"noncurrentDays": retention_days},
        "expiration": {"expiredObjectDeleteMarker": True},
    }


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
    rights = CloudResource(
        kind="aws:iam/rolePolicy:RolePolicy",
        name=f"rights-{iam_role.name}",
        inputs={"role": iam_role.get("name"), "policy": document(*allowed)},
    )
    yield iam_role
    yield rights
    for space in namespaces:
        yield pod_identity_association(
            plan,
            f"rights-of-{space}",
            foundation.cluster,
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
