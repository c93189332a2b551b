"""Disk sizes of nodes: the minimum of the image and the range of the cloud."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from gpuyard_core.catalogue.sources import Source

_LOOKED_UP = date(2026, 11, 24)


@dataclass(frozen=True, slots=True)
class DiskBounds:
    """Minimum and maximum in GiB, inclusive."""

    least: int
    most: int | None
    """None if no source has a maximum."""


GP3, GKE_BOOT_DISK = DiskBounds(1, 65_536), DiskBounds(10, None)
BOUNDS_SOURCE = Source(
    "AWS re:Invent 2025, STG320: gp3 has up to 64 TiB; diskSizeGb in terraform-provider-google-beta:"
    " 10 or more",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
IMAGES_NEED: Mapping[str, int] = {"al2023-nvidia": 20}
"""Snapshot sizes by image; EC2 starts no node with a smaller disk."""
IMAGES_SOURCE = Source(
    "awslabs/amazon-eks-ami templates/al2023/variables-default.json: launch_block_device_mappings_volume_size 20",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)


def fitting_sizes(sold: DiskBounds, image: str | None) -> DiskBounds:
    """The sizes of a disk, of those that the cloud sells, on which an image fits."""
    return DiskBounds(max(sold.least, IMAGES_NEED.get(image or "", 0)), sold.most)
