"""What the next `up` would make, and which of it is there already.

The engine says the first, in a preview: names, parents and providers as the program has them, whatever the
program. The cluster says the second.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from gpuyard.errors import EnvironmentMissing
from gpuyard.kubectl import as_object, get_objects, patch_object
from gpuyard.names import KUEUE_API
from gpuyard.recovery.stack import PulumiStack, plaintext_value

_KUBERNETES = "kubernetes:"
_CHART = "kubernetes:helm.sh/"
_PATCH = "kubernetes:core/v1:NamespacePatch"


@dataclass(frozen=True, slots=True)
class Creation:
    """A resource that the next `up` would make."""

    urn: str
    parent: str = ""
    provider: str = ""
    """Its URN."""
    inputs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def token(self) -> str:
        """Its own type, without its parents'."""
        return self.urn.split("::")[2].rpartition("$")[2]

    @property
    def name(self) -> str:
        """Its logical name."""
        return self.urn.split("::", 3)[3]

    @property
    def is_object(self) -> bool:
        """Whether it is an object of a cluster, and so has a place there before it is made."""
        named = isinstance(self.inputs.get("metadata"), Mapping)
        is_excluded = self.is_patch or self.token.startswith(_CHART)
        return named and self.token.startswith(_KUBERNETES) and not is_excluded

    @property
    def is_patch(self) -> bool:
        """Whether it is fields of an object that another made: they can be written twice."""
        return self.token == _PATCH

    @property
    def place(self) -> tuple[str, str]:
        """Namespace, empty where there is none, and name."""
        meta = self.inputs["metadata"]
        return str(meta.get("namespace") or ""), str(meta.get("name") or "")

    @property
    def identity(self) -> str:
        """`namespace/name`: how the provider knows the object."""
        return "/".join(filter(None, self.place))

    @property
    def kind(self) -> str:
        """As kubectl takes it: `clusterqueue.kueue.x-k8s.io`."""
        group = str(self.inputs["apiVersion"]).rpartition("/")[0]
        return ".".join(filter(None, (str(self.inputs["kind"]).lower(), group)))

    def __str__(self) -> str:
        return f"{self.token.rpartition(':')[2]} {self.identity}"


GetLiveObject = Callable[[Creation], Mapping[str, Any] | None]
"""The live object, or None."""
ReleaseQuota = Callable[[Creation], str]
"""Delete all workloads of a namespace; what was said against it."""


def creations(stack: PulumiStack) -> list[Creation]:
    """In the order in which the program has them."""
    preview = stack.query("preview", "--json")
    try:
        steps: Sequence[Mapping[str, Any]] = json.loads(preview[preview.index("{") :])["steps"]
    except (ValueError, KeyError) as problem:
        raise EnvironmentMissing(f"pulumi preview --json gave no preview ({problem})") from problem
    return [_creation(step) for step in steps if step["op"] == "create"]


def _creation(step: Mapping[str, Any]) -> Creation:
    state = step["newState"]
    provider = str(state.get("provider") or "").rpartition("::")[0]
    return Creation(
        urn=step["urn"],
        parent=state.get("parent", ""),
        provider=provider,
        inputs=state.get("inputs") or {},
    )


def kubectl_of(state: Mapping[str, Any]) -> GetLiveObject:
    """A look with kubectl, by the way in that the provider of each object has in the state."""

    @cache
    def way_in(provider: str) -> tuple[str | None, str | None]:
        result = _access(state, provider)
        # what cannot be seen is not what is not there
        if get_objects(*result, "namespaces", "-o", "name") is None:
            raise EnvironmentMissing(
                f"kubectl cannot look at the cluster of {provider.rpartition('::')[2]}: nobody can say what "
                "is there already. Put kubectl on PATH, with the way in that your `pulumi up` has"
            )
        return result

    def live(one: Creation) -> Mapping[str, Any] | None:
        config, context = way_in(one.provider)
        namespace, name = one.place
        where = [one.kind, name, *(["-n", namespace] if namespace else [])]
        return as_object(
            get_objects(config, context, *where, "-o", "json", "--show-managed-fields")
        )

    return live


def quota_releaser(state: Mapping[str, Any]) -> ReleaseQuota:
    """With kubectl, as `kubectl_of` looks."""
    kind = f"workloads.{KUEUE_API.partition('/')[0]}"
    way_in = cache(lambda provider: _access(state, provider))

    def free(one: Creation) -> str:
        where = (kind, "--all", "-n", one.place[1], "--wait=false")
        return patch_object(*way_in(one.provider), "delete", *where)

    return free


def _access(state: Mapping[str, Any], provider: str) -> tuple[str | None, str | None]:
    """Kubeconfig and context of a provider; None where the ambient ones are meant."""
    results = (
        each.get("inputs") or {}
        for each in state.get("resources") or []
        if each["urn"] == provider and each["type"] == "pulumi:providers:kubernetes"
    )
    provider_inputs = next(results, {})
    return plaintext_value(provider_inputs.get("kubeconfig")), plaintext_value(
        provider_inputs.get("context")
    )
