"""Creation times of cloud resources, published or measured.

Without a published time there is no row, and gpuyard shows no time. The source of a row that is calculated
from others contains this.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard_core.catalogue.software.images import ComponentOwner
from gpuyard_core.catalogue.sources import Source
from gpuyard_core.catalogue.tables import read_keyed


@dataclass(frozen=True, slots=True)
class Duration:
    """A range of time."""

    least: int
    most: int
    source: Source


_DURATIONS = dict(read_keyed("durations", Duration))
CONTROL_PLANES: Mapping[str, Duration] = {"aws": _DURATIONS["aws.control-plane"]}
"""Minutes until a new cluster responds, by cloud; no measurement of GKE was found."""
JOINS: Mapping[tuple[str, bool], Duration] = {
    (cloud, gpus): _DURATIONS[f"{cloud}.{'gpu-node' if gpus else 'node'}"]
    for cloud in ("aws", "gcp")
    for gpus in (False, True)
}
"""Seconds from the request for a machine until its node is ready, by cloud and whether it has GPUs, if the cloud
has capacity."""
COUNTED: Mapping[ComponentOwner, Duration] = {
    ComponentOwner(name): each for name, each in _DURATIONS.items() if name in set(ComponentOwner)
}
"""Seconds from a ready node until it advertises its GPUs, by what installs the driver."""
EACH_GPU = _DURATIONS["each-gpu"]
"""Additional seconds for each GPU."""
GB_PULLED = _DURATIONS["gb-pulled"]
"""Seconds for each GB of an image that is not on the node yet, without image streaming."""


def startup_durations(cloud: str, gpus: int, driver: ComponentOwner | None) -> tuple[Duration, ...]:
    """Startup phases of a node in order; empty if durations are unknown.

    `driver` is what installs the driver; None for machines without GPUs.
    """
    joins = JOINS.get((cloud, gpus > 0))
    if joins is None:
        return ()
    if driver is None:
        return (joins,)
    counted = COUNTED.get(driver)
    if counted is None:
        return ()
    most = counted.most + gpus * EACH_GPU.most
    each = Duration(counted.least + gpus * EACH_GPU.least, most, counted.source)
    return (joins, each)
