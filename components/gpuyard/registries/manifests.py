"""What registries say of an image: where it is asked for, who gives a token, and what its manifest holds.

Of the OCI distribution specification 1.1 and image specification 1.1, and Docker's image manifest version 2,
schema 2; nothing here asks.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

INDEXES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
"""One manifest for each system and processor."""
MANIFESTS = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
ACCEPT = ", ".join((*INDEXES, *MANIFESTS))
ANY = "any"
"""The processor of an image that has one manifest, which says none."""
_DOCKER, _DOCKER_HOST = "docker.io", "registry-1.docker.io"
_OF_DOCKER = frozenset({_DOCKER, "index.docker.io", _DOCKER_HOST})
_LOOPBACK = re.compile(r"(localhost|127(\.\d+){3}|\[::1\])(:\d+)?")
_PARAMETER = re.compile(r'(\w+)\s*=\s*(?:"([^"]*)"|([^\s,"]+))')


class Unreadable(ValueError):
    """An answer that says nothing that we know."""


@dataclass(frozen=True, slots=True)
class ImageName:
    """An image as its registry is asked for it."""

    host: str
    name: str
    at: str
    """Its digest, where one names it; else its tag."""

    def url(self, at: str = "") -> str:
        """Of its manifest, or of one that an index names. A registry of this machine has no certificate."""
        scheme = "http" if _LOOPBACK.fullmatch(self.host) else "https"
        return f"{scheme}://{self.host}/v2/{self.name}/manifests/{quote(at or self.at, safe=':')}"


def image_name(repository: str, tag: str, digest: str = "") -> ImageName:
    """As container runtimes read a name: the first part is a host where it looks like one."""
    first, _, rest = repository.partition("/")
    if not rest or not ("." in first or ":" in first or first == "localhost"):
        first, rest = _DOCKER, repository
    if first in _OF_DOCKER:
        first, rest = _DOCKER_HOST, rest if "/" in rest else f"library/{rest}"
    return ImageName(first, rest, digest or tag)


def token_url(challenge: str, name: str) -> str | None:
    """Where a `WWW-Authenticate` sends who has no token; None for who wants a password, or says it unclearly.

    A token is asked for over TLS alone, but on this machine.
    """
    scheme, _, rest = challenge.strip().partition(" ")
    parameters = {key.lower(): a or b for key, a, b in _PARAMETER.findall(rest)}
    realm = urlsplit(parameters.get("realm", ""))
    safe = realm.scheme == "https" or (
        realm.scheme == "http" and _LOOPBACK.fullmatch(realm.netloc) is not None
    )
    if scheme.lower() != "bearer" or not safe or not realm.netloc:
        return None
    query = {"scope": parameters.get("scope") or f"repository:{name}:pull"}
    if parameters.get("service"):
        query["service"] = parameters["service"]
    joint = "&" if realm.query else "?"
    return f"{parameters['realm']}{joint}{urlencode(query)}"


def token_in(body: bytes) -> str:
    """The token of an answer; Unreadable without one."""
    tree = _object(body)
    token = tree.get("token") or tree.get("access_token")
    if not isinstance(token, str):
        raise Unreadable("the answer has no token")
    return token


def platform_manifests(body: bytes, content_type: str) -> dict[str, str] | None:
    """Digests of an index by processor, of those for Linux; None of what is no index.

    What an index holds beside, such as attestations, has `unknown` for both.
    """
    tree = _object(body)
    if _kind(tree, content_type) not in INDEXES:
        return None
    listed = tree.get("manifests")
    if not isinstance(listed, list):
        raise Unreadable("the index has no manifests")
    results: dict[str, str] = {}
    for arch, digest in _for_linux(listed):
        results.setdefault(arch, digest)
    return results


def _for_linux(listed: list[Any]) -> Iterator[tuple[str, str]]:
    for each in listed:
        platform = each.get("platform") if isinstance(each, Mapping) else None
        if not isinstance(platform, Mapping) or platform.get("os") != "linux":
            continue
        arch, digest = platform.get("architecture"), each.get("digest")
        if isinstance(arch, str) and isinstance(digest, str):
            yield arch, digest


def compressed(body: bytes, content_type: str) -> int:
    """Bytes that a node pulls: the layers as they are sent, each once, and the configuration."""
    tree = _object(body)
    if _kind(tree, content_type) not in MANIFESTS:
        raise Unreadable(f"it is a {_kind(tree, content_type) or 'document of no type'}")
    parts = [tree.get("config"), *(tree.get("layers") or ())]
    if len(parts) < 2 or not all(map(_is_part, parts)):  # noqa: PLR2004  a configuration and a layer
        raise Unreadable("its manifest has a part without a size")
    sizes: dict[str, int] = {each["digest"]: each["size"] for each in parts if each}
    return sum(sizes.values())


def _is_part(each: Any) -> bool:
    if not isinstance(each, Mapping) or not isinstance(each.get("digest"), str):
        return False
    size = each.get("size")
    return isinstance(size, int) and not isinstance(size, bool) and size >= 0


def _kind(tree: Mapping[str, Any], content_type: str) -> str:
    """The document's own word, before that of the answer: proxies send `text/plain`."""
    return str(tree.get("mediaType") or content_type.partition(";")[0].strip())


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        tree = json.loads(body)
    except ValueError:
        raise Unreadable("the answer is no JSON") from None
    if not isinstance(tree, Mapping):
        raise Unreadable("the answer is no object")
    return tree
