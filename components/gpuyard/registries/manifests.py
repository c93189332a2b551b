"""Image references, tokens and manifests of registries, without network access.

Follows the OCI distribution specification 1.1, the image specification 1.1, and Docker's image
manifest version 2, schema 2.
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
"""Media types of an index with one manifest for each OS and architecture."""
MANIFESTS = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
ACCEPT = ", ".join((*INDEXES, *MANIFESTS))
ANY = "any"
"""The architecture of an image with a single manifest, which names none."""
_DOCKER, _DOCKER_HOST = "docker.io", "registry-1.docker.io"
_OF_DOCKER = frozenset({_DOCKER, "index.docker.io", _DOCKER_HOST})
_LOOPBACK = re.compile(r"(localhost|127(\.\d+){3}|\[::1\])(:\d+)?")
_PARAMETER = re.compile(r'(\w+)\s*=\s*(?:"([^"]*)"|([^\s,"]+))')


class Unreadable(ValueError):
    """A response that cannot be interpreted."""


@dataclass(frozen=True, slots=True)
class ImageName:
    """An image as its registry names it."""

    host: str
    name: str
    tag_or_digest: str
    """Its digest if given, otherwise its tag."""

    def url(self, at: str = "") -> str:
        """URL of its manifest, or of one in its index. A local registry has no certificate."""
        scheme = "http" if _LOOPBACK.fullmatch(self.host) else "https"
        return f"{scheme}://{self.host}/v2/{self.name}/manifests/{quote(at or self.tag_or_digest, safe=':')}"


def image_name(repository: str, tag: str, digest: str = "") -> ImageName:
    """Parse a name as container runtimes do: the first part is a host if it looks like one."""
    first, _, rest = repository.partition("/")
    if not rest or not ("." in first or ":" in first or first == "localhost"):
        first, rest = _DOCKER, repository
    if first in _OF_DOCKER:
        first, rest = _DOCKER_HOST, rest if "/" in rest else f"library/{rest}"
    return ImageName(first, rest, digest or tag)


def token_url(challenge: str, name: str) -> str | None:
    """The token endpoint of a `WWW-Authenticate` header; None if it requires a password or is malformed.

    Tokens are requested over TLS only, except from this machine.
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
    """The token of a response; Unreadable without one."""
    tree = _object(body)
    token = tree.get("token") or tree.get("access_token")
    if not isinstance(token, str):
        raise Unreadable("the response has no token")
    return token


def platform_manifests(body: bytes, content_type: str) -> dict[str, str] | None:
    """Digests of an index by architecture, for Linux only; None if the document is no index.

    Other entries of an index, such as attestations, have `unknown` as OS and architecture.
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


def compressed_size_bytes(body: bytes, content_type: str) -> int:
    """Bytes that a node pulls: the compressed layers, each once, and the configuration."""
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
    """Its own media type, otherwise that of the response: proxies send `text/plain`."""
    return str(tree.get("mediaType") or content_type.partition(";")[0].strip())


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        tree = json.loads(body)
    except ValueError:
        raise Unreadable("the response is not JSON") from None
    if not isinstance(tree, Mapping):
        raise Unreadable("the response is not an object")
    return tree
