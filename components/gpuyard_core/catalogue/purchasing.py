"""Reservations and zones of the clouds: their id formats, and the lifetime of nodes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from gpuyard_core.catalogue.sources import GCE_CONSUMPTION, Source

_LOOKED_UP = date(2026, 11, 21)


@dataclass(frozen=True, slots=True)
class IdFormat:
    """The format of a cloud's id."""

    pattern: re.Pattern[str]
    example: str
    source: Source


EC2_RESERVATION = IdFormat(
    re.compile(r"cr-[0-9a-z]+"),
    "cr-0123456789abcdef0",
    Source(
        "capacityReservationSelectorTerms.id in the EC2NodeClass CRD v1.14.1",
        _LOOKED_UP,
        as_of=_LOOKED_UP,
    ),
)
"""On-demand capacity reservations and capacity blocks: nodes use a block by its reservation's id."""
EC2_OFFERING = IdFormat(
    re.compile(r"cb-[0-9a-z]+"),
    "cb-0123456789abcdef0",
    Source(
        "CapacityBlockOfferingId in EC2 DescribeCapacityBlockOfferings",
        date(2026, 11, 25),
        as_of=date(2026, 11, 25),
    ),
)
"""Offerings of capacity blocks, before the purchase."""
GCE_RESERVATION = IdFormat(
    re.compile(
        r"(projects/[a-z][-a-z0-9.:]*/reservations/)?[a-z]([-a-z0-9]*[a-z0-9])?"
        r"(/reservationBlocks/[-a-z0-9]+(/reservationSubBlocks/[-a-z0-9]+)?)?"
    ),
    "projects/my-project/reservations/my-reservation",
    Source(
        "values of reservation_affinity, cluster-toolkit v1.95.0 gke-node-pool",
        _LOOKED_UP,
        as_of=_LOOKED_UP,
    ),
)

EC2_ZONE = IdFormat(
    re.compile(r"(?P<region>[a-z]{2,4}(-[a-z]+)+-\d+)(?P<local>-[a-z]+-\d+)?[a-z]"),
    "us-east-1a",
    Source("availability-zone in EC2 DescribeInstanceTopology: us-west-2a, us-west-2-lax-1b", _LOOKED_UP, as_of=_LOOKED_UP),
)  # fmt: skip
GCE_ZONE = IdFormat(
    re.compile(r"(?P<region>[a-z]+(-[a-z]+)+\d+)-[a-z]"),
    "us-central1-a",
    Source(
        "zones of SkyPilot v9 gcp/vms.csv",
        _LOOKED_UP,
        as_of=_LOOKED_UP,
    ),
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
    source=Source(
        "GKE concepts, flex-start: maxRunDurationSeconds, seven days",
        _LOOKED_UP,
        as_of=_LOOKED_UP,
    ),
)
ULTRASERVER_BLOCK = Lifetime(
    hours=182 * 24,
    drained_before_end_minutes=60,
    description="until 60 minutes before it ends",
    source=Source(
        "karpenter-provider-aws designs/odcrs.md and dev.classmethod.jp (2026-02-08): EC2 stops the instances of an"
        " UltraServer 60 minutes before the end of its block",
        _LOOKED_UP,
        as_of=date(2026, 2, 8),
    ),
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
    source=Source(
        "EKS and Karpenter drain a block 40 minutes before its end; EC2 stops instances at 30",
        _LOOKED_UP,
        as_of=_LOOKED_UP,
    ),
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
    source=Source(
        "EC2 DescribeCapacityBlockOfferings and dev.classmethod.jp: 1 to 14 days, then steps of seven up to 182; at"
        " most 64 instances a block and 256 an organisation at a time",
        date(2026, 11, 22),
        as_of=date(2026, 11, 22),
    ),
)
ULTRASERVERS: Mapping[str, tuple[int, ...]] = {"p6e-gb200.36xlarge": (9, 18)}
"""EC2 machines that are sold only as whole UltraServers, with the number of machines in one."""
ULTRASERVERS_SOURCE = Source(
    "koyakimu/ec2-capacity-blocks-for-ml-pricing-json at 15ff21e: u-p6e-gb200x36 and u-p6e-gb200x72, with four GPUs"
    " in a machine",
    date(2026, 11, 22),
    as_of=date(2026, 11, 22),
)
