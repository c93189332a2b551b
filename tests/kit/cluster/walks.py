"""Updates from one stack to another on a real API server, like the engine and the kubernetes provider.

Objects in both are updated in place, new ones are created, and missing ones are deleted last. Namespaces
stay: their deletion takes long, and its effects are tested elsewhere.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from testbed.plugins.kubernetes.checkpoint import identity
from testbed.plugins.kubernetes.cluster import Cluster
from testbed.plugins.kubernetes.engine import Log
from testbed.plugins.kubernetes.failures import ProviderError
from testbed.plugins.kubernetes.objects import Objects, Partial
from testbed.plugins.kubernetes.settings import Settings, load_kubeconfig
from testbed.plugins.kubernetes.values import Object

from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import resolve_outputs
from gpuyard.render.platform import platform_objects
from gpuyard.resources.diagnosis.hooks import WEBHOOK
from gpuyard.resources.objects import object_token
from kit.cluster.lab import MADE_ELSEWHERE

SECONDS = 600
_Key = tuple[str, str, str]
_T = TypeVar("_T")


@dataclass
class Walker:
    """The state of one stack on one API server, and its updates from plan to plan."""

    provider: Objects
    adopting: Objects
    """The provider that adopts existing objects: namespaces of an earlier walk."""
    state: dict[_Key, Object] = field(default_factory=dict)
    order: list[_Key] = field(default_factory=list)
    """Order of the last stack's objects: dependents come after their dependencies, and are deleted before them."""

    @classmethod
    def on(cls, kubeconfig: Path) -> "Walker":
        """A walker without deployed objects; the provider has gpuyard's settings."""
        cluster = Cluster.connect(load_kubeconfig(str(kubeconfig)), None)

        def provider(*, upsert: bool) -> Objects:
            settings = Settings(patch_force=True, config_map_mutable=True, upsert=upsert)
            return Objects(settings, Log(None), threading.Event(), "default", cluster)

        return cls(provider(upsert=False), provider(upsert=True))

    def up(self, plan: PlatformPlan | None) -> list[str]:
        """Update to a plan, for None to nothing; returns rejected objects with the reason."""
        expected = {_key(each): each for each in _objects(plan)} if plan else {}
        refused = [
            message for key, each in expected.items() if (message := self._brought(key, each))
        ]
        removed = [
            key for key in reversed(self.order) if key not in expected and key[0] != "Namespace"
        ]
        self.order = list(expected)
        return refused + [message for key in removed if (message := self._removed(key))]

    def _brought(self, key: _Key, expected: Object) -> str:
        try:
            if (state := self.state.get(key)) is not None:
                changes = self.provider.diff(_urn(expected), state, expected, [])
                if not changes.comparison.found:
                    return ""
                if not changes.replaces:
                    self.state[key] = _answered(
                        lambda: self.provider.update(
                            _urn(expected), state, expected, [], SECONDS, preview=False
                        )
                    )
                    return ""
                self._removed(key)
            created = self.adopting if key[0] == "Namespace" else self.provider
            _, self.state[key] = _answered(
                lambda: created.create(_urn(expected), expected, SECONDS, preview=False)
            )
        except (ProviderError, Partial) as error:
            return _refused(key, error)
        return ""

    def _removed(self, key: _Key) -> str:
        if (state := self.state.pop(key, None)) is None:
            return ""  # it was rejected before
        try:
            _answered(lambda: self.provider.delete(_urn(state), identity(state), state, SECONDS))
        except (ProviderError, Partial) as error:
            return _refused(key, error)
        return ""


def _urn(expected: Object) -> str:
    token = object_token(expected["apiVersion"], expected["kind"])
    return f"urn:pulumi:dev::walk::{token}::{expected['metadata']['name']}"


def _answered(act: Callable[[], _T]) -> _T:
    """Retry while a webhook does not answer, like gpuyard's resource hooks."""
    for _ in range(WEBHOOK.tries - 1):
        try:
            return act()
        except ProviderError as error:
            if not WEBHOOK.pattern.search(str(error)):
                raise
            time.sleep(WEBHOOK.pause_seconds)
    return act()


def _refused(key: _Key, error: ProviderError | Partial) -> str:
    return f"{'/'.join(key)}: {error.message if isinstance(error, Partial) else error}"


def _objects(plan: PlatformPlan) -> list[Object]:
    """The registered objects, in order, without Kueue's configuration, which would restart Kueue."""
    known = resolve_outputs(platform_objects(plan), lambda _: "cluster")
    return [_unawaited(each) for each in known if each["metadata"]["name"] not in MADE_ELSEWHERE]


def _unawaited(obj: Object) -> Object:
    """A walk has no nodes, so no pod of a Deployment runs: apply it without waiting."""
    if obj["kind"] != "Deployment":
        return obj
    meta = obj["metadata"]
    notes = {**meta.get("annotations", {}), "pulumi.com/skipAwait": "true"}
    return {**obj, "metadata": {**meta, "annotations": notes}}


def _key(obj: Object) -> _Key:
    meta = obj["metadata"]
    return obj["kind"], meta.get("namespace", ""), meta["name"]
