"""Register a plain Kubernetes object, of any kind and with any fields, as a Pulumi resource.

The SDK's typed classes would do it for the kinds they know, but importing them costs 0.2 s and
their inputs 2.4 times the registration; its CustomResource carries only metadata and spec, so it
can't write a WorkloadPriorityClass (`value` at top level) or any kind without a spec. The provider
itself needs neither: it reads the object from apiVersion, kind and the other inputs, and takes a
resource for a Kubernetes object by its type token alone, `kubernetes:<apiVersion>:<Kind>`, with the
core group's missing name written out:

    v1 ConfigMap                              kubernetes:core/v1:ConfigMap
    apps/v1 Deployment                        kubernetes:apps/v1:Deployment
    kueue.x-k8s.io/v1beta1 ClusterQueue       kubernetes:kueue.x-k8s.io/v1beta1:ClusterQueue

These are the tokens the typed classes send (a test compares all of them), so the resources look
alike in state, policies and `pulumi preview`, and a stack may move between the two.
https://github.com/pulumi/pulumi-kubernetes/blob/master/provider/pkg/provider/provider.go
(gvkFromURN)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import pulumi

from gpuyard.sdk_classes import sdk_version
from gpuyard_core.errors import UsageError

_SECRET_FIELDS = ("data", "stringData")
_PATCH = "Patch"
"""Suffix of a kind: the provider's resource for some fields of an object that it neither creates
nor deletes
(https://www.pulumi.com/registry/packages/kubernetes/how-to-guides/managing-resources-with-server-side-apply).
"""


def register_object(
    parent: pulumi.Resource,
    obj: Mapping[str, Any],
    opts: pulumi.ResourceOptions | None = None,
    *,
    former_api_versions: Sequence[str] = (),
    theirs: bool = False,
) -> pulumi.CustomResource:
    """Register one Kubernetes object under `parent` and return its resource.

    `obj` is the manifest: apiVersion, kind, metadata.name (and metadata.namespace) as plain text,
    everything else plain or Outputs. The data of a Secret becomes secret. Options are merged as
    pulumi.ResourceOptions.merge does; `opts` must not set another parent. `former_api_versions` are
    earlier apiVersions of the same object: each becomes an alias, so that an upgrade to a new API
    version does not replace it. With `theirs` the object exists already and has another owner:
    gpuyard owns only the fields given here, and a deletion removes only those.
    """
    api_version, kind = _text(obj, "apiVersion"), _text(obj, "kind")
    properties = dict(obj)
    ours = pulumi.ResourceOptions()
    if (api_version, kind) == ("v1", "Secret"):
        secret = [field for field in _SECRET_FIELDS if properties.get(field) is not None]
        properties.update({field: pulumi.Output.secret(properties[field]) for field in secret})
        ours.additional_secret_outputs = list(_SECRET_FIELDS)
    # an object that this stack created and now only patches keeps its resource: nothing is
    # deleted
    former = [api_version, *former_api_versions] if theirs else former_api_versions
    if former:
        ours.aliases = [pulumi.Alias(type_=object_token(each, kind)) for each in former]
    if opts is not None and opts.parent is not None and opts.parent is not parent:
        message = (
            f"{kind} {_name(obj)!r}: opts.parent is {opts.parent.pulumi_resource_name!r}, but the "
            f"object is registered under {parent.pulumi_resource_name!r}; leave parent out of opts"
        )
        raise UsageError(message)
    merged_opts = child_options(parent, pulumi.ResourceOptions.merge(ours, opts))
    token = object_token(api_version, kind) + (_PATCH if theirs else "")
    return pulumi.CustomResource(token, child_name(parent, obj), properties, merged_opts)


def child_options(
    parent: pulumi.Resource, opts: pulumi.ResourceOptions | None
) -> pulumi.ResourceOptions:
    """The options with this parent, and the plugin of the installed SDK unless they name another version."""
    ours = pulumi.ResourceOptions(version=sdk_version("kubernetes"))
    merged_opts = pulumi.ResourceOptions.merge(ours, opts)
    return pulumi.ResourceOptions.merge(merged_opts, pulumi.ResourceOptions(parent=parent))


def register_objects(
    parent: pulumi.Resource,
    objects: Iterable[Mapping[str, Any]],
    opts: pulumi.ResourceOptions | None = None,
) -> list[pulumi.CustomResource]:
    """Register several Kubernetes objects under `parent`, in order, with the same options."""
    return [register_object(parent, obj, opts) for obj in objects]


def object_token(api_version: str, kind: str) -> str:
    """Return the type token by which the Kubernetes provider knows a kind of object."""
    group_version = api_version if "/" in api_version else f"core/{api_version}"
    return f"kubernetes:{group_version}:{kind}"


def child_name(parent: pulumi.Resource, obj: Mapping[str, Any]) -> str:
    """Return the resource name of an object under `parent`: `<parent>:<Kind>:<namespace>/<name>`.

    Neither a kind holds a colon nor a namespace a slash, so two objects never share a name (the
    provider's yaml.v2 names its children alike).
    """
    kind, name = _text(obj, "kind"), _name(obj)
    namespace = _metadata(obj).get("namespace")
    if namespace is not None and not isinstance(namespace, str):
        message = (
            f"{kind} {name!r}: metadata.namespace is given as {type(namespace).__name__}, "
            "allowed: plain text, because the resource's name contains it; to wait for a "
            "Namespace, add it to opts.depends_on"
        )
        raise UsageError(message)
    place = f"{namespace}/{name}" if namespace else name
    return f"{parent.pulumi_resource_name}:{kind}:{place}"


def _metadata(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = obj.get("metadata")
    return cast("Mapping[str, Any]", metadata) if isinstance(metadata, Mapping) else {}


def _name(obj: Mapping[str, Any]) -> str:
    return _text(_metadata(obj), "name", "metadata.name", obj.get("kind"))


def _text(
    values: Mapping[str, Any], key: str, shown: str | None = None, kind: object = None
) -> str:
    value = values.get(key)
    if isinstance(value, str) and value:
        return value
    given_type = "nothing" if value in (None, "") else type(value).__name__
    what = f"{kind} object" if isinstance(kind, str) else "Kubernetes object"
    message = (
        f"{what}: {shown or key} is given as {given_type}, allowed: plain text; the resource's "
        "type and name contain it, so it must be known before the deployment"
    )
    raise UsageError(message)
