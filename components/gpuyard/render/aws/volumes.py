"""The sources of volumes on EKS: EFS, FSx for Lustre, and buckets of S3."""

from gpuyard.plan.records import DatasetPlan, PlatformPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.limits import gib
from gpuyard.render.storage import (
    ANY_MODE,
    VolumeSource,
    csi_source,
    dataset_store_name,
    read_only,
    volume_name,
)
from gpuyard.spec.sections import DatasetKind


def volume_source(
    plan: PlatformPlan, space: str, data: DatasetPlan, *, writes: bool
) -> VolumeSource:
    """By the CSI driver of the dataset's kind."""
    name = dataset_store_name(data)
    if data.kind is DatasetKind.BUCKET:
        return _bucket(plan, space, data, writes=writes)
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


def _bucket(plan: PlatformPlan, space: str, data: DatasetPlan, *, writes: bool) -> VolumeSource:
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
