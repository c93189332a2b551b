"""Commitments: what they pay for, in which order, what is idle, when they pay off, what is on offer."""

import pytest

from gpuyard.plan.money.savings import savings
from gpuyard_core.catalogue.machines import MACHINES
from kit.stacks import SYSTEM, findings, ids, plan_of, platform, pool, spec_of, team

LIST = MACHINES["p5.48xlarge"].on_demand.high
SPOT = MACHINES["p5.48xlarge"].spot
A100 = MACHINES["p4d.24xlarge"].on_demand.high
HALF = {"targets": {"utilisation_percent": 50}}


def commit(nodes, usd=30.0, machine="p5.48xlarge", **rest):
    return {"machine": machine, "nodes": nodes, **({"usd_per_hour": usd} if usd else {}), **rest}


def bill(pools, *commitments, machines=None, **rest):
    prices = {"commitments": list(commitments), "machines": machines or {}}
    return plan_of(platform(pools, prices=prices, **{**HALF, **rest})).bill


def costs(line):
    return (line.minimum_usd_per_hour, line.expected_usd_per_hour, line.maximum_usd_per_hour)


@pytest.mark.parametrize(
    ("nodes", "committed", "minimum", "expected", "maximum", "idle"),
    [
        (4, 4, 120, 120, 120, (0, 0, 0)),
        (4, 2, 60 + 2 * LIST, 60 + 2 * LIST, 60 + 2 * LIST, (0, 0, 0)),
        ("0..4", 2, 0, 60, 60 + 2 * LIST, (2, 0, 0)),
        ("0..4", 3, 0, 60, 90 + LIST, (3, 1, 0)),
        ("1..4", 1, 30, 30 + LIST, 30 + 3 * LIST, (0, 0, 0)),
        ("0..4", 4, 0, 60, 120, (4, 2, 0)),
    ],
)
def test_committed_nodes_cost_what_was_promised_and_are_paid_when_idle_too(
    nodes, committed, minimum, expected, maximum, idle
):
    found = bill([pool(nodes=nodes)], commit(committed))
    (line,), (entry,) = found.lines, found.commitments
    assert costs(line) == pytest.approx((minimum, expected, maximum))
    assert (entry.idle_minimum, entry.idle_expected, entry.idle_maximum) == idle
    assert found.minimum_usd_per_hour == pytest.approx(minimum + 30 * idle[0])
    assert found.expected_usd_per_hour == pytest.approx(expected + 30 * idle[1])
    assert found.maximum_usd_per_hour == pytest.approx(maximum + 30 * idle[2])


def test_pools_are_covered_in_the_order_of_the_file_and_commitments_in_theirs():
    found = bill(
        [pool("a", nodes=2), pool("b", nodes="0..4"), pool("c", machine="p4d.24xlarge", nodes=1)],
        commit(3, 30.0),
        commit(1, 20.0, years=3),
    )
    first, second = found.commitments
    assert [(c.pool, c.minimum, c.expected, c.baseline, c.burst) for c in first.covers] == [
        ("a", 2, 2, 2, 0),
        ("b", 0, 1, 1, 3),
    ]
    assert [(c.pool, c.minimum, c.expected, c.baseline, c.burst) for c in second.covers] == [
        ("b", 0, 1, 1, 3)
    ]
    assert costs(found.lines[1]) == pytest.approx((0, 50, 50 + 2 * LIST))
    assert found.lines[2].expected_usd_per_hour == pytest.approx(A100)
    assert (first.years, second.years) == (1, 3)


@pytest.mark.parametrize(
    ("ladder", "minimum", "expected", "maximum"),
    [
        # spot comes first and never counts; at worst all nodes are on demand, and perhaps none is covered
        (["spot", "on-demand"], 0, 2 * (SPOT.low + SPOT.high) / 2, 4 * LIST),
        (["spot"], 0, 2 * (SPOT.low + SPOT.high) / 2, 4 * SPOT.high),
        (["on-demand", "spot"], 0, 60, 4 * LIST),
        ([{"reserved": "r", "nodes": 2}, "spot"], 60, 60, 60 + 2 * SPOT.high),
        ([{"reserved": "r", "nodes": 1}, "on-demand"], 30, 60, 60 + 2 * LIST),
        (
            [{"reserved": "r", "nodes": 1}, {"spot": True, "nodes": 3}],
            30,
            30 + (SPOT.low + SPOT.high) / 2,
            30 + 3 * SPOT.high,
        ),
        ([{"block": "b", "nodes": 2}, "on-demand"], 2 * 41.528, 2 * 41.528, 2 * 41.528 + 60),
    ],
)
def test_only_reserved_nodes_and_those_on_demand_are_covered(ladder, minimum, expected, maximum):
    found = bill([pool(nodes="0..4", capacity=ladder)], commit(2))
    assert costs(found.lines[0]) == pytest.approx((minimum, expected, maximum))


def test_reserved_nodes_are_covered_before_those_on_demand_wherever_they_stand():
    ladder = ["on-demand", {"reserved": "r", "nodes": 1}]
    found = bill(
        [pool(nodes=2, capacity=ladder)],
        commit(1, 10.0),
        machines={"p5.48xlarge": {"on_demand": 50.0, "reserved": 40.0}},
    )
    assert costs(found.lines[0]) == (60, 60, 60)


def test_of_several_machines_the_first_is_covered_and_at_worst_none():
    dev = pool("dev", machine=["g6.12xlarge", "g6.24xlarge"], nodes=2)
    found = bill([dev], commit(2, 3.0, "g6.12xlarge"))
    assert costs(found.lines[0]) == pytest.approx((6, 6, 2 * 6.6752))
    assert found.commitments[0].idle_maximum == 2


def test_system_nodes_are_covered_too():
    found = bill([pool()], commit(2, 0.1, "m7i.xlarge"), system=SYSTEM)
    assert costs(found.lines[0]) == pytest.approx((0.2, 0.2, 0.2))


def test_a_commitment_at_an_unknown_price_makes_what_it_covers_unknown():
    found = bill([pool(nodes="0..2"), pool("b")], commit(3, None))
    assert costs(found.lines[0]) == (0.0, None, None)
    assert costs(found.lines[1])[0] is None
    assert found.minimum.unknown == ("b",)
    assert found.commitments[0].idle_min_usd == 0
    idle = bill([pool(nodes="0..2")], commit(2, None))
    assert idle.minimum.unknown == ("commitment to p5.48xlarge",)
    assert idle.commitments[0].idle_min_usd is None
    assert idle.shares[-1].minimum.unknown == ("commitment to p5.48xlarge",)


def test_an_unknown_commitment_beside_a_known_one_leaves_the_pool_unknown():
    found = bill([pool(nodes=3)], commit(1, None), commit(1, 20.0))
    assert found.lines[0].minimum_usd_per_hour is None
    found = bill([pool(nodes=3)], commit(1, 20.0), commit(1, None))
    assert found.lines[0].minimum_usd_per_hour is None


@pytest.mark.parametrize(
    ("usd", "on_demand", "percent"),
    [(30.0, 60.0, 50), (60.0, 60.0, 100), (90.0, 60.0, 150), (None, 60.0, None)],
)
def test_a_commitment_is_cheaper_from_the_share_of_the_time_that_its_price_is_of_the_other(
    usd, on_demand, percent
):
    entry = bill(
        [pool()], commit(1, usd), machines={"p5.48xlarge": {"on_demand": on_demand}}
    ).commitments[0]
    assert entry.break_even_percent == percent
    assert entry.on_demand_usd == on_demand


def test_break_even_is_unknown_without_a_price_on_demand_and_for_a_machine_that_costs_nothing():
    assert bill([pool(machine="p5e.48xlarge", capacity=[{"block": "b", "nodes": 4}])],
                commit(1, 9.0, "p5e.48xlarge")).commitments[0].break_even_percent is None  # fmt: skip
    free = plan_of(platform(prices={"discount_percent": 100, "commitments": [commit(1)]})).bill
    assert free.commitments[0].break_even_percent is None


def test_a_commitment_that_no_pool_uses_is_in_the_bill_and_nobodys():
    raw = platform(
        [pool()],
        [team(guarantee={"train": 32})],
        prices={"commitments": [commit(2, 10.0, "p4d.24xlarge")]},
    )
    found = plan_of(raw).bill
    assert found.minimum_usd_per_hour == pytest.approx(4 * LIST + 20)
    assert found.commitments[0].on_demand_usd is None
    vision, nobodys = found.shares
    assert vision.maximum.usd == pytest.approx(4 * LIST)
    assert (nobodys.minimum.usd, nobodys.maximum.usd) == (20, 20)
    assert ids(raw) == ["prices.no_pool"]


def test_a_refused_pool_hides_what_commitments_would_have_been_used_for():
    raw = platform(
        [pool(machine="??")], prices={"commitments": [commit(9)], "machines": {"p9": 1.0}}
    )
    assert ids(raw) == ["pool.machine_unknown", "checks.waiting"]


def test_a_pool_of_a_misspelt_machine_is_judged_as_if_it_were_mended():
    raw = platform(
        [pool(machine="p5.48xlarg")], prices={"commitments": [commit(9)], "machines": {"p9": 1.0}}
    )
    assert ids(raw) == [
        "pool.machine_unknown",
        "prices.unknown_machine",
        "prices.unused_commitment",
    ]


def test_one_commitment_may_be_both_unused_and_of_unknown_price():
    raw = platform([pool(nodes=1)], prices={"commitments": [commit(2, None)]})
    assert ids(raw) == ["prices.commitment_unpriced", "prices.unused_commitment"]


@pytest.mark.parametrize(
    ("ladder", "allowed"),
    [(["on-demand"], "at most 1"), (["spot"], "none; spot nodes do not count")],
)
def test_an_unused_commitment_says_how_much_of_it_could_be_used(ladder, allowed):
    (finding,) = findings(
        platform([pool(nodes=1, capacity=ladder)], prices={"commitments": [commit(2)]})
    )
    assert (finding.given, finding.allowed) == ("2", allowed)


def test_an_unknown_machine_is_said_once():
    raw = platform(prices={"commitments": [commit(2, None, "p5.48xlarg")]})
    assert ids(raw) == ["prices.unknown_machine"]


def test_the_price_list_may_name_machines_of_other_platforms():
    assert findings(platform(prices={"machines": {"a3-highgpu-8g": 40.0}})) == []


# ── what is on offer ───────────────────────────────────────────────────────────────────────────────


def offered(pools, **rest):
    raw = platform(pools, **{**HALF, **rest})
    return savings(spec_of(raw).prices, plan_of(raw).bill)


def test_what_one_and_three_years_would_save_at_the_floor_and_as_expected():
    found, unknown = offered([pool(machine="a2-highgpu-1g", nodes="2..8")], cloud="gcp")
    now = MACHINES["a2-highgpu-1g"].on_demand.high
    by_name = {s.commitment: s for s in found if s.pool == "train"}
    assert list(by_name) == ["cud 1 year", "cud 3 years"]
    three = by_name["cud 3 years"]
    assert (three.min_nodes, three.expected_nodes, three.usd_per_node) == (2, 4, 1.2857)
    assert three.minimum_usd_per_month == pytest.approx(2 * (now - 1.2857) * 730)
    assert three.expected_usd_per_month == pytest.approx(4 * (now - 1.2857) * 730)
    assert three.break_even_percent == pytest.approx(100 * 1.2857 / now)
    assert (three.verified, str(three.checked_on)) == (True, "2026-11-21")
    assert unknown == ()


def test_your_price_on_demand_is_what_is_saved_against():
    rest = {"cloud": "gcp", "prices": {"machines": {"a2-highgpu-1g": 1.0}}}
    found, _ = offered([pool(machine="a2-highgpu-1g", nodes=4)], **rest)
    one = next(s for s in found if s.commitment == "cud 1 year" and s.pool == "train")
    assert one.break_even_percent == pytest.approx(231.42)
    assert one.minimum_usd_per_month < 0


def test_what_is_sold_at_a_price_nobody_publishes_is_said():
    found, unknown = offered([pool(nodes=4), pool("b", nodes=1)])
    assert [s.commitment for s in found] == ["reserved-instance 3 years"] * 2
    (none,) = unknown
    assert (none.machine, none.commitments) == (
        "p5.48xlarge",
        ("savings-plan 1 year", "savings-plan 3 years"),
    )
    assert str(none.since) == "2026-11-21"


@pytest.mark.parametrize(
    "pools",
    [
        [pool(nodes="0..1")],  # half a node runs on average
        [pool(nodes="0..8", capacity=["spot"])],
        [pool(nodes=4, capacity=[{"block": "b", "nodes": 4}])],
    ],
)
def test_nothing_is_offered_for_less_than_a_node_or_for_what_commitments_do_not_cover(pools):
    assert offered(pools) == ((), ())


def test_what_is_committed_already_is_left_out_of_what_is_offered():
    given = {"prices": {"commitments": [commit(3, 15.0, "p4d.24xlarge")]}}
    found, _ = offered([pool(machine="p4d.24xlarge", nodes="1..8")], **given)
    assert [s.commitment for s in found] == [
        f"reserved-instance {n}" for n in ("1 year", "3 years")
    ]
    assert [(s.min_nodes, s.expected_nodes) for s in found] == [(0, 1)] * 2
    assert found[0].minimum_usd_per_month == 0
    given = {"prices": {"commitments": [commit(4, 15.0, "p4d.24xlarge")]}}
    assert offered([pool(machine="p4d.24xlarge", nodes="1..8")], **given) == ((), ())


def test_nothing_is_offered_against_a_price_nobody_knows_or_for_a_machine_of_your_own():
    own = {"gpu": "H100", "gpus": 8, "cpu": 192, "memory_gib": 2048}
    assert offered([pool(machine=own)]) == ((), ())
    free = {"prices": {"discount_percent": 100}}
    found, unknown = offered([pool(machine="p4d.24xlarge")], **free)
    assert found == ()
    assert [u.machine for u in unknown] == ["p4d.24xlarge"]
