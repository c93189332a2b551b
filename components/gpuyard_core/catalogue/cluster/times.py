"""Creation times of cloud resources, published or measured.

Without a published time there is no row, and gpuyard shows no time. The source of a row that is calculated
from others contains this.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard_core.catalogue.software.images import ComponentOwner
from gpuyard_core.catalogue.sources import Source, find_source


@dataclass(frozen=True, slots=True)
class Minutes:
    """A range of minutes."""

    least: int
    most: int
    source: Source


@dataclass(frozen=True, slots=True)
class Seconds:
    """A range of seconds."""

    least: int
    most: int
    source: Source


CONTROL_PLANES: Mapping[str, Minutes] = {
    "aws": Minutes(
        13,
        17,
        find_source("times.aws"),
    ),
}
"""Time until a new cluster responds, by cloud; no measurement of GKE was found."""

# ── until a node is ready for jobs ────────────────────────────────────────────────────────────────
_EC2 = find_source("times.ec2")
_EC2_GPUS = find_source("times.ec2-gpus")
_GCE = find_source("times.gce")
_GCE_GPUS = find_source("times.gce-gpus")
JOINS: Mapping[tuple[str, bool], Seconds] = {
    ("aws", False): Seconds(39, 100, _EC2),
    ("aws", True): Seconds(70, 270, _EC2_GPUS),
    ("gcp", False): Seconds(39, 100, _GCE),
    ("gcp", True): Seconds(120, 270, _GCE_GPUS),
}
"""Time from the request for a machine until its node is ready, by cloud and whether it has GPUs, if the cloud
has capacity."""
_INSTALLED = find_source("times.installed")
COUNTED: Mapping[ComponentOwner, Seconds] = {
    ComponentOwner.IMAGE: Seconds(
        15,
        90,
        find_source("times.counted"),
    ),
    ComponentOwner.GKE: Seconds(
        60,
        270,
        find_source("times.gke-counted"),
    ),
    ComponentOwner.DAEMONSET: Seconds(270, 900, _INSTALLED),
    ComponentOwner.OPERATOR: Seconds(270, 900, _INSTALLED),
}
"""Time from a ready node until it advertises its GPUs, by what installs the driver."""
EACH_GPU = Seconds(
    3,
    4,
    find_source("times.each-gpu"),
)
"""Additional time for each GPU."""
GB_PULLED = Seconds(
    16,
    18,
    find_source("times.gb-pulled"),
)
"""Time for each GB of an image that is not on the node yet, without image streaming."""


def startup_durations(cloud: str, gpus: int, driver: ComponentOwner | None) -> tuple[Seconds, ...]:
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
    each = Seconds(counted.least + gpus * EACH_GPU.least, most, counted.source)
    return (joins, each)
