"""Sizes of the images that nodes pull, queried from their registries concurrently."""

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
    compressed_size_bytes,
    platform_manifests,
    token_in,
    token_url,
)

AT_ONCE = 6
"""Maximum concurrent requests: registries limit them per client."""
_OK, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND = 200, 401, 403, 404


@dataclass(frozen=True, slots=True)
class ImageSize:
    """A registry's answer about one image."""

    compressed: Mapping[str, int] = field(default_factory=dict[str, int])
    """Compressed bytes by architecture: the requested ones, or `any` for a single manifest."""
    reason: str = ""
    """Why the size is unknown; otherwise empty."""
    absent: bool = False
    """Whether the registry has no such image, or none for these architectures."""


def fetch_image_sizes(
    references: Iterable[ImageName], processors: Iterable[str]
) -> dict[ImageName, ImageSize]:
    """Sizes of every image, each queried once; a registry that does not respond affects no other."""
    images, platforms = list(dict.fromkeys(references)), tuple(processors)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(lambda each: _size(each, platforms), images))
    return dict(zip(images, results, strict=True))


def _size(image: ImageName, processors: tuple[str, ...]) -> ImageSize:
    try:
        return _Registry(image).size(processors)
    except _Absent:
        return ImageSize(reason=f"{image.host} has no such image", absent=True)
    except Unreadable as problem:
        return ImageSize(reason=f"{image.host}: {problem}")
    except NoResponse as problem:
        return ImageSize(reason=f"{image.host}: {problem}")


class _Absent(Exception):
    """The image does not exist."""


class _Registry:
    """Queries one image with its token."""

    def __init__(self, image: ImageName) -> None:
        self._image = image
        self._headers = {"Accept": ACCEPT, "User-Agent": "gpuyard"}

    def size(self, processors: tuple[str, ...]) -> ImageSize:
        """The size of the image, or of its manifests for these architectures."""
        image = self._image
        manifest = self._manifest(image.tag_or_digest)
        listed = platform_manifests(manifest.body, _type(manifest))
        if listed is None:
            return ImageSize({ANY: compressed_size_bytes(manifest.body, _type(manifest))})
        results: dict[str, int] = {}
        for processor in processors:
            if processor in listed:
                member = self._manifest(listed[processor])
                results[processor] = compressed_size_bytes(member.body, _type(member))
        if not results:
            available = ", ".join(sorted(listed)) or "none"
            why = f"{image.host} has it for {available}, but nodes are {', '.join(processors)}"
            return ImageSize(reason=why, absent=True)
        return ImageSize(results)

    def _manifest(self, at: str) -> RegistryAnswer:
        url = self._image.url(at)
        answer = fetch(url, self._headers)
        if answer.status == _UNAUTHORIZED and "Authorization" not in self._headers:
            self._headers["Authorization"] = f"Bearer {self._token(answer)}"
            answer = fetch(url, self._headers)
        if answer.status in {_UNAUTHORIZED, _FORBIDDEN}:
            raise NoResponse("it requires authentication for this image")
        if answer.status == _NOT_FOUND:
            raise _Absent
        if answer.status != _OK:
            raise NoResponse(f"it responds with HTTP {answer.status}")
        if not _is_what_it_names(answer.body, at):
            raise NoResponse("it returns a document with another digest")
        return answer

    def _token(self, challenge: RegistryAnswer) -> str:
        """An anonymous token, for public images."""
        url = token_url(challenge.headers.get("WWW-Authenticate", ""), self._image.name)
        if url is None:
            raise NoResponse("it requires authentication")
        answer = fetch(url, {"User-Agent": "gpuyard"})
        if answer.status != _OK:
            raise NoResponse("it requires authentication for this image")
        return token_in(answer.body)


def _is_what_it_names(body: bytes, at: str) -> bool:
    """Whether a document matches its digest; a tag matches any document."""
    sha256 = "sha256:"
    return not at.startswith(sha256) or hashlib.sha256(body).hexdigest() == at.removeprefix(sha256)


def _type(answer: RegistryAnswer) -> str:
    return answer.headers.get("Content-Type", "")
