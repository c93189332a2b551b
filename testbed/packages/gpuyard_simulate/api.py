"""A small client for a Kubernetes API server: JSON in, JSON out.

The official client's generated models cost start-up time and memory in every fake process and add
nothing to the dictionaries of a manifest. Requests go through urllib3, which handles
certificates, pooling and streaming.
"""

import base64
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import urllib3
import yaml

from gpuyard_core.errors import EnvironmentMissing

ApiObject = dict[str, Any]
MANAGER: Final = "gpuyard-sim"
# A refused connection is known at once; a busy machine takes seconds to exchange certificates.
CONNECT_SECONDS: Final = 15
# Deleting a hundred jobs in one request takes a busy machine more than fifteen seconds.
TIMEOUT: Final = urllib3.Timeout(connect=CONNECT_SECONDS, read=60)
PROBE: Final = urllib3.Timeout(connect=CONNECT_SECONDS, read=15)
WATCH_SECONDS: Final = 240
# As client-go has it: maximum number of Retry-After answers, and the longest single wait.
ATTEMPTS: Final = 10
LONGEST_PAUSE: Final = 10.0
# A namespace's quota is one object: of many concurrent creations in it, some must be retried.
RACED_PAUSE: Final = 0.2

UNTYPED = "failed to create typed patch object"


class ApiError(Exception):
    """The API server rejected the request; `status` is the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status

    @property
    def is_retryable(self) -> bool:
        """Whether the same request may succeed later: overload, or a backend that does not answer yet.

        An apply with a field that its kind does not have also returns 500, permanently.
        """
        if UNTYPED in str(self):
            return False
        return self.status == 429 or self.status >= 500  # noqa: PLR2004  too many requests; errors of servers


class Unreachable(Exception):
    """No answer."""


class Api:
    """One API server, as the user of a kubeconfig."""

    def __init__(self, server: str, token: str, certificate: str) -> None:
        self.server = server
        self.certificate = certificate
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self._pool = urllib3.PoolManager(
            ca_cert_data=certificate, retries=False, timeout=TIMEOUT, maxsize=8
        )

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        kind: str = "application/json",
        timeout: urllib3.Timeout = TIMEOUT,
    ) -> ApiObject:
        """One request; returns the answer as a dictionary. A request with Retry-After is repeated.

        Raises:
            ApiError: the server rejected the request.
            Unreachable: no server.
        """
        data = None if body is None else json.dumps(body).encode()
        answer = self._send(method, path, data, kind, timeout)
        for _ in range(ATTEMPTS - 1):
            if (pause := _pause(method, data, answer)) is None:
                break
            time.sleep(pause)
            answer = self._send(method, path, data, kind, timeout)
        if answer.status >= 400:  # noqa: PLR2004  the first error status of HTTP
            raise ApiError(answer.status, _message(answer.data))
        text = answer.data
        return json.loads(text) if text.startswith(b"{") else {"text": text.decode()}

    def _send(
        self, method: str, path: str, data: bytes | None, kind: str, timeout: urllib3.Timeout
    ) -> urllib3.BaseHTTPResponse:
        try:
            try:
                return self._requested(method, path, data, kind, timeout)
            except urllib3.exceptions.ProtocolError:
                # A read must not fail because the server closed an idle connection.
                if method != "GET":
                    raise
                return self._requested(method, path, data, kind, timeout)
        except urllib3.exceptions.HTTPError as problem:
            raise Unreachable(str(problem)) from problem

    def _requested(
        self, method: str, path: str, data: bytes | None, kind: str, timeout: urllib3.Timeout
    ) -> urllib3.BaseHTTPResponse:
        return self._pool.request(
            method,
            self.server + path,
            body=data,
            headers={**self._headers, "Content-Type": kind},
            timeout=timeout,
        )

    def get(self, path: str) -> ApiObject | None:
        """An object, or None when there is none (or no such kind)."""
        try:
            return self.call("GET", path)
        except ApiError as problem:
            if problem.status == 404:  # noqa: PLR2004
                return None
            raise

    def apply(self, manifest: ApiObject) -> ApiObject:
        """Server-side apply, as the simulated cluster's own field manager."""
        query = f"?fieldManager={MANAGER}&force=true"
        return self.call(
            "PATCH", path_of(manifest) + query, manifest, "application/apply-patch+yaml"
        )

    def patch(self, path: str, change: ApiObject) -> ApiObject:
        """Merge patch: None removes."""
        query = f"?fieldManager={MANAGER}"
        return self.call("PATCH", path + query, change, "application/merge-patch+json")

    def watch(self, path: str, version: str, where: str = "") -> Iterator[tuple[str, ApiObject]]:
        """Changes since a version, until the server ends the stream; `where`: a field selector."""
        query = f"?watch=1&resourceVersion={version}&timeoutSeconds={WATCH_SECONDS}&allowWatchBookmarks=true"
        query += f"&fieldSelector={where}" if where else ""
        try:
            answer = self._pool.request(
                "GET",
                self.server + path + query,
                headers=self._headers,
                preload_content=False,
                timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=WATCH_SECONDS + 30),
            )
            if answer.status >= 400:  # noqa: PLR2004
                raise ApiError(answer.status, _message(answer.data))
            rest = b""
            for block in answer.stream(65536):
                *lines, rest = (rest + block).split(b"\n")
                for line in lines:
                    event = json.loads(line)
                    yield event["type"], event["object"]
        except urllib3.exceptions.HTTPError as problem:
            raise Unreachable(str(problem)) from problem

    def is_ready(self) -> bool:
        """Whether the server reports that it is ready."""
        try:
            self.call("GET", "/readyz", timeout=PROBE)
        except (ApiError, Unreachable):
            return False
        return True


def merge_if_exists(api: Api, path: str, change: ApiObject) -> None:
    """Merge patch; an object that is gone needs none."""
    try:
        api.patch(path, change)
    except ApiError as problem:
        if problem.status != 404:  # noqa: PLR2004
            raise


def plural_of(kind: str) -> str:
    """The plural of a kind as Kubernetes and most projects build it; others would need discovery."""
    name = kind.lower()
    if name.endswith("y"):
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith("s") else f"{name}s"


def path_of(manifest: ApiObject) -> str:
    """The path of an object from its manifest."""
    version, kind, metadata = manifest["apiVersion"], manifest["kind"], manifest["metadata"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    inside = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
    return f"{root}{inside}/{plural_of(kind)}/{metadata['name']}"


def connect(kubeconfig: Path) -> Api:
    """The API server of a kubeconfig of the simulated cluster.

    Raises:
        EnvironmentMissing: the file does not exist or is not such a kubeconfig.
    """
    try:
        result = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
        cluster = result["clusters"][0]["cluster"]
        certificate = base64.b64decode(cluster["certificate-authority-data"]).decode()
        return Api(cluster["server"], result["users"][0]["user"]["token"], certificate)
    except (OSError, yaml.YAMLError, KeyError, IndexError, TypeError, ValueError) as problem:
        raise EnvironmentMissing(
            f"{kubeconfig} is not the kubeconfig of a simulated cluster ({problem});"
            " run `python -m gpuyard_simulate up` to create one"
        ) from problem


def wait_until_ready(api: Api, seconds: float) -> bool:
    """Wait until the server is ready."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if api.is_ready():
            return True
        time.sleep(0.1)
    return False


def _pause(method: str, sent: bytes | None, answer: urllib3.BaseHTTPResponse) -> float | None:
    """Seconds until the same request may succeed, if it may.

    An overloaded server sends Retry-After; client-go respects the same header. A creation, or a change
    without a version, cannot be outdated: a conflict comes from another object changed at the same
    moment. Fields of other managers are kept.
    """
    retry_after = answer.headers.get("Retry-After", "")
    busy = answer.status == 429 or answer.status >= 500  # noqa: PLR2004  as of ApiError.may_pass
    if busy and retry_after.isdigit():
        return min(float(retry_after), LONGEST_PAUSE)
    if answer.status != 409 or method not in {"POST", "PATCH"}:  # noqa: PLR2004  a conflict
        return None
    versioned = method == "PATCH" and b'"resourceVersion"' in (sent or b"")
    return None if versioned or not _is_raced(answer.data) else RACED_PAUSE


def _is_raced(data: bytes) -> bool:
    """Whether another writer was faster, and no other manager owns the requested fields."""
    try:
        return json.loads(data).get("reason") == "Conflict" and b"FieldManagerConflict" not in data
    except (ValueError, AttributeError):  # not JSON, or not an object
        return False


def _message(data: bytes) -> str:
    try:
        return str(json.loads(data).get("message", ""))
    except (ValueError, AttributeError):  # not JSON, or not an object
        return data.decode(errors="replace")[:500]
