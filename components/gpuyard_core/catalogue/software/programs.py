"""Third-party images in which gpuyard's pods run."""

from dataclasses import dataclass
from datetime import date

from gpuyard_core.catalogue.sources import Source


@dataclass(frozen=True, slots=True)
class ProgramImage:
    """An image with its tag, for readers, and its digest, which takes precedence."""

    repository: str
    """Its full path, which is the same in a mirror."""
    tag: str
    digest: str
    source: Source

    def image_reference(self, mirror: str | None) -> str:
        """The image reference for pods, in the original registry or in a mirror."""
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
        " amd64 and arm64); no registry was queried",
        date(2026, 11, 21),
        verified=False,
        as_of=date(2026, 11, 21),
    ),
)
"""CPython with its standard library."""
PAUSE_HOME, PAUSE_TAG = "registry.k8s.io/pause", "3.10.1"
"""The image that keeps a pod running without work; its digest is in `digests`."""
