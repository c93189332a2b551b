"""Tags of NVIDIA's CUDA images: which were removed, and what to use instead."""

from collections.abc import Mapping

LAST_OF_TWO_PARTS = (11, 1)
"""The last version with two-part tags; all such tags were removed in 2022 and 2023."""
OLDEST = (11, 0)
"""The oldest version with images; those of earlier versions were removed."""
NEWEST_OF_OLDEST = (11, 8)
_PATCHES: Mapping[tuple[int, int], int] = {
    **{(11, minor): patch for minor, patch in enumerate((3, 1, 2, 1, 3, 2, 2, 1, 0))},
    **{(12, minor): patch for minor, patch in enumerate((1, 1, 2, 2, 1, 1, 3))},
    (12, 8): 1,
    (12, 9): 1,
    (13, 0): 2,
}
"""A patch version with images, by version (cuda-tags)."""
_SYSTEMS: Mapping[int, tuple[str, ...]] = {
    11: ("ubuntu20.04",),
    12: ("ubuntu22.04",),
    13: ("ubuntu24.04", "ubuntu22.04"),
}
"""Operating systems of all images of a major version; the first replaces an unavailable one."""
_FLAVOURS = ("runtime", "devel")
_PLAIN_CUDNN = (12, 4)
"""The first version whose tags contain cudnn without its version."""


def suggested_tag(version: tuple[int, int], tag: str) -> str | None:
    """An existing tag of this version for a removed one; None if none is known."""
    if version not in _PATCHES:
        return None
    systems = _SYSTEMS[version[0]]
    system = next((each for each in systems if tag.endswith(each)), systems[0])
    flavour = next((each for each in _FLAVOURS if each in tag), "base")
    cudnn = "cudnn" if version >= _PLAIN_CUDNN else "cudnn8"
    parts = [cudnn] if "cudnn" in tag and flavour != "base" else []
    return "-".join([f"{version[0]}.{version[1]}.{_PATCHES[version]}", *parts, flavour, system])
