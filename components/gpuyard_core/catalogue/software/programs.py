"""Third-party images in which gpuyard's pods run."""

from dataclasses import dataclass

from gpuyard_core.catalogue.sources import Source, find_source


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
    find_source("programs.python"),
)
"""CPython with its standard library."""
PAUSE_HOME, PAUSE_TAG = "registry.k8s.io/pause", "3.10.1"
"""The image that keeps a pod running without work; its digest is in `digests`."""
