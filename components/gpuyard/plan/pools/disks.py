"""The disk of a pool's nodes: the image fits on it, and the cloud sells that size."""

from collections.abc import Iterator

from gpuyard.provider import provider_of
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.pools import Pool
from gpuyard_core.catalogue.cluster.disks import fitting_sizes
from gpuyard_core.catalogue.software.images import NodeImage
from gpuyard_core.findings import Diagnostic, Fix, Path, error


def check_disk(
    spec: PlatformSpec, pool: Pool, image: NodeImage | None, path: Path
) -> Iterator[Diagnostic]:
    """The cloud rejects a disk that is too small only when a node starts, at each start and without a message."""
    sold, size = provider_of(spec.cloud).disk_sizes, pool.disk_gib
    if sold is None or size is None:
        return
    bounds = fitting_sizes(sold, image.name if image else None)
    suggestion = max(bounds.least, min(size, bounds.most or size))
    if suggestion == size:
        return
    where = (*path, "disk_gib")
    on = f"{image.name} on {spec.cloud.value}" if image else spec.cloud.value
    yield error(
        "pool.disk_size",
        where,
        f"nodes of {on} cannot boot from a disk of this size",
        given=f"{size:,} GiB",
        allowed=f"{bounds.least:,} to {bounds.most:,} GiB"
        if bounds.most
        else f"{bounds.least:,} GiB or more",
        fix=Fix(message=f"write {suggestion}", at=where, value=suggestion),
    )
