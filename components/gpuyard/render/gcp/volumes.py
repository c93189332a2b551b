"""The sources of volumes on GKE: Filestore, Managed Lustre, and buckets of Cloud Storage."""

from gpuyard.plan.records import DatasetPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.storage import (
    ANY_MODE,
    SHARE,
    VolumeSource,
    csi_source,
    dataset_store_name,
    lustre_filesystem_name,
    read_only,
)
from gpuyard.spec.sections import DatasetKind


def volume_source(data: DatasetPlan, *, writes: bool) -> VolumeSource:
    """By the CSI driver of the dataset's kind, or NFS for Filestore.

    The CSI driver of Filestore mounts once on a node, the same for readers and writers. A node
    mounts Managed Lustre once: all its teams write it, or none; a static check ensures that.
    """
    name, read = dataset_store_name(data), read_only(writes=writes)
    if data.kind is DatasetKind.BUCKET:
        return _bucket(data, writes=writes)
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


def _bucket(data: DatasetPlan, *, writes: bool) -> VolumeSource:
    """Mounted with the pod's identity: its service account has the permissions."""
    name = data.bucket or UnresolvedOutput(f"{dataset_store_name(data)}.bucket")
    mib = (data.cache_gib or 0) * 1024
    cache = [f"file-cache:max-size-mb:{mib}", "file-cache:cache-file-for-range-read:true"]
    access = ANY_MODE if writes else ("ro",)
    options = ["implicit-dirs", *(cache if mib else []), *access]
    return csi_source("gcsfuse.csi.storage.gke.io", name), options
