"""Fields whose change replaces the object: provider/pkg/provider/diff.go, release 4.32.

A kind that is not in the table is replaced only for its name and namespace: the API server then
rejects a change of an immutable field.
"""

from __future__ import annotations

from typing import Any

from testbed.plugins.kubernetes.values import Object, path

_SELECTOR = (".spec.selector",)
_JOB = (".spec.completions", ".spec.parallelism", ".spec.selector", ".spec.template")
_STATEFUL_SET = (
    ".spec.podManagementPolicy",
    ".spec.revisionHistoryLimit",
    ".spec.selector",
    ".spec.serviceName",
    ".spec.volumeClaimTemplates",
)
_VOLUME_SOURCES = (
    *(
        "awsElasticBlockStore",
        "azureDisk",
        "azureFile",
        "cephfs",
        "cinder",
        "csi",
        "fc",
        "flexVolume",
        "flocker",
    ),
    *(
        "gcePersistentDisk",
        "glusterfs",
        "hostPath",
        "iscsi",
        "local",
        "nfs",
        "photonPersistentDisk",
        "portworxVolume",
    ),
    *("quobyte", "rbd", "scaleIO", "storageos", "vsphereVolume"),
)
_POD_FIELDS = (
    *(
        "affinity",
        "automountServiceAccountToken",
        "dnsConfig",
        "dnsPolicy",
        "enableServiceLinks",
        "hostAliases",
    ),
    *(
        "hostIPC",
        "hostNetwork",
        "hostPID",
        "hostname",
        "imagePullSecrets",
        "nodeName",
        "nodeSelector",
        "overhead",
    ),
    *(
        "preemptionPolicy",
        "priority",
        "priorityClassName",
        "readinessGates",
        "restartPolicy",
        "runtimeClassName",
    ),
    *(
        "schedulerName",
        "securityContext",
        "serviceAccount",
        "serviceAccountName",
        "shareProcessNamespace",
    ),
    *("subdomain", "terminationGracePeriodSeconds", "volumes"),
)
_CONTAINER_FIELDS = (
    *(
        "args",
        "command",
        "env",
        "image",
        "imagePullPolicy",
        "lifecycle",
        "livenessProbe",
        "ports",
        "readinessProbe",
    ),
    *(
        "resources",
        "securityContext",
        "stdin",
        "stdinOnce",
        "terminationMessagePath",
        "terminationMessagePolicy",
    ),
    *("tty", "volumeDevices", "volumeMounts", "workingDir"),
)

TABLE: dict[tuple[str, str], tuple[str, ...]] = {
    ("apps", "DaemonSet"): _SELECTOR,
    ("apps", "Deployment"): _SELECTOR,
    ("apps", "StatefulSet"): _STATEFUL_SET,
    ("batch", "Job"): _JOB,
    ("policy/v1beta1", "PodDisruptionBudget"): (".spec",),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): (".roleRef",),
    ("rbac.authorization.k8s.io", "RoleBinding"): (".roleRef",),
    ("storage.k8s.io", "StorageClass"): (".parameters", ".provisioner"),
    ("", "PersistentVolume"): tuple(f".spec.{field}" for field in _VOLUME_SOURCES),
    ("", "PersistentVolumeClaim"): (
        ".spec.accessModes",
        ".spec.selector",
        ".spec.storageClassName",
        ".spec.volumeName",
    ),
    ("", "Pod"): (
        *(f".spec.{field}" for field in _POD_FIELDS),
        *(
            f".spec.{group}[*].{field}"
            for group in ("containers", "initContainers")
            for field in _CONTAINER_FIELDS
        ),
    ),
    ("", "ResourceQuota"): (".spec.scopes",),
    ("", "Secret"): (".type",),
    ("", "Service"): (".spec.clusterIP",),
}
IDENTITY = (".metadata.name", ".metadata.namespace")


def fields(
    obj: Object, *, config_map_mutable: bool = False, secret_mutable: bool = False
) -> tuple[str, ...]:
    """The force-new fields of this object.

    A ConfigMap or Secret is replaced when its content changes, unless the provider treats it as mutable.
    """
    group, _, version = obj["apiVersion"].rpartition("/")
    kind = obj["kind"]
    frozen = obj.get("immutable") is True
    if (group, kind) == ("", "Secret") and (frozen or not secret_mutable):
        return (*IDENTITY, ".type", ".stringData", ".data")
    if (group, kind) == ("", "ConfigMap"):
        return (*IDENTITY, ".binaryData", ".data") if frozen or not config_map_mutable else IDENTITY
    return (*IDENTITY, *TABLE.get((group, kind), TABLE.get((f"{group}/{version}", kind), ())))


def replaces(steps: tuple[str | int, ...], value: Any, force_new: tuple[str, ...]) -> bool:
    """Whether a change at this path touches a force-new field.

    That is: at the field, below it, or above it with the field in the new value.
    """
    written = "".join("[*]" if isinstance(step, int) else f".{step}" for step in steps)
    return any(
        written == field
        or written.startswith((f"{field}.", f"{field}["))
        or (
            field.startswith(f"{written}.")
            and path(value, *field[len(written) + 1 :].split(".")) is not None
        )
        for field in force_new
    )
