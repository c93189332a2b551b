"""Storage in a team's namespaces: a claim for each store, and the location of checkpoints.

Each volume is bound to one claim, by namespace and name, so no other claim can use it. The mount
decides whether it is writable: a pod can only request less.
"""

from collections.abc import Iterator
from typing import Any

from gpuyard.plan.records import CheckpointsPlan, DatasetPlan, NamespacePlan, PlatformPlan, TeamPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.spelling import digest
from gpuyard.render.limits import gib
from gpuyard.render.objects import SKIP_AWAIT, Object, managed_object, service_account
from gpuyard.spec.sections import DatasetKind
from gpuyard_core.names import CHECKPOINTS, DATA_ACCOUNT, PROTECT_ANNOTATION, system_namespace

CHECKPOINTS_STORE = "checkpoints"
"""Name of the checkpoint bucket in a cloud's graph."""
SHARE = "data"
"""Name of Filestore's share."""
_UNSIZED_GIB = 1024
"""Capacity of a volume without a fixed size; nothing is compared with it."""
ANY_MODE = ("dir-mode=0777", "file-mode=0666")
"""File modes of a bucket, which has no file permissions: every pod with access may write."""
_MANY, _READ_MANY = "ReadWriteMany", "ReadOnlyMany"


def dataset_store_name(data: DatasetPlan) -> str:
    """The name of a store in a cloud's graph, and the prefix of its late values."""
    return f"data-{data.name}"


def lustre_filesystem_name(data: DatasetPlan) -> str:
    """Its name for Managed Lustre: eight letters and digits, unique on a node."""
    return f"fs{digest(data.name)}"


def storage_objects(plan: PlatformPlan, team: TeamPlan) -> list[Object]:
    """The objects of a team's namespaces; none on a simulated platform, which has no stores."""
    if plan.simulated:
        return []
    return [each for space in team.namespaces for each in _in_namespace(plan, team, space)]


def dataset_check_volumes(plan: PlatformPlan) -> list[Object]:
    """For each dataset that the check reads, a claim in the platform's namespace, and a volume.

    On a simulated platform, too: there is no store behind it, and its pods are simulated as well.
    """
    space = system_namespace(plan.name)
    datasets = plan.datasets_read_by_validation
    return [
        *([service_account(plan.name, DATA_ACCOUNT, space)] if datasets else []),
        *(obj for data in datasets for obj in _read(plan, space, data)),
    ]


def _read(plan: PlatformPlan, space: str, data: DatasetPlan) -> list[Object]:
    """A node mounts Managed Lustre once, with its teams' options: the pod sets read-only itself."""
    once = data.kind is DatasetKind.MANAGED_LUSTRE
    reader = data.writers[0] if once and data.writers else ""
    return [_volume(plan, reader, space, data), _claim(plan, reader, space, data)]


def _in_namespace(plan: PlatformPlan, team: TeamPlan, space: NamespacePlan) -> Iterator[Object]:
    name, storage = team.stable_name, plan.storage
    if storage.checkpoints and storage.keeps_checkpoints(name):
        yield _place(plan, storage.checkpoints, name, space)
    asks = storage.buckets(name) or storage.keeps_checkpoints(name)
    if asks and plan.provider.sells_machines:
        yield service_account(plan.name, DATA_ACCOUNT, space.name)
    for data in storage.datasets_of_team(name):
        if data.kind is not DatasetKind.CLASS:
            yield _volume(plan, name, space.name, data)
        yield _claim(plan, name, space.name, data)


def _place(
    plan: PlatformPlan, checkpoints: CheckpointsPlan, team: str, space: NamespacePlan
) -> Object:
    """For `envFrom`: the bucket, and the prefix of all names of the team."""
    value = checkpoints.bucket
    url = (
        f"{plan.provider.bucket_scheme}://{value}"
        if value
        else UnresolvedOutput(f"{CHECKPOINTS_STORE}.url")
    )
    data = {"CHECKPOINT_BUCKET": url, "CHECKPOINT_PREFIX": f"{team}/"}
    return managed_object(
        plan.name, "v1", "ConfigMap", CHECKPOINTS, namespace=space.name, data=data
    )


# ── a volume for one claim ────────────────────────────────────────────────────────────────────────
def _volume(plan: PlatformPlan, team: str, space: str, data: DatasetPlan) -> Object:
    """Without a class: the API server drops an empty `storageClassName`, each `up` would add it."""
    writes = team in data.writers
    source, options = plan.provider.volume_source(plan, space, data, writes=writes)
    spec: Object = {
        "capacity": {"storage": gib(data.size_gib or _UNSIZED_GIB)},
        "accessModes": [_mode(data, writes=writes)],
        "persistentVolumeReclaimPolicy": "Retain",
        "claimRef": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": space,
            "name": data.name,
        },
        **({"mountOptions": options} if options else {}),
        **source,
    }
    return managed_object(
        plan.name,
        "v1",
        "PersistentVolume",
        volume_name(plan, space, data),
        annotations=SKIP_AWAIT,
        spec=spec,
    )


def volume_name(plan: PlatformPlan, space: str, data: DatasetPlan) -> str:
    """The name of a volume, which has no namespace: dots separate its parts."""
    return f"{plan.name}.{space}.{data.name}"


def _mode(data: DatasetPlan, *, writes: bool) -> str:
    """The driver of FSx supports only one mode; there the mount option is read-only."""
    return _MANY if writes or data.kind in _ONE_MODE else _READ_MANY


_ONE_MODE = {DatasetKind.FSX_LUSTRE, DatasetKind.CLASS}


def _claim(plan: PlatformPlan, team: str, space: str, data: DatasetPlan) -> Object:
    """It sets no volume name: admission lets only the provisioner set `volumeName`.

    No other object names the data of a claim with a storage class, so protection retains the claim
    too.
    """
    # It may wait for its first pod; one in use is deleted with the namespace, not before it.
    kept = data.kind is DatasetKind.CLASS and plan.storage.protect
    spec: Object = {
        "accessModes": [_mode(data, writes=team in data.writers)],
        "storageClassName": data.class_name or "",
        "resources": {"requests": {"storage": gib(data.claim_gib)}},
    }
    return managed_object(
        plan.name,
        "v1",
        "PersistentVolumeClaim",
        data.name,
        namespace=space,
        annotations={**SKIP_AWAIT, **({PROTECT_ANNOTATION: "true"} if kept else {})},
        spec=spec,
    )


# ── volume sources ────────────────────────────────────────────────────────────────────────────────
VolumeSource = tuple[Object, list[str]]
"""The source of a volume, and its mount options."""


def csi_source(driver: str, handle: Any, **attributes: Any) -> Object:
    """A volume of a CSI driver."""
    return {
        "csi": {
            "driver": driver,
            "volumeHandle": handle,
            **({"volumeAttributes": attributes} if attributes else {}),
        }
    }


def read_only(*, writes: bool) -> list[str]:
    """The mount option of a volume that its team only reads."""
    return [] if writes else ["ro"]
