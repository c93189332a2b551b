"""Capacity blocks that are bought; what is refused has proofs of its own (capacity.block_*)."""

import pytest

from gpuyard.plan.records.pools import CapacityBlock
from gpuyard.spec.pools import CapacityOptionSpec
from kit.stacks import findings, plan_of, platform, pool, spec_of

OFFER = "cb-0123456789abcdef0"
BUYS = {"hours": 48, "starts": "2026-12-01", "usd": 9600}


def on_aws(*rungs, **rest):
    return platform(
        [pool(nodes="0..4", zones=["us-east-1a"], capacity=list(rungs), **rest)], cloud="aws"
    )


def block(**rest):
    return {"block": OFFER, "nodes": 4, "purchase": BUYS, **rest}


def said(raw, kind="capacity.block_buys"):
    return [each for each in findings(raw) if each.id == kind]


def test_the_plan_has_what_is_bought_and_says_what_it_costs():
    (train,) = plan_of(on_aws(block())).pools
    (rung,) = train.capacity_options
    assert (rung.purchase.hours, str(rung.purchase.starts), rung.purchase.usd) == (
        48,
        "2026-12-01",
        9600,
    )
    assert isinstance(rung.purchase, CapacityBlock)
    (words,) = train.capacity
    assert words == (
        f"block {OFFER} (4 nodes), purchased for $9,600.00 upfront: 48 hours from 2026-12-01,"
        " until 40 minutes before its end"
    )


def test_the_bill_has_it_at_the_price_that_was_agreed_to():
    line = next(each for each in plan_of(on_aws(block())).bill.lines if each.pool == "train")
    assert line.minimum_usd_per_hour == pytest.approx(9600 / 48)
    assert line.basis == f"approved price of {OFFER}"
    assert line.note == (
        "4 reserved nodes are paid even when idle;"
        f" {OFFER} is paid once, for 48 hours, not by the month"
    )


def test_costs_without_it_are_unknown_where_the_rest_of_the_bill_is():
    (finding,) = said(on_aws(block(nodes=2), "spot", machine="p5e.48xlarge"))
    assert "everything else costs" in finding.problem
    unknown = platform(
        [
            pool(nodes="0..4", zones=["us-east-1a"], capacity=[block()]),
            pool("rest", machine="p5e.48xlarge", nodes=2),
        ],
        cloud="aws",
    )
    (finding,) = said(unknown)
    assert "everything else" not in finding.problem


def test_of_a_machine_that_is_sold_in_no_block_nothing_is_compared_and_no_price_is_said():
    raw = on_aws({"block": OFFER, "nodes": 4, "purchase": {**BUYS, "usd": 1}}, machine="g6.xlarge")
    assert said(raw, "capacity.block_price") == []
    without = on_aws({"block": OFFER, "nodes": 4}, machine="g6.xlarge")
    (finding,) = said(without, "capacity.block_agreed")
    assert "would purchase 4 nodes, paid upfront and not refundable" in finding.problem


def test_an_offer_is_for_one_pool():
    twice = platform(
        [
            pool(name, nodes="0..4", zones=["us-east-1a"], capacity=[block()])
            for name in ("one", "two")
        ],
        cloud="aws",
    )
    (finding,) = said(twice, "capacity.reservation_twice")
    assert (
        finding.problem == "one purchases this block: an offering is purchased once, for one pool"
    )


def test_what_is_bought_is_written_as_it_was():
    (written,) = spec_of(on_aws(block())).pools[0].capacity
    again = written.model_dump(mode="json")
    assert again == {"block": OFFER, "nodes": 4, "purchase": {**BUYS, "usd": 9600.0}}
    assert CapacityOptionSpec.model_validate(again) == written


def test_a_rung_that_only_buys_is_written_as_it_was_given():
    given = {"spot": True, "purchase": BUYS}
    assert CapacityOptionSpec.model_validate(given).model_dump(mode="json") == {
        "spot": True,
        "purchase": BUYS,
    }
