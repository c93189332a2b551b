"""JSON over HTTP: one server, one persistent connection, errors with their cause; the calls of the API server."""

import http.client
import json
import ssl
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

Object = Mapping[str, Any]
PAGE = 500
"""Objects per page of a list."""
NOT_FOUND = 404
EXISTS = 409
"""On creation: it already exists. On a patch: it has changed since it was read."""

SECONDS = 30
"""Timeout of one answer. A scheduled job has less than five minutes in total."""
FIRST_ERROR = 400
_HUNG_UP = (BrokenPipeError, ConnectionResetError)
"""The server closed the connection; includes http.client's RemoteDisconnected."""


class Unreachable(Exception):
    """No answer, or no JSON."""


class RequestRejected(Exception):
    """The server rejected the request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class JsonClient:
    """One server, such as http://127.0.0.1:9090."""

    def __init__(self, url: str, token: str = "", authority: str | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise Unreachable(f"{url!r} is not an address such as http://HOST:PORT")
        self.url = url.rstrip("/")
        self._prefix = parts.path.rstrip("/")
        self._headers = {"Accept": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._line: http.client.HTTPConnection
        if parts.scheme == "https":
            context = _trusted(authority)
            self._line = http.client.HTTPSConnection(
                parts.hostname, parts.port, timeout=SECONDS, context=context
            )
        else:
            self._line = http.client.HTTPConnection(parts.hostname, parts.port, timeout=SECONDS)

    def close(self) -> None:
        """Close the connection."""
        self._line.close()

    def request_json(
        self, method: str, path: str, body: str | None = None, kind: str = "", *, accept: str = ""
    ) -> Any:
        """The answer to one request.

        A persistent connection may have been closed meanwhile, which shows on sending or on reading, so a
        request is tried twice. All requests are safe to repeat: a patch names the version it changes, and
        created objects have fixed names.

        Raises:
            RequestRejected: the server rejected the request.
            Unreachable: no server, or no JSON.
        """
        headers = dict(self._headers)
        headers |= {"Content-Type": kind} if kind else {}
        headers |= {"Accept": accept} if accept else {}
        exchange = partial(self._exchange, method, path, body, headers)
        try:
            try:
                status, data = exchange()
            except _HUNG_UP:
                status, data = exchange()
        except _HUNG_UP as problem:
            raise Unreachable(f"{self.url} closed the connection: {problem}") from None
        try:
            result = json.loads(data)
        except ValueError:
            result = None
        if status >= FIRST_ERROR:
            raise RequestRejected(status, _message(result, data))
        if not isinstance(result, dict):
            raise Unreachable(f"the answer of {self.url} is not a JSON object")
        return result

    def _exchange(
        self, method: str, path: str, body: str | None, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        data = None if body is None else body.encode()
        try:
            self._line.request(method, self._prefix + path, data, headers)
            answer = self._line.getresponse()
            return answer.status, answer.read()
        except _HUNG_UP:
            self._line.close()
            raise
        except (OSError, http.client.HTTPException) as problem:
            self._line.close()
            raise Unreachable(f"{self.url} does not answer: {problem!r}") from None


def _trusted(authority: str | None) -> ssl.SSLContext:
    """Trusts the given certificate authority, or those of the machine."""
    try:
        return ssl.create_default_context(cafile=authority)
    except OSError as problem:
        raise Unreachable(f"no certificate authority in {authority}: {problem}") from None


def _message(result: Any, data: bytes) -> str:
    """The error message of a Kubernetes API server or Prometheus, otherwise the beginning of the text."""
    if isinstance(result, dict):
        return str(result.get("message") or result.get("error") or "")
    return data[:200].decode(errors="replace")


def resource_path(api_version: str, plural: str, namespace: str = "", name: str = "") -> str:
    """The path of a kind, in all namespaces or one, or of one object."""
    root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    space = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{space}/{plural}{f'/{quote(name)}' if name else ''}"


def list_objects(
    server: JsonClient, path: str, *, bare: bool = False, **query: str
) -> Iterator[dict[str, Any]]:
    """Every object at a path, page by page: `labelSelector`, `fieldSelector`; bare: without spec and status.

    Raises:
        RequestRejected, Unreachable: the API server did not serve the request.
    """
    kind, more = "application/json", ""
    if bare:
        kind = f"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,{kind}"
    while True:
        values = {"limit": PAGE, **query, "continue": more}
        query_string = urlencode({key: value for key, value in values.items() if value})
        result = server.request_json("GET", f"{path}?{query_string}", accept=kind)
        # Of bare objects none are null, not an empty list (Kubernetes 1.36).
        yield from result["items"] or ()
        if not (more := result["metadata"].get("continue", "")):
            return


def patch_object(server: JsonClient, path: str, change: Object) -> None:
    """A merge patch; with a resourceVersion, of that version only."""
    server.request_json("PATCH", path, json.dumps(change), "application/merge-patch+json")


def post_event(server: JsonClient, event: Object) -> None:
    """Record an event; an event of the same name is rejected with EXISTS."""
    path = resource_path("v1", "events", event["metadata"]["namespace"])
    server.request_json("POST", path, json.dumps(event), "application/json")
