"""References to objects that a kustomization renames, as in kustomize's own name configuration.

References from pods to a ConfigMap, a Secret, a claim or a service account are renamed with the object; the
queue label is not, nor is any field of a custom kind.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from gpuyard_core.manifests.fields import UNKNOWN
from gpuyard_lint.combined.changes import PatchedObject
from gpuyard_lint.combined.patching import text_at_keys

Field = tuple[str, str]
"""A kind, and the path of references to it; lists are traversed."""
_OF_PODS: tuple[Field, ...] = (
    ("ConfigMap", "volumes/configMap/name"),
    ("ConfigMap", "volumes/projected/sources/configMap/name"),
    ("Secret", "volumes/secret/secretName"),
    ("Secret", "volumes/projected/sources/secret/name"),
    ("Secret", "imagePullSecrets/name"),
    *(
        (kind, f"{containers}/{path}")
        for containers in ("containers", "initContainers")
        for kind, path in (
            ("ConfigMap", "env/valueFrom/configMapKeyRef/name"),
            ("ConfigMap", "envFrom/configMapRef/name"),
            ("Secret", "env/valueFrom/secretKeyRef/name"),
            ("Secret", "envFrom/secretRef/name"),
        )
    ),
    ("PersistentVolumeClaim", "volumes/persistentVolumeClaim/claimName"),
    ("ServiceAccount", "serviceAccountName"),
    ("PriorityClass", "priorityClassName"),
)
_TEMPLATE = "spec/template/spec"
_PODS: Mapping[str, str] = {
    "Pod": "spec",
    **dict.fromkeys(("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet", "Job"), _TEMPLATE),
    "CronJob": f"spec/jobTemplate/{_TEMPLATE}",
}
_SCALED = ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController")
_OTHERS: Mapping[str, tuple[Field, ...]] = {
    "HorizontalPodAutoscaler": tuple((kind, "spec/scaleTargetRef/name") for kind in _SCALED),
    "StatefulSet": (("Service", "spec/serviceName"),),
    "Ingress": (
        ("Service", "spec/rules/http/paths/backend/service/name"),
        ("Service", "spec/defaultBackend/service/name"),
        ("Secret", "spec/tls/secretName"),
    ),
    "HTTPRoute": (("Service", "spec/rules/backendRefs/name"),),
    "ServiceAccount": (("Secret", "imagePullSecrets/name"),),
    "PersistentVolumeClaim": (
        ("PersistentVolume", "spec/volumeName"),
        ("StorageClass", "spec/storageClassName"),
    ),
    "PersistentVolume": (("StorageClass", "spec/storageClassName"),),
}
_BINDINGS = frozenset({"RoleBinding", "ClusterRoleBinding"})
_WIDE = frozenset({"PriorityClass", "PersistentVolume", "StorageClass", "ClusterRole"})
RenamedObjects = Mapping[tuple[str, str, str], str | None]
"""By kind, namespace and old name: the new name, None if several objects had the old one."""


def renamed_objects(forms: Iterable[PatchedObject]) -> RenamedObjects:
    """The renames; empty if there were none."""
    results: dict[tuple[str, str, str], set[str]] = {}
    seen = list(forms)
    if not any(len(set(form.names)) > 1 for form in seen):
        return {}
    for form in seen:
        for name in form.names:
            key = (form.kind, _space(form.kind, form.value), name)
            results.setdefault(key, set()).add(form.names[-1])
    return {key: next(iter(now)) if len(now) == 1 else None for key, now in results.items()}


def _space(kind: str, value: Any) -> str:
    return "" if kind in _WIDE else text_at_keys(value, "metadata", "namespace")


def update_references(value: Mapping[str, Any], renamed: RenamedObjects) -> Mapping[str, Any]:
    """An object whose references name deployed objects; unknown if several are possible."""
    kind = text_at_keys(value, "kind")
    fields = list(_OTHERS.get(kind, ()))
    if kind in _PODS:
        fields += ((to, f"{_PODS[kind]}/{path}") for to, path in _OF_PODS)
    updated: Any = value
    for to, path in fields:
        updated = _followed(updated, path.split("/"), partial(_now, renamed, to, _space(to, value)))
    return cast("Mapping[str, Any]", _bound(updated, renamed) if kind in _BINDINGS else updated)


def _now(renamed: RenamedObjects, kind: str, space: str, name: str) -> Any:
    now = renamed.get((kind, space, name), name)
    return UNKNOWN if now is None else now


def _followed(value: Any, steps: Sequence[str], new: Callable[[str], Any]) -> Any:
    """With another name at a path, in each item of lists on the way; unchanged if none changes."""
    if isinstance(value, list):
        replaced = [_followed(each, steps, new) for each in value]
        return replaced if any(a is not b for a, b in zip(replaced, value, strict=True)) else value
    if not steps:
        return new(value) if isinstance(value, str) else value
    if not isinstance(value, Mapping) or steps[0] not in value:
        return value
    below = _followed(value[steps[0]], steps[1:], new)
    return value if below is value[steps[0]] else {**value, steps[0]: below}


def _bound(value: Mapping[str, Any], renamed: RenamedObjects) -> Any:
    """A binding: each account in its namespace, the role by its kind."""

    def renamed_one(of: Any, space: str) -> Any:
        key = (text_at_keys(of, "kind"), space, text_at_keys(of, "name"))
        return {**of, "name": _now(renamed, *key)} if key in renamed else of

    role = value.get("roleRef")
    space = _space(text_at_keys(role, "kind"), value)
    subjects = value.get("subjects")
    accounts = [renamed_one(each, text_at_keys(each, "namespace")) for each in subjects or ()]
    return {**value, "roleRef": renamed_one(role, space), "subjects": accounts}
