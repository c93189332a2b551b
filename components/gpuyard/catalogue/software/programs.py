"""Images that pods of ours run in: published by others, with nothing of ours inside."""

from dataclasses import dataclass
from datetime import date

from gpuyard.catalogue.sources import Source


@dataclass(frozen=True, slots=True)
class ProgramImage:
    """An image by tag, for people, and digest, for machines."""

    repository: str
    """Its whole path, so that a mirror can hold it under the same."""
    tag: str
    digest: str
    source: Source

    def at(self, mirror: str | None) -> str:
        """The image as pods name it: from where it is published, or from a mirror."""
        where = f"{mirror.rstrip('/')}/{self.repository}" if mirror else self._short
        return f"{where}:{self.tag}@{self.digest}"

    @property
    def _short(self) -> str:
        """Official images of the default registry have a short name."""
        return self.repository.removeprefix("library/")


PYTHON = ProgramImage(
    "library/python",
    "3.13-slim",
    "sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b",
    Source(
        "the digest in public Dockerfiles and a build log of 2026-09 (CPython 3.13.15 on Debian trixie, an index for"
        " amd64 and arm64); no registry was asked",
        date(2026, 11, 21),
        verified=False,
        as_of=date(2026, 11, 21),
    ),
)
"""CPython and its standard library."""
PAUSE_HOME, PAUSE_TAG = "registry.k8s.io/pause", "3.10.1"
"""What runs on where a pod has nothing more to do; its digest is in `digests`."""
