"""Disk sizes of nodes: the minimum of the image and the range of the cloud."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DiskBounds:
    """Minimum and maximum in GiB, inclusive."""

    least: int
    most: int | None
    """None if no source has a maximum."""


GP3, GKE_BOOT_DISK = DiskBounds(1, 65_536), DiskBounds(10, None)  # disks.bounds
IMAGES_NEED: Mapping[str, int] = {"al2023-nvidia": 20}
"""Snapshot sizes by image; EC2 starts no node with a smaller disk (disks.images)."""


def fitting_sizes(sold: DiskBounds, image: str | None) -> DiskBounds:
    """The sizes of a disk, of those that the cloud sells, on which an image fits."""
    return DiskBounds(max(sold.least, IMAGES_NEED.get(image or "", 0)), sold.most)
