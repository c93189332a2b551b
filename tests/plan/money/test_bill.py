"""The bill: what is paid at least and at maximum, what is unknown, and the budgets at their exact edge."""

import pytest

from gpuyard.plan import plan
from gpuyard.plan.money.savings import savings
from gpuyard.spec.region import Region
from gpuyard_core.catalogue.machines import MACHINES
from kit.stacks import (
    CUT,
    SYSTEM,
    cut_pool,
    findings,
    ids,
    only,
    parts,
    plan_of,
    platform,
    pool,
    shared_pool,
    spec_of,
    team,
)

P5 = MACHINES["p5.48xlarge"]
LIST, SPOT_LOW, SPOT_HIGH = P5.on_demand.high, P5.spot.low, P5.spot.high
BLOCK = 41.528
"""The catalogue's price of a capacity block."""
OWN = {"gpu": "H100", "gpus": 8, "cpu": 192, "memory_gib": 2048}


def line(**rest):
    return plan_of(platform([pool(**rest)])).bill.lines[0]


def held(nodes):
    return {"reserved": "cr-1", "nodes": nodes}


@pytest.mark.parametrize(
    ("rest", "minimum", "maximum"),
    [
        ({"nodes": 4, "scaling": "fixed"}, 4 * LIST, 4 * LIST),
        ({"nodes": "1..4"}, LIST, 4 * LIST),
        ({"nodes": "0..4"}, 0, 4 * LIST),
        ({"nodes": 0}, 0, 0),
        ({"nodes": "0..4", "capacity": ["spot"]}, 0, 4 * SPOT_HIGH),
        ({"nodes": "2..4", "capacity": ["spot"]}, 2 * SPOT_LOW, 4 * SPOT_HIGH),
        ({"nodes": "2..4", "capacity": ["spot", "on-demand"]}, 2 * SPOT_LOW, 4 * LIST),
        ({"nodes": "2..4", "capacity": ["on-demand", "spot"]}, 2 * LIST, 4 * LIST),
        ({"nodes": "0..4", "capacity": [held(3), "spot"]}, 3 * LIST, 3 * LIST + SPOT_HIGH),
        (
            {"nodes": "3..4", "capacity": [held(2), "spot"]},
            2 * LIST + SPOT_LOW,
            2 * LIST + 2 * SPOT_HIGH,
        ),
        (
            {"nodes": "4..4", "capacity": [held(2), {"block": "cb", "nodes": 1}, "spot"]},
            2 * LIST + BLOCK + SPOT_LOW,
            2 * LIST + BLOCK + SPOT_HIGH,
        ),
        ({"nodes": "4..4", "capacity": [held(2), "on-demand"]}, 4 * LIST, 4 * LIST),
        ({"nodes": "0..4", "capacity": [{"spot": True, "nodes": 2}, "on-demand"]}, 0, 4 * LIST),
        (
            {"machine": ["g6.12xlarge", "g6.24xlarge"], "nodes": 1, "capacity": [held(1)]},
            4.6016,
            6.6752,
        ),
        (
            {"nodes": 2, "machine": "g5g.xlarge", "capacity": ["on-demand", "spot"]},
            2 * 0.42,
            2 * 0.42,
        ),
    ],
)
def test_reservations_are_paid_in_any_case_and_the_rest_at_its_rung(rest, minimum, maximum):
    found = line(**rest)
    assert (found.minimum_usd_per_hour, found.maximum_usd_per_hour) == (
        pytest.approx(minimum),
        pytest.approx(maximum),
    )


def test_the_worst_case_takes_the_dearest_of_like_machines():
    found = line(machine=["g6.12xlarge", "g6.24xlarge"], nodes="1..2")
    assert (found.minimum_usd_per_hour, found.maximum_usd_per_hour) == (
        pytest.approx(4.6016),
        pytest.approx(2 * 6.6752),
    )
    assert (found.machine, found.usd_per_node) == ("g6.12xlarge", 6.6752)


def test_a_line_says_where_its_price_comes_from():
    found = line(capacity=[held(2), "spot"])
    assert found.basis == "list price in us-east-1 on 2026-07-20"
    assert found.note == "2 reserved nodes are paid even when idle"
    assert found.checked_on == P5.source.checked_on
    assert line().note == ""


def test_a_price_that_was_not_seen_is_marked():
    found = plan_of(platform([pool(machine="a3-megagpu-8g")], cloud="gcp")).bill.lines[-1]
    assert (
        found.basis == "list price in us-central1 of unknown date, read on 2026-11-21, not verified"
    )


def test_system_nodes_are_on_the_bill():
    plan = plan_of(platform(system={**SYSTEM, "nodes": "2..3"}))
    found = plan.bill.lines[0]
    assert plan.system is found
    assert (found.pool, found.machine, str(found.nodes)) == ("system", "m7i.xlarge", "2..3")
    assert (found.minimum_usd_per_hour, found.maximum_usd_per_hour) == (
        pytest.approx(0.4032),
        pytest.approx(0.6048),
    )
    assert plan.bill.minimum_usd_per_hour == pytest.approx(0.4032 + 4 * LIST)


def test_no_system_nodes_are_no_line():
    plan = plan_of(platform())
    assert plan.system is None
    assert [x.pool for x in plan.bill.lines] == ["train"]


@pytest.mark.parametrize(
    ("nodes", "minimum", "maximum"), [("1..4", None, None), ("0..4", 0.0, None), (0, 0.0, 0.0)]
)
def test_an_unknown_price_is_unknown_unless_nothing_is_bought(nodes, minimum, maximum):
    found = line(machine=OWN, nodes=nodes)
    assert (found.usd_per_node, found.minimum_usd_per_hour, found.maximum_usd_per_hour) == (
        None,
        minimum,
        maximum,
    )
    assert found.basis == "price unknown: none under prices.machines.h100x8"


def test_unknown_prices_are_named_and_stay_out_of_the_sums():
    bill = plan_of(
        platform([pool(), pool("own", machine=OWN), pool("maybe", machine=OWN, nodes="0..1")])
    ).bill
    assert bill.unknown == ("own", "maybe")
    assert (bill.minimum.known_usd, bill.maximum.known_usd) == (4 * LIST, 4 * LIST)
    assert (bill.minimum_usd_per_hour, bill.maximum_usd_per_hour) == (None, None)


def test_a_list_with_one_unknown_price_is_unknown_at_worst():
    found = line(machine=["p5en.48xlarge", "p5e.48xlarge"], nodes="0..1")
    assert (found.minimum_usd_per_hour, found.maximum_usd_per_hour) == (0.0, None)


def test_a_reservation_at_an_unknown_price_makes_the_floor_unknown():
    found = line(machine=OWN, nodes="0..4", capacity=[held(1), "spot"])
    assert (found.minimum_usd_per_hour, found.maximum_usd_per_hour) == (None, None)


@pytest.mark.parametrize("cloud", ["none", "simulated"])
def test_a_simulated_platform_bills_nothing_and_says_so(cloud):
    assert plan_of(platform(cloud=cloud)).bill.simulated is (cloud == "simulated")


# ── guarantees in dollars ──────────────────────────────────────────────────────────────────────────


def month(pools, guarantee):
    return plan_of(platform(pools, [team(guarantee=guarantee)])).teams[0].guarantee_usd_per_month


A100, L4 = MACHINES["p4d.24xlarge"].on_demand.high, MACHINES["g6.12xlarge"].on_demand.high


@pytest.mark.parametrize(
    ("pools", "guarantee", "hourly"),
    [
        ([pool()], {"train": 8}, LIST),
        ([pool()], {"train": 1}, LIST / 8),
        ([pool()], {}, 0),
        ([pool(), pool("b")], {"train": 8, "b": 16}, 3 * LIST),
        ([cut_pool()], {"serve": 8}, A100),
        ([cut_pool()], {"serve/1g.5gb": 16, "serve/2g.10gb": 8, "serve/3g.20gb": 8}, A100),
        ([cut_pool()], {"serve/3g.20gb": 1}, A100 / 8 * 3 / 7),
        ([cut_pool(sharing={**CUT, "time_slicing": 2})], {"serve": 8}, A100),
        (
            [cut_pool(sharing={"mig": [{"gpus": "0-3", "3g.20gb": 2}]})],
            {"serve/3g.20gb": 8, "serve": 4},
            A100,
        ),
        ([shared_pool()], {"dev": 4}, L4),
        ([shared_pool()], {"dev/shared": 1}, L4 / 16),
        ([pool(sharing={"mps": 3})], {"train": 8}, LIST),
        ([pool(machine="g6f.large")], {"train": 1}, 0.202),
        ([pool(capacity=["spot"])], {"train": 8}, SPOT_HIGH),
    ],
)
def test_guarantees_of_a_whole_node_cost_the_node_however_it_is_divided(pools, guarantee, hourly):
    assert month(pools, guarantee) == pytest.approx(hourly * 730)


def test_a_guarantee_at_an_unknown_price_costs_nobody_knows_what():
    assert month([pool(), pool("own", machine=OWN)], {"train": 1, "own": 1}) is None
    assert month([pool(), pool("own", machine=OWN)], {"train": 1}) == pytest.approx(LIST / 8 * 730)


# ── budgets ────────────────────────────────────────────────────────────────────────────────────────


def test_a_budget_at_the_worst_hour_is_kept():
    assert ids(platform(budget={"max_usd_per_hour": 4 * LIST})) == []


def test_a_budget_below_the_worst_hour_is_refused():
    raw = platform([pool(), pool("b", nodes=5)], budget={"max_usd_per_hour": 9 * LIST - 0.01})
    finding = only(raw)
    assert parts(finding) == (
        "budget.worst",
        ("budget", "max_usd_per_hour"),
        (
            "with every node running, the platform costs 495.36 $/hour; the most expensive pool is "
            "b: 5 × p5.48xlarge"
        ),
        "495.35 $/hour",
        "at least 495.36 $/hour, or fewer nodes",
    )
    assert (finding.fix.message, finding.fix.value) == ("write 496", 496)


def test_a_budget_that_unknown_prices_may_break_is_warned_of():
    raw = platform([pool(), pool("own", machine=OWN)], budget={"max_usd_per_hour": 4 * LIST})
    assert parts(only(raw))[:3] == (
        "budget.unproved",
        ("budget", "max_usd_per_hour"),
        "the sum excludes unknown prices: own",
    )
    raw["budget"] = {"max_usd_per_hour": 1}
    assert ids(raw) == ["budget.worst"]


def test_a_team_at_its_budget_is_kept_and_above_it_refused():
    cost = month([pool()], {"train": 3})
    raw = platform(teams=[team("x"), team(guarantee={"train": 3}, budget_usd_per_month=cost)])
    assert ids(raw) == ["team.nothing"]
    raw["teams"][1]["budget_usd_per_month"] = cost - 0.01
    finding = findings(raw)[0]
    assert parts(finding) == (
        "budget.team",
        ("teams", 1, "budget_usd_per_month"),
        "the guarantees of vision cost 15,067 $/month at full use",
        "15,067 $/month",
        "at least 15,068 $/month, or smaller guarantees",
    )
    assert (finding.fix.message, finding.fix.value) == ("write 15068", 15068)


def test_a_team_without_a_budget_is_not_judged():
    assert ids(platform(teams=[team(guarantee={"train": 32})])) == []


def test_a_team_whose_prices_are_unknown_is_warned_of_beside_others_that_are_judged():
    raw = platform(
        [pool(), pool("own", machine=OWN)],
        [
            team("a", guarantee={"own": 1}, budget_usd_per_month=1),
            team("b", guarantee={"train": 1}, budget_usd_per_month=1),
        ],
    )
    assert parts(findings(raw)[1])[:3] == (
        "budget.unproved",
        ("teams", 0, "budget_usd_per_month"),
        "the guarantees of a: the sum excludes unknown prices: own",
    )
    assert ids(raw) == ["budget.team", "budget.unproved"]


def in_stack(region, *pools, **rest):
    """A stack on aws whose configuration names a region."""
    spec = spec_of(platform(pools, cloud="aws", system=SYSTEM, **rest))
    return plan(spec, region=Region(region, "aws:region"))[0].bill


def test_prices_are_those_of_the_region_where_they_are_listed():
    found = in_stack("ap-northeast-1", pool())
    assert found.maximum.known_usd == pytest.approx(4 * 68.8 + 2 * 0.2016 + 0.6)  # and its cluster
    assert (found.region, found.priced_in) == ("ap-northeast-1", ("ap-northeast-1", "us-east-1"))
    assert found.elsewhere == ("us-east-1",)  # of the system nodes


def test_a_spot_price_of_another_region_is_not_taken_for_one_of_this():
    [_, found] = in_stack("eu-central-1", pool(machine="p4d.24xlarge", capacity=["spot"])).lines
    assert (found.minimum_usd_per_hour, found.maximum_usd_per_hour) == (
        None,
        pytest.approx(4 * 27.433),
    )
    assert found.prices[0].regions == ("eu-central-1",)


def test_of_like_machines_with_prices_of_two_regions_both_are_named():
    [_, found] = in_stack("ap-south-2", pool(machine=["g6.4xlarge", "gr6.4xlarge"])).lines
    assert found.prices[0].regions == ("ap-south-2", "us-east-1")
    [_, found] = in_stack("eu-central-1", pool(machine=["g6.4xlarge", "gr6.4xlarge"])).lines
    assert found.prices[0].regions == ("eu-central-1",)


def test_your_own_prices_are_those_of_wherever_you_are():
    yours = {"machines": {"p5.48xlarge": 60, "m7i.xlarge": 0.3}}
    found = in_stack("eu-central-1", pool(), prices=yours)
    assert (found.priced_in, found.elsewhere) == ((), ())


def test_commitments_of_another_region_are_no_saving_on_prices_of_this_one():
    here, there = (in_stack(r, pool(machine="g6e.12xlarge")) for r in ("us-east-1", "eu-central-1"))
    assert savings(None, here)[0] != ()
    assert savings(None, there)[0] == ()
