"""Failures, with the texts of the official provider where it has some.

ProviderError
├── ApiError            the API server returned an error; carries its status
│   └── (helpers: not_found, conflict, …)
├── NoSuchKind          the API server serves no such kind
├── Unreachable         no answer at all
└── NotReady            the object exists but never became ready; carries its last state
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from testbed.plugins.kubernetes.values import Object, path

# The text of provider/pkg/await/await.go (Creation), which users search for.
ALREADY_EXISTS_HELP = """

The resource already exists in the cluster. This can happen when:

  - Renaming a Pulumi resource: use an alias to preserve the identity,
    or use deleteBeforeReplace if the resource needs replacement.
  - Managing an existing resource: use a Patch resource (e.g. NamespacePatch)
    to manage specific fields without owning the resource lifecycle.
  - Adopting a resource into Pulumi: use `pulumi import`. Note that
    protected resources (e.g. kube-system) cannot be deleted on destroy.
  - Intentional upsert: set upsertExistingObjects on the provider to allow
    server-side apply to update existing objects on create."""

# A shorter secret would remove ordinary letters from a message.
SHORTEST_SECRET = 3
UNREACHABLE_DELETE = (
    "configured Kubernetes cluster is unreachable. If the cluster was deleted, you can remove "
    "this resource from "
    "Pulumi state by rerunning the operation with the PULUMI_K8S_DELETE_UNREACHABLE environment "
    'variable set to "true"'
)
UNREACHABLE_READ = (
    "failed to read resource state due to unreachable cluster. If the cluster was deleted, you "
    "can remove this "
    "resource from Pulumi state by rerunning the operation with the "
    "PULUMI_K8S_DELETE_UNREACHABLE environment "
    'variable set to "true"'
)


class ProviderError(Exception):
    """A failure that is shown to the user without a traceback."""


class Unreachable(ProviderError):
    """The API server did not answer."""


class NoSuchKind(ProviderError):
    """The API server serves no such kind; usually its CRD is not installed yet."""

    def __init__(self, api_version: str, kind: str) -> None:
        super().__init__(f'no matches for kind "{kind}" in version "{api_version}"')


class ApiError(ProviderError):
    """An error response of the API server."""

    def __init__(self, code: int, status: Object, fallback: str) -> None:
        super().__init__(str(status.get("message") or fallback))
        self.code = code
        self.reason = str(status.get("reason", ""))
        self.status = status

    @property
    def not_found(self) -> bool:
        return self.code == HTTPStatus.NOT_FOUND

    @property
    def already_exists(self) -> bool:
        return self.code == HTTPStatus.CONFLICT and self.reason == "AlreadyExists"

    @property
    def conflict(self) -> bool:
        return self.code == HTTPStatus.CONFLICT and self.reason == "Conflict"

    @property
    def forbidden(self) -> bool:
        return self.code == HTTPStatus.FORBIDDEN

    @property
    def immutable(self) -> bool:
        return self.code == HTTPStatus.UNPROCESSABLE_ENTITY and "field is immutable" in str(self)

    @property
    def missing_namespace(self) -> bool:
        return self.not_found and path(self.status, "details", "kind") == "namespaces"

    @property
    def dry_run_refused(self) -> bool:
        return self.code == HTTPStatus.BAD_REQUEST and "does not support dry run" in str(self)


class NotReady(ProviderError):
    """The object exists but did not become ready; the engine records it and retries next time."""

    def __init__(self, message: str, live: Object, reasons: list[str] | None = None) -> None:
        super().__init__(message)
        self.live = live
        self.reasons = reasons or []


def cancelled(live: Object, reasons: list[str]) -> NotReady:
    """The text of provider/pkg/await/error.go, cancellationError."""
    return NotReady(
        f'Resource operation was cancelled for "{path(live, "metadata", "name")}"', live, reasons
    )


def timed_out(live: Object, reasons: list[str]) -> NotReady:
    """The text of provider/pkg/await/error.go, timeoutError."""
    return NotReady(
        f"'{path(live, 'metadata', 'name')}' timed out waiting to be Ready", live, reasons
    )


def failed_to_start(live: Object, reasons: list[str]) -> NotReady:
    """The text of provider/pkg/await/error.go, initializationError."""
    name = path(live, "metadata", "name")
    return NotReady(f"Resource '{name}' was created but failed to initialize", live, reasons)


def conflict(error: ApiError, manager: str) -> ProviderError:
    """The text of provider/pkg/await/await.go, handleSSAErr."""
    link = (
        "https://www.pulumi.com/registry/packages/kubernetes/how-to-guides/"
        "managing-resources-with-server-side-apply/#handle-field-conflicts-on-existing-resources"
    )
    return ProviderError(
        f"server-side apply field conflict detected, see {link} for troubleshooting help\n"
        f'The resource managed by field manager "{manager}" had an apply conflict: {error}'
    )


def scrub(message: str, secrets: set[str]) -> str:
    """Remove secret values from a message: the API server quotes what it rejects."""
    for text in sorted(secrets, key=len, reverse=True):
        if len(text) >= SHORTEST_SECRET:
            message = message.replace(text, "[secret]")
    return message


def names(obj: Any) -> str:
    """`Kind/name`, for messages."""
    return f"{path(obj, 'kind')}/{path(obj, 'metadata', 'name')}"
