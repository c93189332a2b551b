"""One registry request with redirects, rate limits and retries."""

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Any
from urllib.parse import urljoin, urlsplit

SECONDS = 15.0
"""Timeout of one response."""
MOST = 4 * 1024 * 1024
"""Maximum size in bytes: registries need not accept larger manifests (OCI distribution
specification, pushing manifests).
"""
TRIES, WAITS = 3, 20.0
"""Maximum tries of one request, and the maximum pause in seconds between two."""
_HOPS = 5
_AGAIN = frozenset({429, 500, 502, 503, 504})
_MOVED = frozenset({301, 302, 303, 307, 308})


class NoResponse(Exception):
    """A registry returned no usable response; the message has the reason."""


@dataclass(frozen=True, slots=True)
class RegistryAnswer:
    """A response with any status."""

    status: int
    headers: Message
    body: bytes


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Redirects are followed in `fetch`: urllib would forward the token to other hosts."""

    def redirect_request(self, *_given: Any, **_more: Any) -> None:
        """Nowhere."""


_OPENER = urllib.request.build_opener(_NoRedirect)


def fetch(url: str, headers: Mapping[str, str]) -> RegistryAnswer:
    """The response of a registry after redirects; NoResponse if there is none."""
    answer = _patiently(url, headers)
    for _ in range(_HOPS):
        if answer.status not in _MOVED:
            return answer
        location = urljoin(url, answer.headers.get("Location", ""))
        before, after = urlsplit(url), urlsplit(location)
        if before.scheme == "https" and after.scheme != "https":
            raise NoResponse(f"it redirects to {after.scheme}://{after.netloc}, without TLS")
        if before.netloc != after.netloc:
            headers = {key: each for key, each in headers.items() if key != "Authorization"}
        url = location
        answer = _patiently(url, headers)
    raise NoResponse(f"it redirects more than {_HOPS} times")


def _patiently(url: str, headers: Mapping[str, str]) -> RegistryAnswer:
    answer, waited = _once(url, headers), 0.0
    for attempt in range(TRIES - 1):
        pause = _pause(answer.headers, attempt)
        if answer.status not in _AGAIN or waited + pause > WAITS:
            break
        time.sleep(pause)
        waited += pause
        answer = _once(url, headers)
    if answer.status == http.client.TOO_MANY_REQUESTS:
        later = answer.headers.get("Retry-After")
        raise NoResponse(
            f"it limits the request rate; retry {(f'in {later} s' if later else 'later')}"
        )
    if answer.status in _AGAIN:
        raise NoResponse(f"it failed: HTTP {answer.status}")
    return answer


def _pause(headers: Message, attempt: int) -> float:
    """The requested pause; without a number of seconds, exponential backoff from 1 s."""
    retry_after = (headers.get("Retry-After") or "").strip()
    return float(retry_after) if retry_after.isdigit() else float(2**attempt)


def _once(url: str, headers: Mapping[str, str]) -> RegistryAnswer:
    request = urllib.request.Request(url, headers=dict(headers))  # noqa: S310  http on this machine alone
    try:
        with _OPENER.open(request, timeout=SECONDS) as answer:
            return _read(answer.status, answer.headers, answer)
    except urllib.error.HTTPError as error:
        with error:
            return _read(error.code, error.headers, error)
    except TimeoutError:
        raise NoResponse(f"it did not respond within {SECONDS:.0f} seconds") from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise NoResponse(f"it did not respond within {SECONDS:.0f} seconds") from None
        raise NoResponse(f"it is unreachable: {error.reason}") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NoResponse(f"it is unreachable: {str(error) or type(error).__name__}") from None


def _read(status: int, headers: Message, answer: Any) -> RegistryAnswer:
    body = answer.read(MOST + 1)
    if len(body) > MOST:
        raise NoResponse(f"its response is larger than {MOST // 1024 // 1024} MiB")
    length = headers.get("Content-Length", "")
    if length.isdigit() and len(body) < int(length):
        raise NoResponse("its response is truncated")
    return RegistryAnswer(status, headers, body)
