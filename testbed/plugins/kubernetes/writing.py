"""Create, update and delete objects on the API server: provider/pkg/await/await.go of the official provider.

An object is first created by a plain POST with the field manager `pulumi-kubernetes`, so that an
existing one is rejected; from the first update on it is applied, and that manager's fields move to the
resource's own manager.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from testbed.plugins.kubernetes import failures, pulumi_annotations
from testbed.plugins.kubernetes.awaiting import Waiter
from testbed.plugins.kubernetes.cluster import APPLY, JSON_PATCH, Cluster
from testbed.plugins.kubernetes.failures import ApiError, NoSuchKind, ProviderError
from testbed.plugins.kubernetes.settings import Settings
from testbed.plugins.kubernetes.values import Object, clone, path

CREATOR = "pulumi-kubernetes"
# Retried because an object may be created before its namespace or CRD: after 1, 2, 4, 8 and 16 s.
# A test with such an object may need a shorter pause.
_FIRST_PAUSE = float(os.environ.get("GPUYARD_CREATE_PAUSE", "1"))
CREATE_PAUSES = tuple(_FIRST_PAUSE * 2**number for number in range(5))
# Managers whose fields an update takes over without conflict; fixCSAFieldManagers, matched by prefix.
_TAKEN_OVER = (
    ("kubectl", "Apply"),
    ("kubectl", "Update"),
    ("before-first-apply", "Update"),
    ("pulumi-kubernetes", "Update"),
    ("pulumi-resource-kubernetes", "Update"),
)
_OWN_CREATORS = {"pulumi-resource-kubernetes", "pulumi-kubernetes", "pulumi-kubernetes.exe"}


class NamespaceMissing(ProviderError):
    """The server cannot preview the object because the same update creates its namespace."""


@dataclass
class Writer:
    """One write to one object."""

    cluster: Cluster
    settings: Settings
    waiter: Waiter
    manager: str
    preview: bool = False
    patch: bool = False
    """For a `*Patch` resource: another owner has the object, and only the given fields belong to this resource."""

    @property
    def _query(self) -> dict[str, str]:
        # Unknown fields are rejected, where the official provider lets the server drop them: see
        # README.md.
        query = {"fieldValidation": "Strict"}
        return {**query, "dryRun": "All"} if self.preview else query

    def create(self, obj: Object, seconds: float) -> Object:
        """Create the object and wait until it is ready."""
        first = self._retried(
            lambda: self._upsert(obj) if self.settings.upsert or self.patch else self._post(obj)
        )
        return first if self.preview else self.waiter.until_ready(obj, first, None, seconds)

    def _post(self, obj: Object) -> Object:
        try:
            return self.cluster.create(obj, {**self._query, "fieldManager": CREATOR})
        except ApiError as error:
            if error.already_exists and not self.preview:
                raise ProviderError(f"{error}{failures.ALREADY_EXISTS_HELP}") from error
            raise

    def _upsert(self, obj: Object) -> Object:
        force = self._force(obj, None)
        try:
            return self._apply(obj, force=force)
        except ApiError as error:
            if self.preview and error.immutable:
                # A dry run cannot replace; with another name the server validates the rest.
                renamed = clone(obj)
                renamed["metadata"]["name"] += "-preview"
                return self._apply(renamed, force=force)
            raise

    def _apply(self, obj: Object, *, force: bool) -> Object:
        query = {**self._query, "fieldManager": self.manager, "force": str(force).lower()}
        try:
            return self.cluster.patch(obj, obj, APPLY, query)
        except ApiError as error:
            if error.conflict:
                raise failures.conflict(error, self.manager) from error
            raise

    def _retried(self, attempt: Callable[[], Object]) -> Object:
        for number, pause in enumerate((*CREATE_PAUSES, None)):
            try:
                return attempt()
            except (ApiError, NoSuchKind) as error:
                if isinstance(error, ApiError) and error.missing_namespace and self.preview:
                    raise NamespaceMissing(str(error)) from error
                again = isinstance(error, NoSuchKind) or error.not_found
                if not again or pause is None or self.preview or self.waiter.stop.is_set():
                    raise
                self.waiter.say(f"Retry #{number}; creation failed: {error}")
                if self.waiter.stop.wait(pause):
                    raise
        raise AssertionError  # the last pause is None, which raises

    def update(self, obj: Object, old_name: str, ignored: list[str], seconds: float) -> Object:
        """Update the object to its new inputs and wait until it is ready."""
        before = self.cluster.get(obj, old_name)
        if obj["kind"] == "CustomResourceDefinition":
            obj = clone(obj)
            obj["metadata"]["resourceVersion"] = path(before, "metadata", "resourceVersion")
            first = self.cluster.replace(obj, {**self._query, "fieldManager": self.manager})
            self.cluster.forget()
        else:
            before = self._take_over(before)
            body = _with_ignored(obj, before, ignored, self.manager)
            first = self._apply(body, force=self._force(obj, before))
        return first if self.preview else self.waiter.until_ready(obj, first, before, seconds)

    def _force(self, obj: Object, live: Object | None) -> bool:
        """Whether to overwrite the fields of other managers: patchForce."""
        if (
            pulumi_annotations.is_true(obj, pulumi_annotations.PATCH_FORCE)
            or self.settings.patch_force
        ):
            return True
        managed = path(live, "metadata", "managedFields", default=[]) or []
        if self.preview and live is None:
            return True
        if self.preview and any(
            m.get("operation") == "Update" and m.get("manager") in _OWN_CREATORS for m in managed
        ):
            return True
        return live is not None and not managed

    def _take_over(self, live: Object) -> Object:
        """Move the fields of earlier Pulumi managers, and of kubectl, to this resource's manager."""
        managed = path(live, "metadata", "managedFields", default=[]) or []
        # In an object of another owner, only the applied fields belong to this resource.
        if self.preview or self.patch or not managed:
            return live
        patched = _replace_managers(managed, self.manager)
        if patched is None:
            return live
        operations = [{"op": "replace", "path": "/metadata/managedFields", "value": patched}]
        return self.cluster.patch(live, operations, JSON_PATCH, {})

    def delete(self, inputs: Object, live: Object, name: str, seconds: float) -> None:
        """Delete the object and wait until it is gone. A missing object or kind counts as deleted."""
        try:
            if self.patch:
                self._relinquish(live, name)
                return
            self.cluster.delete(live, name, pulumi_annotations.propagation(inputs))
        except NoSuchKind:
            return
        except ApiError as error:
            if error.not_found:
                return
            raise
        if not pulumi_annotations.skips_await_on_delete(inputs):
            self.waiter.until_gone(inputs, live, name, seconds)

    def _relinquish(self, live: Object, name: str) -> None:
        """Give up all fields of this resource; those without another manager are removed, and the object stays.

        A missing object is created again, like officially where its kind needs only a name: Relinquish of
        provider/pkg/ssa/ssa.go applies without checking first.
        """
        retained = {"apiVersion": live["apiVersion"], "kind": live["kind"]}
        metadata = {"name": name, "namespace": path(live, "metadata", "namespace")}
        query = {"fieldManager": self.manager, "force": "true"}
        messages = {key: value for key, value in metadata.items() if value}
        self.cluster.patch(live, {**retained, "metadata": messages}, APPLY, query)


def _replace_managers(managed: list[Object], manager: str) -> list[Object] | None:
    """The managed fields with the taken-over entries merged into those of this manager; None when there are none."""

    def ours(entry: Object) -> bool:
        return entry.get("manager") == manager and entry.get("operation") == "Apply"

    def taken(entry: Object) -> bool:
        name, operation = str(entry.get("manager")), entry.get("operation")
        return not entry.get("subresource") and any(
            name.startswith(prefix) and operation == expected for prefix, expected in _TAKEN_OVER
        )

    moved = [entry for entry in managed if taken(entry) and not ours(entry)]
    if not moved:
        return None
    base = clone(next((entry for entry in managed if ours(entry)), moved[0]))
    base.update(
        manager=manager, operation="Apply", time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    )
    for entry in moved:
        base["fieldsV1"] = _union(base.get("fieldsV1") or {}, entry.get("fieldsV1") or {})
    return [entry for entry in managed if entry not in moved and not ours(entry)] + [base]


def _union(remaining: Object, right: Object) -> Object:
    merged = dict(remaining)
    for key, value in right.items():
        merged[key] = _union(merged[key], value) if key in merged else value
    return merged


def _with_ignored(obj: Object, live: Object, ignored: list[str], manager: str) -> Object:
    """Keep the live values of the paths in `ignoreChanges`: handleSSAIgnoreFields."""
    body: Object = clone(obj)
    for pattern in ignored:
        keys = [
            quoted or plain for quoted, plain in re.findall(r'\["([^"]*)"\]|([^.\[\]]+)', pattern)
        ]
        holders = _managers(live, keys)
        result = path(live, *keys, default=None)
        if holders and manager not in holders:
            _set(body, keys, None)
        elif result is not None:
            _set(body, keys, result)
    return body


def _managers(live: Object, keys: list[str]) -> set[str]:
    """The managers of the field at this path."""
    holders = set()
    for entry in path(live, "metadata", "managedFields", default=[]) or []:
        if path(entry.get("fieldsV1") or {}, *(f"f:{key}" for key in keys)) is not None:
            holders.add(str(entry.get("manager")))
    return holders


def _set(body: Object, keys: list[str], value: Any) -> None:
    """Set the value at a path of mapping keys, or remove it when it is None."""
    holder = body
    for key in keys[:-1]:
        if value is None and not isinstance(holder.get(key), dict):
            return
        holder = holder.setdefault(key, {})
    if value is None:
        holder.pop(keys[-1], None)
    else:
        holder[keys[-1]] = value
