"""Which rung gives how many nodes, at its edges."""

from datetime import date

import pytest

from gpuyard.plan.money.bill import (
    PricedOption,
    always_paid_nodes,
    most_covered,
    nodes_by_highest_price,
    nodes_by_preference,
)
from gpuyard.plan.records import NodePrice


def step(mode, cap=None, usd=1.0):
    price = NodePrice(
        mode=mode, low=usd, mean=usd, high=usd, basis="", checked_on=date(2026, 11, 21)
    )
    return PricedOption(price, cap, is_prepaid=mode in {"reserved", "block"})


SPOT, OD = step("spot", usd=2.0), step("on-demand", usd=5.0)
RESERVED = step("reserved", 3, usd=5.0)


@pytest.mark.parametrize(
    ("steps", "running", "nodes"),
    [
        ([OD], 0, (0,)),
        ([OD], 4, (4,)),
        ([RESERVED, OD], 0, (3, 0)),
        ([RESERVED, OD], 3, (3, 0)),
        ([RESERVED, OD], 4, (3, 1)),
        ([OD, RESERVED], 4, (1, 3)),
        ([SPOT, OD], 4, (4, 0)),
        ([step("spot", 2), OD], 2, (2, 0)),
        ([step("spot", 2), OD], 5, (2, 3)),
        ([step("spot", 2), step("flex-start", 1), OD], 2.5, (2, 0.5, 0)),
        ([RESERVED, step("block", 1), SPOT], 4.5, (3, 1, 0.5)),
    ],
)
def test_reserved_nodes_always_and_the_others_in_the_order_of_the_ladder(steps, running, nodes):
    assert nodes_by_preference(steps, running) == nodes


@pytest.mark.parametrize(
    ("steps", "running", "nodes"),
    [
        ([SPOT, OD], 4, (0, 4)),
        ([OD, SPOT], 4, (4, 0)),
        ([SPOT, step("on-demand", 3, usd=5.0)], 4, (1, 3)),
        ([RESERVED, SPOT], 5, (3, 2)),
        ([SPOT, step("flex-start", usd=None)], 4, (0, 4)),
        ([step("flex-start", 1, usd=None), OD, SPOT], 4, (1, 3, 0)),
        ([step("spot", usd=5.0), OD], 4, (4, 0)),
    ],
)
def test_at_worst_the_dearest_rung_gives_what_it_can(steps, running, nodes):
    assert nodes_by_highest_price(steps, running) == nodes


@pytest.mark.parametrize(
    ("steps", "nodes", "covered"),
    [
        ([OD], 4, 4),
        ([SPOT], 4, 0),
        ([RESERVED, SPOT], 4, 3),
        ([RESERVED, OD], 4, 4),
        ([SPOT, step("on-demand", 2)], 4, 2),
        ([step("block", 2), SPOT], 4, 0),
        ([RESERVED, step("reserved", 2)], 4, 4),
    ],
)
def test_commitments_pay_for_reserved_nodes_and_those_on_demand(steps, nodes, covered):
    assert most_covered(steps, nodes) == covered


def test_what_is_held_is_reserved_or_in_a_block():
    assert always_paid_nodes([RESERVED, step("block", 2), SPOT, step("on-demand", 4)]) == 5
