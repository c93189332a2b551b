"""One request of a registry, patiently: a redirect is followed, a limit waited for, a failure tried again."""

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
"""For one answer."""
MOST = 4 * 1024 * 1024
"""Bytes: no registry must take a larger manifest (OCI distribution specification, pushing manifests)."""
TRIES, WAITS = 3, 20.0
"""Of one request, and the seconds that it waits at most between two of them."""
_HOPS = 5
_AGAIN = frozenset({429, 500, 502, 503, 504})
_MOVED = frozenset({301, 302, 303, 307, 308})


class NoResponse(Exception):
    """A registry that says nothing of what it was asked, and why."""


@dataclass(frozen=True, slots=True)
class RegistryAnswer:
    """An answer, whatever its status."""

    status: int
    headers: Message
    body: bytes


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """We follow ourselves: the library sends the token on to whomever it is sent to."""

    def redirect_request(self, *_given: Any, **_more: Any) -> None:
        """Nowhere."""


_OPENER = urllib.request.build_opener(_NoRedirect)


def fetch(url: str, headers: Mapping[str, str]) -> RegistryAnswer:
    """The answer of a registry, or of whom it sends on to; Silent where there is none."""
    answer = _patiently(url, headers)
    for _ in range(_HOPS):
        if answer.status not in _MOVED:
            return answer
        location = urljoin(url, answer.headers.get("Location", ""))
        before, after = urlsplit(url), urlsplit(location)
        if before.scheme == "https" and after.scheme != "https":
            raise NoResponse(f"it sends on to {after.scheme}://{after.netloc}, without TLS")
        if before.netloc != after.netloc:
            headers = {key: each for key, each in headers.items() if key != "Authorization"}
        url = location
        answer = _patiently(url, headers)
    raise NoResponse(f"it sends on more than {_HOPS} times")


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
            f"it wants fewer questions; ask again {f'in {later} s' if later else 'later'}"
        )
    if answer.status in _AGAIN:
        raise NoResponse(f"it failed: HTTP {answer.status}")
    return answer


def _pause(headers: Message, attempt: int) -> float:
    """What it asks for; a date, or nothing, is a second that doubles."""
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
        raise NoResponse(f"it did not answer within {SECONDS:.0f} seconds") from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise NoResponse(f"it did not answer within {SECONDS:.0f} seconds") from None
        raise NoResponse(f"it was not reached: {error.reason}") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NoResponse(f"it was not reached: {str(error) or type(error).__name__}") from None


def _read(status: int, headers: Message, answer: Any) -> RegistryAnswer:
    body = answer.read(MOST + 1)
    if len(body) > MOST:
        raise NoResponse(f"its answer is larger than {MOST // 1024 // 1024} MiB")
    length = headers.get("Content-Length", "")
    if length.isdigit() and len(body) < int(length):
        raise NoResponse("its answer is cut short")
    return RegistryAnswer(status, headers, body)
