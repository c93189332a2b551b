"""The operations on one Kubernetes object: Diff, Create, Read, Update and Delete, in plain values.

provider/pkg/provider/provider.go of the official provider is the model; messages have its texts.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from testbed.plugins.kubernetes import (
    awaiting,
    checking,
    checkpoint,
    force_new,
    normalize,
    pulumi_annotations,
    reading,
    rendering,
)
from testbed.plugins.kubernetes.cluster import Cluster
from testbed.plugins.kubernetes.diff import Comparison, prune
from testbed.plugins.kubernetes.engine import Log
from testbed.plugins.kubernetes.failures import (
    UNREACHABLE_DELETE,
    UNREACHABLE_READ,
    ApiError,
    NoSuchKind,
    NotReady,
    ProviderError,
    Unreachable,
    scrub,
)
from testbed.plugins.kubernetes.settings import Settings
from testbed.plugins.kubernetes.values import (
    Object,
    drop,
    has_unknown,
    manifest,
    mark_secrets,
    path,
    properties,
    secret_strings,
)
from testbed.plugins.kubernetes.writing import NamespaceMissing, Writer


@dataclass
class Partial(Exception):
    """The write succeeded but the object is not ready; the state must be kept."""

    message: str
    identity: str
    state: Object
    reasons: list[str] = field(default_factory=list)
    inputs: Object | None = None


@dataclass
class Changes:
    """The answer to Diff."""

    comparison: Comparison
    replaces: list[str]
    delete_first: bool


@dataclass
class Objects:
    """All operations against one configured provider."""

    settings: Settings
    log: Log
    stop: threading.Event
    namespace: str
    cluster: Cluster | None  # None if unknown or unreachable
    unreachable: str = ""

    def _reached(self) -> Cluster:
        if self.cluster is None:
            raise ProviderError(f"configured Kubernetes cluster is unreachable: {self.unreachable}")
        return self.cluster

    def _writer(self, urn: str, manager: str, *, preview: bool) -> Writer:
        cluster = self._reached()
        waiter = awaiting.Waiter(
            cluster,
            self.stop,
            say=lambda text: self.log.status(urn, text),
            warn=lambda text: self.log.warning(urn, text),
        )
        token = checking.Request(urn).token
        return Writer(cluster, self.settings, waiter, manager, preview, checking.is_patch(token))

    def _served(self, obj: Object) -> bool:
        """Whether the API server knows the kind; a CRD may come with the same update."""
        if self.cluster is None:
            return False
        try:
            self.cluster.kind_of(obj)
        except (NoSuchKind, ApiError, Unreachable):
            return False
        return True

    def renders_blindly(self, value: Object) -> bool:
        """Whether it is rendered to a file without knowing if its kind is namespaced."""
        return bool(self.settings.render_to) and not self._served(manifest(value))

    # Diff

    def diff(
        self, urn: str, state: Mapping[str, Any], inputs: Mapping[str, Any], ignored: list[str]
    ) -> Changes:
        """Compare the last known object, reduced to its old inputs, with the new inputs."""
        old_inputs, live = checkpoint.read(state)
        new = normalize.inputs(manifest(inputs))
        old = prune(live, normalize.inputs(old_inputs))
        drop(old, "metadata", "resourceVersion")
        self._same_namespace(old, new)
        if path(new, "metadata", "name") and path(live, "metadata", "name"):
            old.setdefault("metadata", {})["name"] = live["metadata"]["name"]
        for key in ("apiVersion", "kind"):
            old.setdefault(key, live.get(key, new.get(key)))
        fields = force_new.fields(
            {**new, "apiVersion": str(new.get("apiVersion")), "kind": str(new.get("kind"))},
            config_map_mutable=self.settings.config_map_mutable,
            secret_mutable=self.settings.secret_mutable,
        )
        comparison = Comparison(fields).compare(old, new, old)
        comparison.ignore(ignored)
        replaces = comparison.replaces + self._unready(urn, new, live)
        return Changes(comparison, replaces, bool(replaces) and _name_must_stay(live, new))

    def _same_namespace(self, old: Object, new: Object) -> None:
        """No namespace and `default` are the same; a cluster-wide kind has none."""
        namespaced = True
        if self.cluster is not None and self._served(new):
            namespaced = self.cluster.kind_of(new).namespaced
        for obj in (old, new):
            metadata = obj.get("metadata")
            if not isinstance(metadata, dict):
                continue
            if namespaced:
                metadata["namespace"] = metadata.get("namespace") or "default"
            else:
                metadata.pop("namespace", None)

    def _unready(self, urn: str, new: Object, live: Object) -> list[str]:
        """`pulumi.com/replaceUnready` on a Job that has not succeeded."""
        if not pulumi_annotations.is_true(new, pulumi_annotations.REPLACE_UNREADY):
            return []
        if self.cluster is None:
            self.log.warning(urn, "Cluster is unreachable, skipping replaceUnready check")
            return []
        if new.get("kind") != "Job":
            self.log.warning(urn, "replaceUnready annotation is not supported for this resource")
            return []
        try:
            current = self.cluster.get(live)
        except ProviderError:
            return []
        done = any(
            item.get("type") == "Complete" and item.get("status") == "True"
            for item in path(current, "status", "conditions", default=[]) or []
        )
        return [] if done else ['.metadata.annotations["pulumi.com/replaceUnready"]']

    # Create and Update

    def create(
        self, urn: str, value: Object, seconds: float, *, preview: bool
    ) -> tuple[str, Object]:
        """Returns the id and the state."""
        obj = manifest(value)
        if preview and (has_unknown(obj) or not self._served(obj)):
            return "", value
        manager = checkpoint.field_manager({}, obj)
        if self.settings.render_to:
            state = self._rendered(urn, obj, value, obj["apiVersion"], manager)
            return checkpoint.identity(obj), state
        writer = self._writer(urn, manager, preview=preview)
        secrets = secret_strings(value)
        try:
            live = writer.create(obj, seconds)
        except NotReady as error:
            state = checkpoint.write(obj, error.live, value, obj["apiVersion"], manager)
            message = (
                f'resource "{urn}" was successfully created, but the Kubernetes API server '
                f"reported that it failed to fully initialize or become live: {error}"
            )
            raise Partial(
                scrub(message, secrets), checkpoint.identity(error.live), state, error.reasons
            ) from error
        except NoSuchKind as error:
            raise ProviderError(
                f'creation of resource "{urn}" with kind {obj["apiVersion"]}/{obj["kind"]} failed '
                "because the "
                "Kubernetes API server reported that the apiVersion for this resource does not exist. "
                f"Verify that any required CRDs have been created: {error}"
            ) from error
        except ProviderError as error:
            if preview and _cannot_preview(error):
                return "", value
            message = f'resource "{urn}" was not successfully created by the Kubernetes API server: {error}'
            raise ProviderError(scrub(message, secrets)) from error
        if obj["kind"] == "CustomResourceDefinition":
            writer.cluster.forget()
        if preview:
            live.pop("status", None)
        state = checkpoint.write(obj, live, value, obj["apiVersion"], manager)
        return "" if preview else checkpoint.identity(live), state

    def _rendered(self, urn: str, obj: Object, value: Object, version: str, manager: str) -> Object:
        """Write the object's file, also in a preview that gets this far; the state is the file's content."""
        if secret_strings(value):
            file = rendering.place(obj, self.settings.render_to)
            self.log.warning(urn, f"rendered file {file} contains a secret value in plaintext")
        file = rendering.write(obj, self.settings.render_to)
        self.log.status(urn, f"rendered {file}")
        return checkpoint.write(obj, obj, value, version, manager)

    def update(
        self,
        urn: str,
        state: Object,
        value: Object,
        ignored: list[str],
        seconds: float,
        *,
        preview: bool,
    ) -> Object:
        """Returns the new state."""
        new = normalize.inputs(manifest(value))
        if preview and (has_unknown(new) or not self._served(new)):
            return value
        old_inputs, live = checkpoint.read(state)
        version = checkpoint.api_version(state, old_inputs)
        manager = checkpoint.field_manager(state, new)
        if self.settings.render_to:
            return self._rendered(urn, new, value, version, manager)
        writer = self._writer(urn, manager, preview=preview)
        secrets = secret_strings(value)
        try:
            current = writer.update(new, path(live, "metadata", "name"), ignored, seconds)
        except NotReady as error:
            retained = checkpoint.write(new, error.live, value, version, manager)
            identity = checkpoint.identity(error.live)
            message = (
                f'the Kubernetes API server reported that "{identity}" failed to fully initialize '
                f"or become live: {error}"
            )
            raise Partial(scrub(message, secrets), identity, retained, error.reasons) from error
        except ProviderError as error:
            if preview and isinstance(error, ApiError) and error.forbidden:
                return value
            raise self._update_failed(
                urn, error, new, live, value, version, manager, preview=preview
            ) from error
        return checkpoint.write(new, current, value, version, manager)

    def _update_failed(  # noqa: PLR0913  everything that the state is made of
        self,
        urn: str,
        error: ProviderError,
        new: Object,
        live: Object,
        value: Object,
        version: str,
        manager: str,
        *,
        preview: bool,
    ) -> Exception:
        secrets = secret_strings(value)
        if isinstance(error, NoSuchKind):
            return ProviderError(
                f'update of resource "{urn}" failed because the Kubernetes API server reported '
                "that the apiVersion for "
                f"this resource does not exist. Verify that any required CRDs have been created: {error}"
            )
        try:
            current = self._reached().get(live)
        except ProviderError as problem:
            text = f'update of resource "{urn}" failed: {error}\nunable to get cluster state: {problem}'
            return ProviderError(scrub(text, secrets))
        identity = checkpoint.identity(current)
        text = (
            f'the Kubernetes API server reported that "{identity}" failed to fully initialize '
            f"or become live: {error}"
        )
        if preview:
            return ProviderError(scrub(text, secrets))
        return Partial(
            scrub(text, secrets), identity, checkpoint.write(new, current, value, version, manager)
        )

    # Read and Delete

    def read(
        self, urn: str, identity: str, token: str, state: Object, inputs: Object
    ) -> tuple[Object, Object] | None:
        """The current state and inputs from the cluster; None when the object is gone."""
        if self.settings.render_to:
            return state, inputs
        if self.cluster is None:
            return self._read_unreachable(urn, state, inputs)
        namespace, name = checkpoint.parse_identity(identity)
        if not name:
            raise ProviderError(
                "failed to read resource because of a failure to parse resource name from "
                f"request ID: {identity}"
            )
        old_inputs, old_live = normalize.inputs(manifest(inputs)), checkpoint.read(state)[1]
        imported = not old_inputs.get("kind")
        expected = reading.wanted(old_inputs, old_live, token, namespace, name)
        try:
            live = self.cluster.get(expected, name)
        except NoSuchKind:
            return None
        except ApiError as error:
            if error.not_found:
                return None
            raise
        live_inputs = reading.imported(live) if imported else prune(live, expected)
        manager = checkpoint.field_manager(state, expected)
        retained = checkpoint.write(
            live_inputs, live, inputs, checkpoint.api_version(state, expected), manager
        )
        seen = properties(live_inputs)
        mark_secrets(seen, inputs)
        if not imported:
            try:
                awaiting.check_on_read(self.cluster, expected, live)
            except NotReady as error:
                raise Partial(str(error), identity, retained, error.reasons, seen) from error
        return retained, seen

    def _read_unreachable(
        self, urn: str, state: Object, inputs: Object
    ) -> tuple[Object, Object] | None:
        self.log.warning(urn, f"configured Kubernetes cluster is unreachable: {self.unreachable}")
        if self.settings.delete_unreachable:
            self.log.info(urn, _FORGETTING)
            return None
        if self.settings.skip_update_unreachable:
            return state, inputs
        raise ProviderError(UNREACHABLE_READ)

    def delete(self, urn: str, identity: str, state: Object, seconds: float) -> None:
        """Delete the object and wait until it is gone."""
        inputs, live = checkpoint.read(state)
        if self.settings.render_to:
            self.log.status(urn, f"deleted {rendering.remove(live, self.settings.render_to)}")
            return
        if self.cluster is None:
            self.log.warning(
                urn, f"configured Kubernetes cluster is unreachable: {self.unreachable}"
            )
            if self.settings.delete_unreachable:
                self.log.info(urn, _FORGETTING)
                return
            raise ProviderError(UNREACHABLE_DELETE)
        _, name = checkpoint.parse_identity(identity)
        manager = checkpoint.field_manager(state, inputs)
        try:
            self._writer(urn, manager, preview=False).delete(inputs, live, name, seconds)
        except NotReady as error:
            value = state.get(checkpoint.INPUTS) or {}
            version = checkpoint.api_version(state, inputs)
            retained = checkpoint.write(inputs, error.live, value, version, manager)
            raise Partial(str(error), identity, retained, error.reasons) from error


_FORGETTING = (
    "configured Kubernetes cluster is unreachable and the `deleteUnreachable` option is enabled. "
    "Deleting the unreachable resource from Pulumi state"
)


def _cannot_preview(error: ProviderError) -> bool:
    """Whether a dry run is not conclusive for the update: the inputs are used as the result."""
    if isinstance(error, NamespaceMissing | Unreachable):
        return True
    return isinstance(error, ApiError) and (
        error.forbidden or error.already_exists or error.dry_run_refused
    )


def _name_must_stay(live: Object, new: Object) -> bool:
    """The user chose the name and it does not change, so the old object must be deleted before the new one is created."""
    same = all(
        path(live, "metadata", key, default="default")
        == path(new, "metadata", key, default="default")
        for key in ("name", "namespace")
    )
    return (
        bool(path(new, "metadata", "name"))
        and not pulumi_annotations.is_true(new, pulumi_annotations.AUTONAMED)
        and same
    )
