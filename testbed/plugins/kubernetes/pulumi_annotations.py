"""The `pulumi.com/*` annotations.

provider/pkg/metadata/annotations.go and overrides.go of the official provider.
"""

from __future__ import annotations

import json

from testbed.plugins.kubernetes.failures import ProviderError
from testbed.plugins.kubernetes.values import Object, Unknown, path

AUTONAMED = "pulumi.com/autonamed"
SKIP_AWAIT = "pulumi.com/skipAwait"
WAIT_FOR = "pulumi.com/waitFor"
TIMEOUT_SECONDS = "pulumi.com/timeoutSeconds"
REPLACE_UNREADY = "pulumi.com/replaceUnready"
PATCH_FORCE = "pulumi.com/patchForce"
PATCH_FIELD_MANAGER = "pulumi.com/patchFieldManager"
DELETION_PROPAGATION = "pulumi.com/deletionPropagationPolicy"
HELM_HOOK = "helm.sh/hook"

# Kinds whose deletion is not awaited either under skipAwait: pulumi-kubernetes issues 1232 and
# 3154.
SKIP_AWAIT_ON_DELETE = {
    "Namespace",
    "Pod",
    "ReplicationController",
    "DaemonSet",
    "Deployment",
    "StatefulSet",
    "Job",
}


def get(obj: Object, key: str) -> str:
    """The annotation's text, or an empty string."""
    value = path(obj, "metadata", "annotations", key)
    return value if isinstance(value, str) else ""


def is_true(obj: Object, key: str) -> bool:
    """Whether the annotation is exactly `true`."""
    return get(obj, key) == "true"


def set_true(obj: Object, key: str) -> None:
    """Set the annotation to `true`, unless metadata or annotations are not known yet."""
    metadata = obj.get("metadata")
    if isinstance(metadata, Unknown):
        return
    annotations = obj.setdefault("metadata", {}).setdefault("annotations", {})
    if not isinstance(annotations, Unknown):
        annotations[key] = "true"


def timeout(obj: Object, custom_seconds: float, default_seconds: float) -> float:
    """`customTimeouts` of the resource first, then the annotation, then the default."""
    if custom_seconds:
        return custom_seconds
    text = get(obj, TIMEOUT_SECONDS)
    try:
        return float(int(text)) if text else default_seconds
    except ValueError:
        return default_seconds


def propagation(obj: Object) -> str:
    """The annotation's policy; foreground without one."""
    policy = get(obj, DELETION_PROPAGATION).lower()
    return {"orphan": "Orphan", "background": "Background"}.get(policy, "Foreground")


def wait_for(obj: Object) -> list[str]:
    """The expressions of `pulumi.com/waitFor`: one, or a JSON list of them."""
    text = get(obj, WAIT_FOR)
    if not text:
        return []
    try:
        parsed = json.loads(text)
    except ValueError:
        parsed = [text]
    expressions = parsed if isinstance(parsed, list) else [text]
    if not expressions:
        raise ProviderError("at least one condition must be specified")
    for expression in expressions:
        if not str(expression).startswith(("jsonpath=", "condition=")):
            raise ProviderError(
                f'expected a "jsonpath=" or "condition=" prefix, got "{expression}"'
            )
    return [str(expression) for expression in expressions]


def skips_await_on_delete(obj: Object) -> bool:
    """Whether deletion is not awaited."""
    return is_true(obj, SKIP_AWAIT) and obj.get("kind") in SKIP_AWAIT_ON_DELETE
