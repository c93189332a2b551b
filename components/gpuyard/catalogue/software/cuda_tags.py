"""Tags of NVIDIA's images of CUDA: which there are no more, and which to take instead."""

from collections.abc import Mapping
from datetime import date

from gpuyard.catalogue.sources import Source

CUDA_TAGS = Source(
    "Tags that public repositories pull from nvidia/cuda, and what their owners say of those that went:"
    " NVIDIA/libnvidia-container#181, NVIDIA/nvidia-docker#1735 and #1768, kokkos/kokkos#5509",
    date(2026, 11, 26),
    verified=False,
    as_of=date(2026, 11, 26),
)
LAST_OF_TWO_PARTS = (11, 1)
"""The last version whose tags had two parts; all such tags were removed in 2022 and 2023."""
OLDEST = (11, 0)
"""Of versions before it there is no image any more."""
NEWEST_OF_OLDEST = (11, 8)
_PATCHES: Mapping[tuple[int, int], int] = {
    **{(11, minor): patch for minor, patch in enumerate((3, 1, 2, 1, 3, 2, 2, 1, 0))},
    **{(12, minor): patch for minor, patch in enumerate((1, 1, 2, 2, 1, 1, 3))},
    (12, 8): 1,
    (12, 9): 1,
    (13, 0): 2,
}
"""By version, a patch of which there are images."""
_SYSTEMS: Mapping[int, tuple[str, ...]] = {
    11: ("ubuntu20.04",),
    12: ("ubuntu22.04",),
    13: ("ubuntu24.04", "ubuntu22.04"),
}
"""By major version, systems that all its images are made on; the first where another is asked for."""
_FLAVOURS = ("runtime", "devel")
_PLAIN_CUDNN = (12, 4)
"""From here on a tag says cudnn without its version."""


def suggested_tag(version: tuple[int, int], tag: str) -> str | None:
    """A tag of this version that there is, for one that is gone; None where none is known."""
    if version not in _PATCHES:
        return None
    systems = _SYSTEMS[version[0]]
    system = next((each for each in systems if tag.endswith(each)), systems[0])
    flavour = next((each for each in _FLAVOURS if each in tag), "base")
    cudnn = "cudnn" if version >= _PLAIN_CUDNN else "cudnn8"
    parts = [cudnn] if "cudnn" in tag and flavour != "base" else []
    return "-".join([f"{version[0]}.{version[1]}.{_PATCHES[version]}", *parts, flavour, system])
