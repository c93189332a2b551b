"""The likely owner of an object, by its labels, annotations and field managers.

None of these is proof: any user can set a label. So the message names the label with the owner, and
the last writer of the object, which the API server records (`metadata.managedFields`).

Sources of the labels: Helm 4, pkg/action/validate.go (release-name, release-namespace, managed-by);
https://argo-cd.readthedocs.io/en/stable/user-guide/resource_tracking (the annotation is the default);
https://fluxcd.io/flux/components/kustomize/kustomizations and /helm/helmreleases (name and namespace).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.names import MANAGED_BY_LABEL, PLATFORM_LABEL

_FLUX = {
    "kustomize.toolkit.fluxcd.io": "Flux Kustomization",
    "helm.toolkit.fluxcd.io": "Flux HelmRelease",
}
_ARGO_ANNOTATION, _ARGO_LABEL = "argocd.argoproj.io/tracking-id", "argocd.argoproj.io/instance"
_HELM = "meta.helm.sh/release-"


def owner_of(obj: Mapping[str, Any], platform: str | None = None) -> str:
    """The owner of the object in one sentence; `platform` is the name of the deployed platform."""
    meta = obj.get("metadata", {})
    claims = list(_claims(meta, platform))
    message = f"It belongs to {', '.join(claims)}" if claims else "Its metadata names no owner"
    if written := _last_written(meta.get("managedFields") or []):
        message += f"; {written}"
    elif creation_time := meta.get("creationTimestamp"):
        message += f"; it was created at {creation_time}"
    return f"{message}."


def _claims(meta: Mapping[str, Any], platform: str | None) -> Iterator[str]:
    labels, annotations = meta.get("labels") or {}, meta.get("annotations") or {}
    if theirs := labels.get(PLATFORM_LABEL):
        yield _of_platform(theirs, platform)
    for domain, kind in _FLUX.items():
        if name := labels.get(f"{domain}/name"):
            yield f"{kind} {_placed(labels.get(f'{domain}/namespace'), name)} (label {domain}/name)"
    if application := str(annotations.get(_ARGO_ANNOTATION, "")).partition(":")[0]:
        yield f"Argo CD application {application} (annotation {_ARGO_ANNOTATION})"
    elif application := str(labels.get(_ARGO_LABEL, "")):
        yield f"Argo CD application {application} (label {_ARGO_LABEL})"
    if release := annotations.get(f"{_HELM}name"):
        placed = _placed(annotations.get(f"{_HELM}namespace"), release)
        yield f"Helm release {placed} (annotation {_HELM}name)"
    elif manager := labels.get(MANAGED_BY_LABEL):
        yield f"{manager} (label {MANAGED_BY_LABEL})"
    for owner in meta.get("ownerReferences") or []:
        yield f"{owner.get('kind')} {owner.get('name')} (owner reference)"


def _of_platform(theirs: str, platform: str | None) -> str:
    if theirs != platform:
        return f"platform {theirs} of GPU Yard (label {PLATFORM_LABEL})"
    return (
        f"a platform of the same name, {theirs} (label {PLATFORM_LABEL}): another stack deploys "
        "it, or the object is missing from this stack's state"
    )


def _placed(namespace: object, name: object) -> str:
    return f"{namespace}/{name}" if namespace else str(name)


def _last_written(managed: list[Mapping[str, Any]]) -> str:
    """The last writer and earlier ones; a manager of the status alone owns nothing."""
    entries = [one for one in managed if not one.get("subresource") and one.get("manager")]
    if not entries:
        return ""
    entries.sort(key=lambda one: str(one.get("time", "")), reverse=True)
    last = entries[0]
    others = sorted({str(one["manager"]) for one in entries} - {str(last["manager"])})
    when = f" at {last['time']}" if last.get("time") else ""
    earlier = f", before that by {', '.join(others)}" if others else ""
    return f"last written by {last['manager']}{when}{earlier} (managedFields)"


def field_managers(obj: Mapping[str, Any]) -> set[str]:
    """The field managers of the object."""
    managed = obj.get("metadata", {}).get("managedFields") or []
    return {str(one.get("manager")) for one in managed}
