"""Digests of published tags: the digest of each image that a platform installs, at the date of its source.

The owner of a tag may change its image; a digest identifies the content. These are digests of multi-platform
indexes. They were read in public repositories, without queries to registries.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard_core.catalogue.sources import Source
from gpuyard_core.catalogue.tables import read_rows


@dataclass(frozen=True, slots=True)
class Published:
    """A published image or chart."""

    artifact: str
    """Registry, path and tag."""
    digest: str
    source: Source


@dataclass(frozen=True, slots=True)
class _Tagged:
    """An image without a known digest."""

    repository: str
    reason: str


PUBLISHED: Mapping[str, Published] = {row.artifact: row for row in read_rows("digests", Published)}
"""By registry, path and tag."""
BY_TAG: Mapping[str, str] = {
    row.repository: row.reason for row in read_rows("tagged_images", _Tagged)
}
"""Images without a known digest, with the reason."""


def digest_of(repository: str, tag: str) -> str:
    """The digest of a tag; empty if no source was found."""
    result = PUBLISHED.get(f"{repository}:{tag}")
    return result.digest if result is not None else ""


def pinned_image_reference(repository: str, tag: str) -> str:
    """The image with its tag and, if known, its digest, which takes precedence."""
    digest = digest_of(repository, tag)
    return f"{tag}@{digest}" if digest else tag
