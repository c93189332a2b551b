"""What commitments cost: every row against rules that hold for all, and what is unknown stays unknown."""

from datetime import UTC, datetime

import pytest

from gpuyard_core.catalogue import commitments
from gpuyard_core.catalogue.commitments import commitments_of, unpriced_of
from gpuyard_core.catalogue.machines import MACHINES, Capacity
from gpuyard_core.catalogue.sources import find_source
from kit.every import every

TODAY = datetime.now(UTC).date()
ROWS = [
    pytest.param(MACHINES[name], commitment, id=f"{name} {commitment.named}")
    for name in MACHINES
    for commitment in commitments_of(name)
]
ALL = [pytest.param(m, id=n) for n, m in MACHINES.items()]


@every(("machine", "commitment"), ROWS)
def test_a_commitment_is_sold_for_its_machine(machine, commitment):
    needed = Capacity.BLOCK if commitment.kind == commitments.CAPACITY_BLOCK else Capacity.RESERVED
    assert needed in machine.sold
    kinds = {"aws": {"reserved-instance", "savings-plan", "block"}, "gcp": {"cud", "flex-start"}}
    assert commitment.kind in kinds[machine.cloud]


@every(("machine", "commitment"), ROWS)
def test_a_commitment_costs_less_than_paying_as_one_goes(machine, commitment):
    price = commitment.usd_per_hour
    assert 0 < price.low <= price.high
    if machine.on_demand is not None:
        assert 0.25 * machine.on_demand.low < price.high < machine.on_demand.low


@every(("machine", "commitment"), ROWS)
def test_a_commitment_says_where_since_when_and_by_whom(machine, commitment):
    source = commitment.usd_per_hour.source
    assert source.title
    assert source.checked_on <= TODAY
    assert commitment.region.startswith("us-")
    assert commitment.region == machine.region or machine.on_demand is None


@every("machine", ALL)
def test_a_longer_term_costs_less(machine):
    terms = sorted(
        (c.years, c.usd_per_hour.low) for c in commitments_of(machine.name) if c.years is not None
    )
    prices = [usd for _, usd in terms]
    assert prices == sorted(prices, reverse=True)


@every("machine", ALL)
def test_each_way_to_commit_is_priced_once_or_unknown_since_a_day(machine):
    priced = [(c.kind, c.years) for c in commitments_of(machine.name)]
    unknown = [(u.kind, u.years) for u in unpriced_of(machine.name)]
    assert len({*priced, *unknown}) == len(priced) + len(unknown)
    assert all(u.since <= TODAY for u in unpriced_of(machine.name))
    can = machine.sold & {Capacity.RESERVED, Capacity.BLOCK, Capacity.FLEX_START}
    assert bool(priced or unknown) == bool(can)
    named = {kind for kind, _ in priced + unknown}
    assert ("block" in named) == (Capacity.BLOCK in machine.sold)
    assert ("flex-start" in named) == (Capacity.FLEX_START in machine.sold)


@pytest.mark.parametrize(
    ("name", "priced", "unknown"),
    [
        (
            "p5.48xlarge",
            "reserved-instance 3 years 23.7773, block 41.528",
            "savings-plan 1 year, savings-plan 3 years",
        ),
        ("p5en.48xlarge", "block 54.92", "savings-plan 1 year, savings-plan 3 years"),
        (
            "p4d.24xlarge",
            "reserved-instance 1 year 13.9211, reserved-instance 3 years 9.3742, block 11.8",
            "savings-plan 1 year, savings-plan 3 years",
        ),
        ("p6e-gb200.36xlarge", "block 42.328", ""),
        ("a3-highgpu-8g", "cud 1 year 61.3837, cud 3 years 38.8644", "flex-start"),
        ("a2-ultragpu-8g", "", "cud 1 year, cud 3 years, flex-start"),
        ("e2-standard-4", "cud 1 year 0.0844, cud 3 years 0.0603", ""),
        ("m7i.xlarge", "", "savings-plan 1 year, savings-plan 3 years"),
        ("no-such-machine", "", ""),
    ],
)
def test_what_is_known_and_what_is_not(name, priced, unknown):
    known = ", ".join(f"{c.named} {c.usd_per_hour.low:g}" for c in commitments_of(name))
    assert known == priced
    assert ", ".join(u.named for u in unpriced_of(name)) == unknown


def test_only_a_capacity_block_is_paid_before_it_starts():
    for _, commitment in (row.values for row in ROWS):
        assert commitment.upfront == (commitment.kind == "block")


def test_an_ultraserver_is_shared_out_evenly():
    (block,) = commitments_of("p6e-gb200.36xlarge")
    assert block.usd_per_hour.low == pytest.approx(380.952 / 9, abs=1e-4)
    assert block.usd_per_hour.source == find_source("commitments.ultraserver")
