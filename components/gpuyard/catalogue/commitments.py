"""Commitment prices of machines: reserved instances, capacity blocks, committed use.

A price is all the money of the term divided by all its hours, whether the machine runs or not. What a cloud
sells and nobody publishes a price of is in `unpriced_of`, with the day it was looked for; it is never computed
from a discount. The bill and its break-even are `gpuyard.plan`'s.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache

from gpuyard.catalogue.machines import MACHINES, Capacity, Machine, Price, table_rows
from gpuyard.catalogue.sources import Source

_CHECKED = date(2026, 11, 21)
EC2_RESERVED_LIST = Source(
    "tsaol/aws-gpu at 77fcd9f, read from instances.vantage.sh (us-east-1, 2026-01-21); on-demand prices of the"
    " same list agree with ours",
    _CHECKED,
    verified=False,
)
EC2_BLOCK_LIST = Source(
    "koyakimu/ec2-capacity-blocks-for-ml-pricing-json at 15ff21e, read from AWS's page of capacity block prices"
    " on 2026-07-22; AWS changes them with demand",
    _CHECKED,
    verified=False,
)
ULTRASERVER = Source(
    "a ninth of u-p6e-gb200x36 in the same list: an UltraServer is sold whole, with 36 GPUs in nine machines",
    _CHECKED,
    verified=False,
)
GCE_COMMITTED_LIST = Source(
    "Cyclenerd/google-cloud-pricing-cost-calculator pricing.yml at fd66b26 (us-central1, generated 2026-07-30);"
    " its on-demand and spot prices agree with ours",
    _CHECKED,
)
LOOKED_FOR = Source(
    "looked for in the repositories of ec2instances.info, Cyclenerd's price lists, skypilot-catalog v9 and"
    " karpenter-provider-gcp",
    _CHECKED,
)

RESERVED_INSTANCE, SAVINGS_PLAN, CAPACITY_BLOCK, COMMITTED_USE, FLEX_START = (
    "reserved-instance",
    "savings-plan",
    "block",
    "cud",
    "flex-start",
)


@dataclass(frozen=True, slots=True)
class CommitmentPrice:
    """One way to commit to one machine, with its price."""

    kind: str
    """reserved-instance, savings-plan, block, cud or flex-start."""
    years: int | None
    """None: no term in years; a capacity block is bought by the day, flex-start runs seven days at most."""
    usd_per_hour: Price
    region: str
    upfront: bool = False
    """True when all of it is paid before the first hour."""

    @property
    def named(self) -> str:
        """`cud 3 years`, `block`."""
        return show_kind(self.kind, self.years)


@dataclass(frozen=True, slots=True)
class Unpriced:
    """A commitment that is sold, at a price nobody publishes in a form that could be read."""

    kind: str
    years: int | None
    since: date
    """The day on which the price was looked for and not found."""

    @property
    def named(self) -> str:
        """`savings-plan 1 year`."""
        return show_kind(self.kind, self.years)


def show_kind(kind: str, years: int | None) -> str:
    """`cud 3 years`, `cud 1 year`, `block`."""
    return kind if years is None else f"{kind} {years} year{'s' if years != 1 else ''}"


_EC2_RESERVED_1Y = """
# standard reserved instance, 1 year, nothing upfront, us-east-1
p4de.24xlarge      17.4014
p4d.24xlarge       13.9211
p3dn.24xlarge      19.2150
g6e.xlarge          1.1724
g6e.2xlarge         1.4125
g6e.4xlarge         1.8927
g6e.8xlarge         2.8530
g6e.12xlarge        6.6104
g6e.16xlarge        4.7736
g6e.24xlarge        9.4913
g6e.48xlarge       18.9826
g6.xlarge           0.5239
g6.2xlarge          0.6364
g6.4xlarge          0.8614
g6.8xlarge          1.3114
g6.12xlarge         2.9956
g6.16xlarge         2.2113
g6.24xlarge         4.3456
g6.48xlarge         8.6911
gr6.4xlarge         1.0020
gr6.8xlarge         1.5926
g5.xlarge           0.6338
g5.2xlarge          0.7636
g5.4xlarge          1.0231
g5.8xlarge          1.5422
g5.12xlarge         3.5734
g5.16xlarge         2.5805
g5.24xlarge         5.1307
g5.48xlarge        10.2614
g5g.xlarge          0.2646
g5g.2xlarge         0.3503
g5g.4xlarge         0.5216
g5g.8xlarge         0.8644
g5g.16xlarge        1.7287
g5g.metal           1.7287
g4dn.xlarge         0.3310
g4dn.2xlarge        0.4740
g4dn.4xlarge        0.7590
g4dn.8xlarge        1.3710
g4dn.12xlarge       2.4650
g4dn.16xlarge       2.7420
g4dn.metal          4.9290
"""

_EC2_BLOCKS = """
# type               usd/hour     region
p6-b300.48xlarge     112.3200  us-east-1
p6-b200.48xlarge      98.8400  us-east-1
p5en.48xlarge         54.9200  us-east-1
p5e.48xlarge          47.7600  us-east-2
p5.4xlarge             5.1910  us-east-1
p5.48xlarge           41.5280  us-east-1
p4de.24xlarge         17.7120  us-east-1
p4d.24xlarge          11.8000  us-east-1
p6e-gb200.36xlarge    42.3280  us-east-1-dfw-2a
"""

_GCE_CUDS = """
# type              1 year   3 years     resource-based committed use, us-central1
a2-highgpu-1g       2.3142    1.2857
a2-highgpu-2g       4.6284    2.5714
a2-highgpu-4g       9.2568    5.1428
a2-highgpu-8g      18.5137   10.2857
a2-megagpu-16g     35.1155   19.5092
a3-highgpu-1g       7.6730    4.8580
a3-highgpu-2g      15.3459    9.7161
a3-highgpu-4g      30.6918   19.4322
a3-highgpu-8g      61.3837   38.8644
g2-standard-4       0.4453    0.3181
g2-standard-8       0.5378    0.3841
g2-standard-12      0.6303    0.4502
g2-standard-16      0.7227    0.5162
g2-standard-24      1.2605    0.9004
g2-standard-32      1.0927    0.7805
g2-standard-48      2.5210    1.8007
g2-standard-96      5.0421    3.6015
g4-standard-6       0.3861    0.2461
g4-standard-12      0.7762    0.4949
g4-standard-24      1.5525    0.9897
g4-standard-48      3.1050    1.9794
g4-standard-96      6.2100    3.9589
g4-standard-192    12.4200    7.9178
g4-standard-384    24.8400   15.8356
e2-standard-2       0.0422    0.0302
e2-standard-4       0.0844    0.0603
e2-standard-8       0.1689    0.1206
n2-standard-4       0.1224    0.0874
n2-standard-8       0.2447    0.1748
n2-standard-16      0.4895    0.3496
c3-standard-4       0.1270    0.0907
c3-standard-8       0.2540    0.1814
"""


@cache
def _priced() -> Mapping[str, tuple[CommitmentPrice, ...]]:
    """Parsed when somebody asks first: most commands never do."""
    found: dict[str, list[CommitmentPrice]] = {}

    def add(
        machine: str, kind: str, years: int | None, usd: str, where: str, source: Source
    ) -> None:
        price = Price(float(usd), float(usd), source)
        upfront = kind == CAPACITY_BLOCK
        found.setdefault(machine, []).append(CommitmentPrice(kind, years, price, where, upfront))

    for machine, usd in table_rows(_EC2_RESERVED_1Y):
        add(machine, RESERVED_INSTANCE, 1, usd, "us-east-1", EC2_RESERVED_LIST)
    for machine, usd, region in table_rows(_EC2_BLOCKS):
        source = ULTRASERVER if machine.startswith("p6e") else EC2_BLOCK_LIST
        add(machine, CAPACITY_BLOCK, None, usd, region, source)
    for machine, one, three in table_rows(_GCE_CUDS):
        add(machine, COMMITTED_USE, 1, one, "us-central1", GCE_COMMITTED_LIST)
        add(machine, COMMITTED_USE, 3, three, "us-central1", GCE_COMMITTED_LIST)
    return {machine: tuple(each) for machine, each in found.items()}


def commitments_of(machine_name: str) -> tuple[CommitmentPrice, ...]:
    """The commitments with a known price, shortest term first; none for a machine nobody sells."""
    return _priced().get(machine_name, ())


def capacity_block(machine_name: str) -> CommitmentPrice | None:
    """What an hour of a capacity block costs, None when nobody has said: for the bill and for offers alike."""
    return next((c for c in commitments_of(machine_name) if c.kind == CAPACITY_BLOCK), None)


def unpriced_of(machine_name: str) -> tuple[Unpriced, ...]:
    """What else is sold for a machine, at a price that is unknown."""
    machine = MACHINES.get(machine_name)
    if machine is None:
        return ()
    known = {(c.kind, c.years) for c in commitments_of(machine_name)}
    return tuple(
        Unpriced(kind, years, LOOKED_FOR.checked_on)
        for kind, years in _sold(machine)
        if (kind, years) not in known
    )


def _sold(machine: Machine) -> Iterator[tuple[str, int | None]]:
    """Commitments a cloud sells for a machine, priced or not.

    Reserved instances are counted only where one was seen: newer GPU types have savings plans in their place.
    """
    if Capacity.RESERVED in machine.sold:
        if machine.cloud == "gcp":
            yield from ((COMMITTED_USE, 1), (COMMITTED_USE, 3))
        else:
            yield from ((SAVINGS_PLAN, 1), (SAVINGS_PLAN, 3))
            if _has_reserved(machine.name):
                yield (RESERVED_INSTANCE, 3)
    if Capacity.BLOCK in machine.sold:
        yield (CAPACITY_BLOCK, None)
    if Capacity.FLEX_START in machine.sold:
        yield (FLEX_START, None)


def _has_reserved(machine_name: str) -> bool:
    return any(c.kind == RESERVED_INSTANCE for c in commitments_of(machine_name))
