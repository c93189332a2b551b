"""What a node costs: yours before the catalogue's, a discount on list prices only, unknown stays unknown."""

import pytest

from gpuyard.plan.money.prices import commitment_price, node_price
from gpuyard.spec.sections import Prices
from gpuyard_core.catalogue.commitments import LOOKED_FOR
from gpuyard_core.catalogue.machines import MACHINES, Capacity
from kit.every import every
from kit.stacks import platform, pool, spec_of

DAY = "2026-07-20"
NEVER = "price unknown as of 2026-11-21"
UNDATED = "of unknown date, read on 2026-11-21"
"""Of a source that says no day."""
SEEN = " in us-east-1 on 2026-01-21, not verified"
SEEN_LAST = " in us-east-1 on 2025-11-30, not verified"
P5, MEGA = MACHINES["p5.48xlarge"], MACHINES["a3-megagpu-8g"]
LIST = P5.on_demand.high
LOW, HIGH = P5.spot.low, P5.spot.high
NO_SPOT = MACHINES["g5g.xlarge"]
UNPRICED = MACHINES["p5e.48xlarge"]
"""Sold in capacity blocks, and no price on demand is known."""


def prices(**given):
    return spec_of(platform([pool()], prices=given)).prices


def ends(machine, mode, **given):
    found = node_price(prices(**given) if given else None, machine, mode)
    return found.low, found.mean, found.high


def mine(**given):
    return {"machines": {"p5.48xlarge": given}}


@every(
    ("mode", "given", "expected"),
    [
        (Capacity.ON_DEMAND, {}, (LIST, LIST, LIST)),
        (Capacity.RESERVED, {}, (LIST, LIST, LIST)),
        (Capacity.SPOT, {}, (LOW, (LOW + HIGH) / 2, HIGH)),
        (Capacity.BLOCK, {}, (41.528, 41.528, 41.528)),
        (Capacity.FLEX_START, {}, (None, None, LIST)),
        # a discount is on the list price on demand and on what is billed at it
        (Capacity.ON_DEMAND, {"discount_percent": 25}, (LIST * 0.75,) * 3),
        (Capacity.RESERVED, {"discount_percent": 25}, (LIST * 0.75,) * 3),
        (Capacity.SPOT, {"discount_percent": 25}, (LOW, (LOW + HIGH) / 2, HIGH)),
        (Capacity.BLOCK, {"discount_percent": 25}, (41.528,) * 3),
        (Capacity.FLEX_START, {"discount_percent": 25}, (None, None, LIST)),
        (Capacity.ON_DEMAND, {"discount_percent": 100}, (0, 0, 0)),
        # prices by machine win over the discount
        (Capacity.ON_DEMAND, mine(on_demand=42.5) | {"discount_percent": 25}, (42.5,) * 3),
        (Capacity.RESERVED, mine(on_demand=42.5), (42.5,) * 3),
        (Capacity.RESERVED, mine(on_demand=42.5, reserved=30), (30,) * 3),
        (Capacity.BLOCK, mine(reserved=30), (30,) * 3),
        (Capacity.BLOCK, mine(on_demand=42.5), (41.528,) * 3),
        (Capacity.ON_DEMAND, mine(reserved=30), (LIST,) * 3),
        # an average moves what is expected, not how good or bad an hour can be
        (Capacity.SPOT, mine(spot=18), (LOW, 18, HIGH)),
        (Capacity.SPOT, mine(spot=10), (10, 10, HIGH)),
        (Capacity.SPOT, mine(spot=25), (LOW, 25, 25)),
        (Capacity.FLEX_START, mine(on_demand=42.5), (None, None, LIST)),
    ],
)
def test_what_a_node_costs_at_least_on_average_and_at_most(mode, given, expected):
    found = ends(P5, mode, **given)
    assert found == pytest.approx(expected)


def test_another_machines_price_is_not_this_ones():
    assert ends(P5, Capacity.ON_DEMAND, machines={"p4d.24xlarge": 1.0}) == (LIST,) * 3


@pytest.mark.parametrize(
    ("machine", "mode", "given", "expected"),
    [
        (NO_SPOT, Capacity.SPOT, {}, (None, None, 0.42)),
        (NO_SPOT, Capacity.SPOT, {"machines": {"g5g.xlarge": {"spot": 0.2}}}, (0.2, 0.2, 0.42)),
        (UNPRICED, Capacity.ON_DEMAND, {}, (None, None, None)),
        (UNPRICED, Capacity.ON_DEMAND, {"discount_percent": 10}, (None, None, None)),
        (UNPRICED, Capacity.FLEX_START, {}, (None, None, None)),
        (UNPRICED, Capacity.BLOCK, {}, (47.76, 47.76, 47.76)),
        (NO_SPOT, Capacity.BLOCK, {}, (None, None, None)),
        (UNPRICED, Capacity.ON_DEMAND, {"machines": {"p5e.48xlarge": 50}}, (50, 50, 50)),
        (UNPRICED, Capacity.FLEX_START, {"machines": {"p5e.48xlarge": 50}}, (None, None, 50)),
    ],
)
def test_what_nobody_published_is_unknown_and_only_bounded_by_the_price_on_demand(
    machine, mode, given, expected
):
    assert ends(machine, mode, **given) == expected


def test_an_average_of_a_machine_without_any_other_price_is_all_there_is():
    own = spec_of(
        platform([pool(machine={"gpu": "H100", "gpus": 8, "cpu": 96, "memory_gib": 1000})])
    )
    from gpuyard.plan import plan

    machine = plan(own)[0].pools[0].machine
    found = node_price(prices(machines={machine.name: {"spot": 7}}), machine, Capacity.SPOT)
    assert (found.low, found.mean, found.high) == (7, 7, 7)


@pytest.mark.parametrize(
    ("machine", "mode", "given", "basis"),
    [
        (P5, Capacity.ON_DEMAND, {}, f"list price in us-east-1 on {DAY}"),
        (P5, Capacity.ON_DEMAND, {"discount_percent": 12.5}, f"list price in us-east-1 on {DAY}, 12.5 % off"),
        (P5, Capacity.SPOT, {}, f"spot price in us-east-1 {UNDATED}"),
        (P5, Capacity.SPOT, mine(spot=18), f"your average spot price, within the listed range {UNDATED}"),
        (NO_SPOT, Capacity.SPOT, {"machines": {"g5g.xlarge": {"spot": 1}}}, "your average spot price"),
        (P5, Capacity.ON_DEMAND, mine(on_demand=1), "your price"),
        (P5, Capacity.RESERVED, mine(reserved=1), "your price for reserved nodes"),
        (P5, Capacity.BLOCK, {}, "capacity block price in us-east-1 on 2026-07-22, not verified"),
        (P5, Capacity.FLEX_START, {}, f"flex-start {NEVER} (at most the on-demand price)"),
        (UNPRICED, Capacity.FLEX_START, {}, "flex-start price unknown as of 2026-11-21"),
        (UNPRICED, Capacity.ON_DEMAND, {}, "price unknown as of 2026-11-21"),
        (MEGA, Capacity.ON_DEMAND, {}, f"list price in us-central1 {UNDATED}, not verified"),
    ],
)  # fmt: skip
def test_a_price_says_where_it_is_from(machine, mode, given, basis):
    found = node_price(prices(**given) if given else None, machine, mode)
    assert found.basis == basis
    assert found.mode == mode.value


def test_a_listed_price_has_its_source_and_yours_has_none():
    assert node_price(None, P5, Capacity.SPOT).source == P5.spot.source.title
    assert node_price(prices(**mine(spot=18)), P5, Capacity.SPOT).source == P5.spot.source.title
    assert node_price(prices(**mine(on_demand=1)), P5, Capacity.ON_DEMAND).source == ""


@pytest.mark.parametrize(
    ("machine", "years", "entry", "given", "usd", "basis"),
    [
        ("p5.48xlarge", 1, 28, {}, 28, "your price"),
        ("p5.48xlarge", 1, 28, mine(reserved=30), 28, "your price"),
        ("p5.48xlarge", 1, None, mine(reserved=30), 30, "your price for reserved nodes"),
        ("p5.48xlarge", 1, None, mine(on_demand=30), None, f"price unknown as of {LOOKED_FOR.checked_on}"),
        ("p5.48xlarge", 3, None, {}, 23.7773, "reserved-instance 3 years" + SEEN_LAST),
        ("m7i.xlarge", 3, None, {}, None, "price unknown as of 2026-11-21"),
        ("p4d.24xlarge", 1, None, {}, 13.9211, "reserved-instance 1 year" + SEEN),
        ("p4d.24xlarge", 3, None, {}, 9.3742, "reserved-instance 3 years" + SEEN_LAST),
        ("a2-highgpu-1g", 3, None, {}, 1.2857, "cud 3 years in us-central1 on 2026-07-30"),
        ("a2-highgpu-1g", 2, None, {}, None, "price unknown as of 2026-11-21"),
    ],
)  # fmt: skip
def test_what_a_commitment_costs(machine, years, entry, given, usd, basis):
    found = commitment_price(prices(**given) if given else Prices(), machine, years, entry)
    assert (found.usd, found.basis) == (usd, basis)
    assert found.region == next((r for r in ("us-east-1", "us-central1") if r in basis), None)
