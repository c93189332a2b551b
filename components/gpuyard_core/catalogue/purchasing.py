"""Reservations and zones of the clouds: their id formats, and the lifetime of nodes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_core.catalogue.sources import Source, find_source
from gpuyard_core.catalogue.tables import read_keyed


@dataclass(frozen=True, slots=True)
class IdFormat:
    """The format of a cloud's id."""

    pattern: re.Pattern[str]
    example: str
    source: Source


ID_FORMATS: Mapping[str, IdFormat] = dict(read_keyed("id_formats", IdFormat))
"""By cloud and id. The id of a Google Cloud project is not its name or number; old ids begin with a domain."""
EC2_RESERVATION = ID_FORMATS["aws.reservation"]
"""On-demand capacity reservations and capacity blocks: nodes use a block by its reservation's id."""
EC2_OFFERING = ID_FORMATS["aws.offering"]
"""Offerings of capacity blocks, before the purchase."""
GCE_RESERVATION = ID_FORMATS["gcp.reservation"]
EC2_ZONE, GCE_ZONE = ID_FORMATS["aws.zone"], ID_FORMATS["gcp.zone"]
ZONES: Mapping[str, IdFormat] = {"aws": EC2_ZONE, "gcp": GCE_ZONE}
"""Zone names by cloud."""
REGIONS: Mapping[str, IdFormat] = {cloud: ID_FORMATS[f"{cloud}.region"] for cloud in ZONES}
"""The region part of a zone's name, by cloud."""


@dataclass(frozen=True, slots=True)
class Lifetime:
    """The maximum lifetime of a node, independent of its jobs."""

    hours: int
    """Maximum hours from its start."""
    drained_before_end_minutes: int
    description: str
    source: Source


_LIFETIMES = dict(read_keyed("lifetimes", Lifetime))
FLEX_START, CALENDAR = _LIFETIMES["flex-start"], _LIFETIMES["calendar"]
CAPACITY_BLOCK, ULTRASERVER_BLOCK = _LIFETIMES["block"], _LIFETIMES["ultraserver-block"]


@dataclass(frozen=True, slots=True)
class BlockSizes:
    """Sizes and durations of a capacity block on EC2."""

    most: int
    """Maximum instances in one block."""
    days: tuple[int, ...]
    """Possible durations."""
    source: Source


BLOCK_SIZES = BlockSizes(
    most=64,
    days=(*range(1, 15), *range(21, 183, 7)),
    source=find_source("purchasing.block-sizes"),
)
ULTRASERVERS: Mapping[str, tuple[int, ...]] = {
    name: machine.ultraserver_sizes
    for name, machine in MACHINES.items()
    if machine.ultraserver_sizes
}
"""EC2 machines that are sold only as whole UltraServers, with the number of machines in one
(purchasing.ultraservers)."""
