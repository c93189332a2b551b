"""Reservations and zones of the clouds: their id formats, and the lifetime of nodes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_core.catalogue.sources import GCE_CONSUMPTION, Source, find_source


@dataclass(frozen=True, slots=True)
class IdFormat:
    """The format of a cloud's id."""

    pattern: re.Pattern[str]
    example: str
    source: Source


EC2_RESERVATION = IdFormat(
    re.compile(r"cr-[0-9a-z]+"),
    "cr-0123456789abcdef0",
    find_source("purchasing.ec2-reservation"),
)
"""On-demand capacity reservations and capacity blocks: nodes use a block by its reservation's id."""
EC2_OFFERING = IdFormat(
    re.compile(r"cb-[0-9a-z]+"),
    "cb-0123456789abcdef0",
    find_source("purchasing.ec2-offering"),
)
"""Offerings of capacity blocks, before the purchase."""
GCE_RESERVATION = IdFormat(
    re.compile(
        r"(projects/[a-z][-a-z0-9.:]*/reservations/)?[a-z]([-a-z0-9]*[a-z0-9])?"
        r"(/reservationBlocks/[-a-z0-9]+(/reservationSubBlocks/[-a-z0-9]+)?)?"
    ),
    "projects/my-project/reservations/my-reservation",
    find_source("purchasing.gce-reservation"),
)

EC2_ZONE = IdFormat(
    re.compile(r"(?P<region>[a-z]{2,4}(-[a-z]+)+-\d+)(?P<local>-[a-z]+-\d+)?[a-z]"),
    "us-east-1a",
    find_source("purchasing.ec2-zone"),
)  # fmt: skip
GCE_ZONE = IdFormat(
    re.compile(r"(?P<region>[a-z]+(-[a-z]+)+\d+)-[a-z]"),
    "us-central1-a",
    find_source("purchasing.gce-zone"),
)
ZONES: Mapping[str, IdFormat] = {"aws": EC2_ZONE, "gcp": GCE_ZONE}
"""Zone names by cloud."""
REGIONS: Mapping[str, IdFormat] = {
    "aws": IdFormat(re.compile(r"[a-z]{2,4}(-[a-z]+)+-\d+"), "us-east-1", EC2_ZONE.source),
    "gcp": IdFormat(re.compile(r"[a-z]+(-[a-z]+)+\d+"), "us-central1", GCE_ZONE.source),
}
"""The region part of a zone's name, by cloud."""


@dataclass(frozen=True, slots=True)
class Lifetime:
    """The maximum lifetime of a node, independent of its jobs."""

    hours: int
    """Maximum hours from its start."""
    drained_before_end_minutes: int
    description: str
    source: Source


FLEX_START = Lifetime(
    hours=168,
    drained_before_end_minutes=0,
    description="at most 7 days",
    source=find_source("purchasing.flex-start"),
)
ULTRASERVER_BLOCK = Lifetime(
    hours=182 * 24,
    drained_before_end_minutes=60,
    description="until 60 minutes before it ends",
    source=find_source("purchasing.ultraserver-block"),
)
CALENDAR = Lifetime(
    hours=90 * 24,
    drained_before_end_minutes=0,
    description="until the end of its calendar reservation",
    source=GCE_CONSUMPTION,
)
CAPACITY_BLOCK = Lifetime(
    hours=182 * 24,
    drained_before_end_minutes=40,
    description="until 40 minutes before its end",
    source=find_source("purchasing.capacity-block"),
)


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
"""EC2 machines that are sold only as whole UltraServers, with the number of machines in one."""
ULTRASERVERS_SOURCE = find_source("purchasing.ultraservers")
