"""Reservations and zones as clouds sell them: their forms, and how long bought nodes stay."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from gpuyard.catalogue.sources import Source

_LOOKED_UP = date(2026, 11, 21)


@dataclass(frozen=True, slots=True)
class Form:
    """What a cloud's name of something looks like."""

    pattern: re.Pattern[str]
    example: str
    source: Source


EC2_RESERVATION = Form(
    re.compile(r"cr-[0-9a-z]+"),
    "cr-0123456789abcdef0",
    Source("capacityReservationSelectorTerms.id in the EC2NodeClass CRD v1.14.1", _LOOKED_UP),
)
"""On-demand capacity reservations, and capacity blocks: a block is launched into by its reservation's id."""
GCE_RESERVATION = Form(
    re.compile(
        r"(projects/[a-z][-a-z0-9.:]*/reservations/)?[a-z]([-a-z0-9]*[a-z0-9])?"
        r"(/reservationBlocks/[-a-z0-9]+(/reservationSubBlocks/[-a-z0-9]+)?)?"
    ),
    "projects/my-project/reservations/my-reservation",
    Source("values of reservation_affinity, cluster-toolkit v1.95.0 gke-node-pool", _LOOKED_UP),
)
RESERVATIONS: Mapping[str, Form] = {"aws": EC2_RESERVATION, "gcp": GCE_RESERVATION}
"""By cloud."""

EC2_ZONE = Form(
    re.compile(r"(?P<region>[a-z]{2}(-[a-z]+)+-\d+)(-[a-z]+-\d+)?[a-z]"),
    "us-east-1a",
    Source("availability-zone in EC2 DescribeInstanceTopology: us-west-2a, us-west-2-lax-1b", _LOOKED_UP),
)  # fmt: skip
GCE_ZONE = Form(
    re.compile(r"(?P<region>[a-z]+(-[a-z]+)+\d+)-[a-z]"),
    "us-central1-a",
    Source("zones of SkyPilot v9 gcp/vms.csv", _LOOKED_UP),
)
ZONES: Mapping[str, Form] = {"aws": EC2_ZONE, "gcp": GCE_ZONE}
"""By cloud."""
REGIONS: Mapping[str, Form] = {
    "aws": Form(re.compile(r"[a-z]{2}(-[a-z]+)+-\d+"), "us-east-1", EC2_ZONE.source),
    "gcp": Form(re.compile(r"[a-z]+(-[a-z]+)+\d+"), "us-central1", GCE_ZONE.source),
}
"""By cloud: a zone's name without what makes it one of several."""


@dataclass(frozen=True, slots=True)
class Stay:
    """How long a bought node stays, whatever runs on it."""

    hours: int | None
    """At most, counted from its start; None when an agreed moment ends it."""
    drained_before_end_minutes: int
    says: str
    source: Source


FLEX_START = Stay(
    hours=168,
    drained_before_end_minutes=0,
    says="at most 7 days",
    source=Source("GKE concepts, flex-start: maxRunDurationSeconds, seven days", _LOOKED_UP),
)
CAPACITY_BLOCK = Stay(
    hours=None,
    drained_before_end_minutes=40,
    says="until 40 minutes before its end",
    source=Source(
        "EKS and Karpenter drain a block 40 minutes before its end; EC2 stops instances at 30",
        _LOOKED_UP,
    ),
)

COMPACT_FLEX_START = ("a3-ultragpu-", "a4-")
"""GCE machines whose flex-start nodes may be placed compactly (cluster-toolkit v1.95.0)."""
