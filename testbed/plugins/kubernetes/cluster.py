"""The API server: discovery, and the six verbs on plain JSON objects.

The `kubernetes` package handles difficult kubeconfigs (see connection.py). Its dynamic client is not
used: it downloads all of discovery at start and keeps it in a file under /tmp that outlives the cluster
it describes.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

import urllib3

from testbed.plugins.kubernetes import connection
from testbed.plugins.kubernetes.connection import Connection
from testbed.plugins.kubernetes.failures import ApiError, NoSuchKind, Unreachable
from testbed.plugins.kubernetes.values import Object, path

CONNECT_SECONDS = 10.0
# An admission webhook may take 30 s and there may be two.
READ_SECONDS = 75.0
ATTEMPTS = 10
LONGEST_WAIT_SECONDS = 10.0
SERVER_ERRORS = 500
APPLY = "application/apply-patch+yaml"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"


@dataclass(frozen=True)
class Kind:
    """How the API server serves a kind."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool

    def url(self, namespace: str | None, name: str | None = None) -> str:
        root = "/api/" if "/" not in self.api_version else "/apis/"
        parts = [root + self.api_version]
        if self.namespaced:
            parts.append(f"namespaces/{quote(namespace or 'default')}")
        parts.append(self.plural)
        if name:
            parts.append(quote(name))
        return "/".join(parts)


class Cluster:
    """One API server. Safe to use from many threads."""

    def __init__(self, connection: Connection, read_seconds: float = READ_SECONDS) -> None:
        self._connection = connection
        self._kinds: dict[str, dict[str, Kind]] = {}
        self._lock = threading.Lock()
        self._read_seconds = read_seconds

    @classmethod
    def connect(
        cls, kubeconfig: Object | None, context: str | None, read_seconds: float | None = None
    ) -> Cluster:
        """The API server of a kubeconfig, else of the ambient one. Makes no request."""
        return cls(connection.connect(kubeconfig, context), read_seconds or READ_SECONDS)

    def request(
        self,
        method: str,
        url: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        query: Mapping[str, str] | None = None,
    ) -> Object:
        """One request; every failure is an ApiError or Unreachable."""
        headers = {
            "Accept": "application/json",
            "Content-Type": content_type,
            "User-Agent": "pulumi-kubernetes",
        }
        if shown := self._connection.authorization():
            headers["Authorization"] = shown
        target = self._connection.host + url + (f"?{urlencode(query)}" if query else "")
        sent = None if body is None else json.dumps(body).encode()
        response = self._send(method, target, sent, headers)
        for _ in range(ATTEMPTS - 1):
            if (wait := _told_to_wait(response)) is None:
                break
            time.sleep(wait)
            response = self._send(method, target, sent, headers)
        return _answer(response.status, response.data)

    def _send(
        self, method: str, target: str, body: bytes | None, headers: dict[str, str]
    ) -> urllib3.BaseHTTPResponse:
        # A connection that the server closed while it was idle must not fail a read.
        retries = urllib3.Retry(total=2, connect=0, status=0) if method == "GET" else False
        try:
            return self._connection.pool.request(
                method,
                target,
                body=body,
                headers=headers,
                retries=retries,
                timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=self._read_seconds),
            )
        except urllib3.exceptions.HTTPError as error:
            raise Unreachable(f"{method} {target}: {_reason(error)}") from error

    def check(self) -> None:
        """Request the core resources, to detect a dead or wrong server before planning."""
        try:
            self._discover("v1")
        except ApiError as error:
            raise Unreachable(str(error)) from error

    def kind(self, api_version: str, kind: str) -> Kind:
        """How this kind is served; raises NoSuchKind."""
        with self._lock:
            known = self._kinds.get(api_version, {}).get(kind)
        if known:
            return known
        # Requested again each time it is missing: the CRD may just have been created.
        try:
            return self._discover(api_version)[kind]
        except KeyError:
            raise NoSuchKind(api_version, kind) from None
        except ApiError as error:
            if error.not_found:
                raise NoSuchKind(api_version, kind) from None
            raise

    def _discover(self, api_version: str) -> dict[str, Kind]:
        root = "/api/" if "/" not in api_version else "/apis/"
        results = {
            item["kind"]: Kind(api_version, item["kind"], item["name"], item["namespaced"])
            for item in self.request("GET", root + api_version).get("resources", [])
            if "/" not in item["name"]
        }
        with self._lock:
            self._kinds[api_version] = results
        return results

    def forget(self) -> None:
        """Drop cached kinds after a CRD changed."""
        with self._lock:
            self._kinds.clear()

    def kind_of(self, obj: Object) -> Kind:
        return self.kind(obj["apiVersion"], obj["kind"])

    def get(self, obj: Object, name: str | None = None) -> Object:
        kind = self.kind_of(obj)
        return self.request("GET", kind.url(_namespace(obj), name or _name(obj)))

    def list(self, api_version: str, kind: str, namespace: str | None) -> list[Object]:
        served = self.kind(api_version, kind)
        items = self.request("GET", served.url(namespace)).get("items", [])
        return [{"apiVersion": api_version, "kind": kind, **item} for item in items]

    def create(self, obj: Object, query: Mapping[str, str]) -> Object:
        kind = self.kind_of(obj)
        return self.request("POST", kind.url(_namespace(obj)), obj, query=query)

    def replace(self, obj: Object, query: Mapping[str, str]) -> Object:
        kind = self.kind_of(obj)
        return self.request("PUT", kind.url(_namespace(obj), _name(obj)), obj, query=query)

    def patch(self, obj: Object, body: Any, content_type: str, query: Mapping[str, str]) -> Object:
        kind = self.kind_of(obj)
        return self.request(
            "PATCH",
            kind.url(_namespace(obj), _name(obj)),
            body,
            content_type=content_type,
            query=query,
        )

    def delete(self, obj: Object, name: str, propagation: str) -> Object:
        kind = self.kind_of(obj)
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
        return self.request("DELETE", kind.url(_namespace(obj), name), body)


def _reason(error: BaseException) -> str:
    """The reason from the operating system, such as `Connection refused`; without one the whole text."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    return str(error)


def _told_to_wait(response: urllib3.BaseHTTPResponse) -> float | None:
    """The Retry-After seconds of an overloaded server; client-go respects the same header."""
    requested = response.headers.get("Retry-After", "")
    busy = response.status == HTTPStatus.TOO_MANY_REQUESTS or response.status >= SERVER_ERRORS
    return min(float(requested), LONGEST_WAIT_SECONDS) if busy and requested.isdigit() else None


def _answer(code: int, data: bytes) -> Object:
    try:
        body = json.loads(data)
    except ValueError:
        body = {}
    if not isinstance(body, dict):
        body = {}
    if code >= HTTPStatus.BAD_REQUEST:
        raise ApiError(
            code, body, f"the API server answered {code}: {data[:300].decode(errors='replace')}"
        )
    return body


def _namespace(obj: Object) -> str | None:
    result = path(obj, "metadata", "namespace")
    return None if result is None else str(result)


def _name(obj: Object) -> str:
    return str(path(obj, "metadata", "name"))
