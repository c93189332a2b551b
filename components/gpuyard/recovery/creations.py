"""Resources that the next `up` would create, and which of them already exist.

A Pulumi preview has the first, with names, parents and providers of any program. The cluster has the second.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from gpuyard.kubectl import parse_json_object, run_kubectl, run_mutating_kubectl
from gpuyard.recovery.stack import PulumiStack, plaintext_value
from gpuyard_core.errors import EnvironmentMissing
from gpuyard_core.names import KUEUE_API

_KUBERNETES = "kubernetes:"
_CHART = "kubernetes:helm.sh/"
_PATCH = "kubernetes:core/v1:NamespacePatch"


@dataclass(frozen=True, slots=True)
class Creation:
    """A resource that the next `up` would create."""

    urn: str
    parent: str = ""
    provider: str = ""
    """Its URN."""
    inputs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def token(self) -> str:
        """Its type without the parents' types."""
        return self.urn.split("::")[2].rpartition("$")[2]

    @property
    def name(self) -> str:
        """Its logical name."""
        return self.urn.split("::", 3)[3]

    @property
    def is_object(self) -> bool:
        """Whether it is a Kubernetes object, so that its namespace and name are known before creation."""
        named = isinstance(self.inputs.get("metadata"), Mapping)
        is_excluded = self.is_patch or self.token.startswith(_CHART)
        return named and self.token.startswith(_KUBERNETES) and not is_excluded

    @property
    def is_patch(self) -> bool:
        """Whether it patches an existing object, which can be repeated."""
        return self.token == _PATCH

    @property
    def place(self) -> tuple[str, str]:
        """Namespace, empty if cluster-scoped, and name."""
        meta = self.inputs["metadata"]
        return str(meta.get("namespace") or ""), str(meta.get("name") or "")

    @property
    def identity(self) -> str:
        """`namespace/name`: the provider's id of the object."""
        return "/".join(filter(None, self.place))

    @property
    def kind(self) -> str:
        """The kind for kubectl: `clusterqueue.kueue.x-k8s.io`."""
        group = str(self.inputs["apiVersion"]).rpartition("/")[0]
        return ".".join(filter(None, (str(self.inputs["kind"]).lower(), group)))

    def __str__(self) -> str:
        return f"{self.token.rpartition(':')[2]} {self.identity}"


GetLiveObject = Callable[[Creation], Mapping[str, Any] | None]
"""The live object, or None."""
ReleaseQuota = Callable[[Creation], str]
"""Deletes all workloads of a namespace; returns the error message or ""."""


def preview_creations(stack: PulumiStack) -> list[Creation]:
    """Resources to create, in the order of the program."""
    preview = stack.query("preview", "--json")
    try:
        steps: Sequence[Mapping[str, Any]] = json.loads(preview[preview.index("{") :])["steps"]
    except (ValueError, KeyError) as problem:
        raise EnvironmentMissing(
            f"pulumi preview --json returned no preview ({problem})"
        ) from problem
    return [
        creation_of({**step["newState"], "urn": step["urn"]})
        for step in steps
        if step["op"] == "create"
    ]


def creation_of(resource: Mapping[str, Any]) -> Creation:
    """A resource of a state."""
    return Creation(
        urn=resource["urn"],
        parent=resource.get("parent", ""),
        provider=str(resource.get("provider") or "").rpartition("::")[0],
        inputs=resource.get("inputs") or {},
    )


def kubectl_of(state: Mapping[str, Any]) -> GetLiveObject:
    """Look up objects with kubectl, with the kubeconfig of each object's provider in the state."""

    @cache
    def way_in(provider: str) -> tuple[str | None, str | None]:
        result = _access(state, provider)
        # an inaccessible object may exist
        if run_kubectl(*result, "get", "namespaces", "-o", "name") is None:
            raise EnvironmentMissing(
                f"kubectl cannot query the cluster of {provider.rpartition('::')[2]}, so gpuyard "
                "cannot tell which objects exist. Put kubectl on PATH, with the same cluster "
                "access as your `pulumi up`"
            )
        return result

    def live(one: Creation) -> Mapping[str, Any] | None:
        config, context = way_in(one.provider)
        namespace, name = one.place
        where = [one.kind, name, *(["-n", namespace] if namespace else [])]
        return parse_json_object(
            run_kubectl(config, context, "get", *where, "-o", "json", "--show-managed-fields")
        )

    return live


def quota_releaser(state: Mapping[str, Any]) -> ReleaseQuota:
    """Delete workloads with kubectl, with the access of `kubectl_of`."""
    kind = f"workloads.{KUEUE_API.partition('/')[0]}"
    way_in = cache(lambda provider: _access(state, provider))

    def free(one: Creation) -> str:
        where = (kind, "--all", "-n", one.place[1], "--wait=false")
        return run_mutating_kubectl(*way_in(one.provider), "delete", *where)

    return free


def _access(state: Mapping[str, Any], provider: str) -> tuple[str | None, str | None]:
    """Kubeconfig and context of a provider; None for the ambient ones."""
    results = (
        each.get("inputs") or {}
        for each in state.get("resources") or []
        if each["urn"] == provider and each["type"] == "pulumi:providers:kubernetes"
    )
    inputs = next(results, {})
    return plaintext_value(inputs.get("kubeconfig")), plaintext_value(inputs.get("context"))
