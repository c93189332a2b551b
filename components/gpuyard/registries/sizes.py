"""How large images are that nodes pull, each asked of its registry; some at once, and each for itself."""

import hashlib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from gpuyard.registries.fetching import NoResponse, RegistryAnswer, fetch
from gpuyard.registries.manifests import (
    ACCEPT,
    ANY,
    ImageName,
    Unreadable,
    compressed,
    platform_manifests,
    token_in,
    token_url,
)

AT_ONCE = 6
"""Questions in flight: registries count them by who asks."""
_OK, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND = 200, 401, 403, 404


@dataclass(frozen=True, slots=True)
class Size:
    """What a registry says of one image."""

    compressed: Mapping[str, int] = field(default_factory=dict[str, int])
    """Bytes as they are sent, by processor: those asked for, or `any` where it has one manifest."""
    reason: str = ""
    """Why nothing is known; empty where something is."""
    absent: bool = False
    """Its registry says that there is no such image, or none for any of these processors."""


def sizes_of(references: Iterable[ImageName], processors: Iterable[str]) -> dict[ImageName, Size]:
    """Every image once; a registry that does not answer keeps no other from being asked."""
    images, platforms = list(dict.fromkeys(references)), tuple(processors)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(lambda each: _size(each, platforms), images))
    return dict(zip(images, results, strict=True))


def _size(image: ImageName, processors: tuple[str, ...]) -> Size:
    try:
        return _Registry(image).size(processors)
    except _Absent:
        return Size(reason=f"{image.host} has no such image", absent=True)
    except Unreadable as problem:
        return Size(reason=f"{image.host}: {problem}")
    except NoResponse as problem:
        return Size(reason=f"{image.host}: {problem}")


class _Absent(Exception):
    """There is no such image."""


class _Registry:
    """Asks for one image, with the token that is given for it."""

    def __init__(self, image: ImageName) -> None:
        self._image = image
        self._headers = {"Accept": ACCEPT, "User-Agent": "gpuyard"}

    def size(self, processors: tuple[str, ...]) -> Size:
        """Of the image, or of its members for these processors."""
        image = self._image
        manifest = self._manifest(image.at)
        listed = platform_manifests(manifest.body, _type(manifest))
        if listed is None:
            return Size({ANY: compressed(manifest.body, _type(manifest))})
        results: dict[str, int] = {}
        for processor in processors:
            if processor in listed:
                member = self._manifest(listed[processor])
                results[processor] = compressed(member.body, _type(member))
        if not results:
            available = ", ".join(sorted(listed)) or "none"
            why = f"{image.host} has it for {available}, and nodes are {', '.join(processors)}"
            return Size(reason=why, absent=True)
        return Size(results)

    def _manifest(self, at: str) -> RegistryAnswer:
        url = self._image.url(at)
        answer = fetch(url, self._headers)
        if answer.status == _UNAUTHORIZED and "Authorization" not in self._headers:
            self._headers["Authorization"] = f"Bearer {self._token(answer)}"
            answer = fetch(url, self._headers)
        if answer.status in {_UNAUTHORIZED, _FORBIDDEN}:
            raise NoResponse("it shows this image to nobody who is not signed in")
        if answer.status == _NOT_FOUND:
            raise _Absent
        if answer.status != _OK:
            raise NoResponse(f"it answers with HTTP {answer.status}")
        if not _is_what_it_names(answer.body, at):
            raise NoResponse("it sends another document than the digest names")
        return answer

    def _token(self, challenge: RegistryAnswer) -> str:
        """As whom nobody knows: what anybody may pull."""
        url = token_url(challenge.headers.get("WWW-Authenticate", ""), self._image.name)
        if url is None:
            raise NoResponse("it wants a password")
        answer = fetch(url, {"User-Agent": "gpuyard"})
        if answer.status != _OK:
            raise NoResponse("it shows this image to nobody who is not signed in")
        return token_in(answer.body)


def _is_what_it_names(body: bytes, at: str) -> bool:
    """A digest is of the document; a tag names whatever it names today."""
    sha256 = "sha256:"
    return not at.startswith(sha256) or hashlib.sha256(body).hexdigest() == at.removeprefix(sha256)


def _type(answer: RegistryAnswer) -> str:
    return answer.headers.get("Content-Type", "")
