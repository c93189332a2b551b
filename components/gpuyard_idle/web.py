"""JSON over HTTP: one server, one connection that is kept, errors that say what happened."""

import http.client
import json
import ssl
from functools import partial
from typing import Any
from urllib.parse import urlsplit

SECONDS = 30
"""For one answer. A job of the schedule has less than five minutes in all."""
FIRST_ERROR = 400
_HUNG_UP = (BrokenPipeError, ConnectionResetError)
"""Of a server that is there and closed the line; http.client's RemoteDisconnected is one of them."""


class Unreachable(Exception):
    """Nobody answered, or not in JSON."""


class Refused(Exception):
    """The server said no."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Server:
    """One server, such as http://127.0.0.1:9090."""

    def __init__(self, url: str, token: str = "", authority: str | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise Unreachable(f"{url!r} is no address such as http://HOST:PORT")
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
        """Hang up."""
        self._line.close()

    def ask(
        self, method: str, path: str, body: str | None = None, kind: str = "", *, accept: str = ""
    ) -> Any:
        """The answer to one request.

        A kept connection may have been closed meanwhile, which shows when asking or when reading the answer,
        so a request is tried twice. None of ours does harm the second time: a patch names the version it
        changes, and what is created has a fixed name.

        Raises:
            Refused: the server refused.
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
            raise Unreachable(f"{self.url} hung up: {problem}") from None
        try:
            result = json.loads(data)
        except ValueError:
            result = None
        if status >= FIRST_ERROR:
            raise Refused(status, _message(result, data))
        if not isinstance(result, dict):
            raise Unreachable(f"{self.url} answered, but not in JSON")
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
    """Trusts one authority of its own, or those of the machine."""
    try:
        return ssl.create_default_context(cafile=authority)
    except OSError as problem:
        raise Unreachable(f"no certificate authority in {authority}: {problem}") from None


def _message(result: Any, data: bytes) -> str:
    """What a Kubernetes API server or Prometheus says of an error, else the beginning of the text."""
    if isinstance(result, dict):
        return str(result.get("message") or result.get("error") or "")
    return data[:200].decode(errors="replace")
