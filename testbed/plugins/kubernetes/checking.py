"""Check: the inputs of an object as they will be sent. Follows Check in provider/pkg/provider/provider.go."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

from testbed.plugins.kubernetes import normalize, pulumi_annotations
from testbed.plugins.kubernetes.cluster import Cluster
from testbed.plugins.kubernetes.failures import ApiError, NoSuchKind, ProviderError, Unreachable
from testbed.plugins.kubernetes.values import (
    Object,
    Unknown,
    has_unknown,
    manifest,
    mark_secrets,
    path,
    properties,
)

_SUFFIX_LENGTH = 8  # `name-` and eight hexadecimal digits


@dataclass(frozen=True)
class Request:
    """The engine's data about a resource to check."""

    urn: str
    seed: bytes = b""
    autonaming: tuple[str, str] | None = None  # mode and proposed name

    @property
    def name(self) -> str:
        return self.urn.rpartition("::")[2]

    @property
    def token(self) -> str:
        return self.urn.split("::")[2].rpartition("$")[2]


def is_patch(token: str) -> bool:
    """Whether this is one of the `*Patch` resources; no kind of Kubernetes itself ends in Patch."""
    return token.endswith("Patch")


def run(
    request: Request, old_inputs: Object, value: Object, cluster: Cluster | None, namespace: str
) -> Object:
    """The checked inputs, with names, namespace and secrets in place."""
    kind = request.token.rpartition(":")[2]
    if kind.endswith("List") and kind != "List" and str(value.get("kind", kind)).endswith("List"):
        raise ProviderError(
            "list resources exist for compatibility with YAML manifests and Helm charts, "
            "and cannot be created directly. Use the underlying resource type instead"
        )
    obj = normalize.inputs(manifest(value))
    if is_patch(request.token) and not _named(obj):
        raise ProviderError(f"{kind} needs the name of the object that it patches: metadata.name")
    _name(obj, manifest(old_inputs), request)
    if path(obj, "metadata", "generateName") and not path(obj, "metadata", "name"):
        raise ProviderError(
            "the `.metadata.generateName` field is not supported in Server-Side Apply mode"
        )
    if namespace and not path(obj, "metadata", "namespace") and _namespaced(obj, cluster):
        metadata = obj.setdefault("metadata", {})
        if not isinstance(metadata, Unknown):
            metadata["namespace"] = namespace
    checked = properties(obj)
    mark_secrets(checked, value)
    return checked


def _named(obj: Object) -> bool:
    return bool(path(obj, "metadata", "name")) or isinstance(path(obj, "metadata", "name"), Unknown)


def _name(obj: Object, old: Object, request: Request) -> None:
    """Keep the given name, else the generated name of before, else generate one."""
    if _named(obj) or isinstance(obj.get("metadata"), Unknown):
        return
    metadata = obj.setdefault("metadata", {})
    if old and pulumi_annotations.is_true(old, pulumi_annotations.AUTONAMED):
        metadata["name"] = path(old, "metadata", "name")
    elif old and path(old, "metadata", "name") and not metadata.get("generateName"):
        # The program no longer sets a name that it set before: a new one is generated, which replaces
        # the object.
        metadata["name"] = _autoname(request)
    elif not metadata.get("generateName"):
        metadata["name"] = _autoname(request)
    else:
        return
    pulumi_annotations.set_true(obj, pulumi_annotations.AUTONAMED)


def _autoname(request: Request) -> str:
    mode, proposed = request.autonaming or ("", "")
    if mode == "DISABLE":
        raise ProviderError(
            "autonaming is disabled, resource requires the .metadata.name field to be set"
        )
    if proposed:
        return proposed
    # With the engine's seed, preview and update have the same name.
    digits = (
        hashlib.sha256(request.seed).hexdigest()
        if request.seed
        else secrets.token_hex(_SUFFIX_LENGTH)
    )
    return f"{request.name}-{digits[:_SUFFIX_LENGTH]}"


def _namespaced(obj: Object, cluster: Cluster | None) -> bool:
    """Whether the kind lives in a namespace; assumed if unknown, like the official provider."""
    if cluster is None or has_unknown({key: obj.get(key) for key in ("apiVersion", "kind")}):
        return obj.get("kind") not in CLUSTER_SCOPED
    try:
        return cluster.kind_of(obj).namespaced
    except (NoSuchKind, ApiError, Unreachable):
        return obj.get("kind") not in CLUSTER_SCOPED


# Built-in kinds without a namespace, for use without an API server.
CLUSTER_SCOPED = {
    *(
        "Namespace",
        "Node",
        "PersistentVolume",
        "ClusterRole",
        "ClusterRoleBinding",
        "StorageClass",
        "PriorityClass",
    ),
    *(
        "CustomResourceDefinition",
        "APIService",
        "RuntimeClass",
        "IngressClass",
        "VolumeAttachment",
        "CSIDriver",
    ),
    *(
        "CSINode",
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
        "CertificateSigningRequest",
    ),
    *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy"),
    *(
        "MutatingAdmissionPolicyBinding",
        "FlowSchema",
        "PriorityLevelConfiguration",
        "DeviceClass",
        "ResourceSlice",
    ),
}
