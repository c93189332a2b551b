"""How large images are that nodes pull, each asked of its registry; some at once, and each for itself."""

import hashlib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from gpuyard.registries.fetching import RegistryAnswer, Silent, fetch
from gpuyard.registries.manifests import (
    ACCEPT,
    ANY,
    ImageName,
    Unreadable,
    compressed,
    members,
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
    why: str = ""
    """Why nothing is known; empty where something is."""
    absent: bool = False
    """Its registry says that there is no such image, or none for any of these processors."""


def sizes_of(references: Iterable[ImageName], processors: Iterable[str]) -> dict[ImageName, Size]:
    """Every image once; a registry that does not answer keeps no other from being asked."""
    asked, wanted = list(dict.fromkeys(references)), tuple(processors)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(lambda each: _size(each, wanted), asked))
    return dict(zip(asked, found, strict=True))


def _size(image: ImageName, processors: tuple[str, ...]) -> Size:
    try:
        return _Registry(image).size(processors)
    except _Absent:
        return Size(why=f"{image.host} has no such image", absent=True)
    except Unreadable as problem:
        return Size(why=f"{image.host}: {problem}")
    except Silent as problem:
        return Size(why=f"{image.host}: {problem}")


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
        said = self._manifest(image.at)
        listed = members(said.body, _type(said))
        if listed is None:
            return Size({ANY: compressed(said.body, _type(said))})
        found: dict[str, int] = {}
        for processor in processors:
            if processor in listed:
                member = self._manifest(listed[processor])
                found[processor] = compressed(member.body, _type(member))
        if not found:
            others = ", ".join(sorted(listed)) or "none"
            why = f"{image.host} has it for {others}, and nodes are {', '.join(processors)}"
            return Size(why=why, absent=True)
        return Size(found)

    def _manifest(self, at: str) -> RegistryAnswer:
        url = self._image.url(at)
        said = fetch(url, self._headers)
        if said.status == _UNAUTHORIZED and "Authorization" not in self._headers:
            self._headers["Authorization"] = f"Bearer {self._token(said)}"
            said = fetch(url, self._headers)
        if said.status in {_UNAUTHORIZED, _FORBIDDEN}:
            raise Silent("it shows this image to nobody who is not signed in")
        if said.status == _NOT_FOUND:
            raise _Absent
        if said.status != _OK:
            raise Silent(f"it answers with HTTP {said.status}")
        if not _is_what_it_names(said.body, at):
            raise Silent("it sends another document than the digest names")
        return said

    def _token(self, said: RegistryAnswer) -> str:
        """As whom nobody knows: what anybody may pull."""
        url = token_url(said.headers.get("WWW-Authenticate", ""), self._image.name)
        if url is None:
            raise Silent("it wants a password")
        answer = fetch(url, {"User-Agent": "gpuyard"})
        if answer.status != _OK:
            raise Silent("it shows this image to nobody who is not signed in")
        return token_in(answer.body)


def _is_what_it_names(body: bytes, at: str) -> bool:
    """A digest is of the document; a tag names whatever it names today."""
    sha256 = "sha256:"
    return not at.startswith(sha256) or hashlib.sha256(body).hexdigest() == at.removeprefix(sha256)


def _type(said: RegistryAnswer) -> str:
    return said.headers.get("Content-Type", "")
