"""Limits of the stack file under prices of its own: at their exact edge, and free of the noise of sums."""

import pytest

from gpuyard.plan import plan
from gpuyard.spec.region import Region
from gpuyard_core.findings import Fix, format_list
from kit.stacks import cut_pool, findings, ids, only, parts, plan_of, platform, pool, spec_of, team

MINE = {"machines": {"p5.48xlarge": 40.0}}
OWN = {"gpu": "H100", "gpus": 8, "cpu": 192, "memory_gib": 2048}


def commit(nodes, usd=20.0, machine="p5.48xlarge"):
    return {"commitments": [{"machine": machine, "nodes": nodes, "usd_per_hour": usd}]}


@pytest.mark.parametrize(
    ("prices", "maximum"),
    [
        ({}, 220.16),
        (MINE, 160.0),
        ({"discount_percent": 50}, 110.08),
        (MINE | {"discount_percent": 50}, 160.0),
        (commit(1), 20 + 3 * 55.04),
        (commit(4), 80.0),
        (MINE | commit(2), 40 + 80.0),
    ],
)
def test_the_worst_hour_is_held_against_your_prices(prices, maximum):
    raw = platform(prices=prices, budget={"max_usd_per_hour": maximum})
    assert ids(raw) == []
    raw["budget"] = {"max_usd_per_hour": maximum - 0.01}
    assert ids(raw) == ["budget.worst"]


def test_commitments_that_nothing_uses_count_towards_the_worst_hour():
    raw = platform(prices=commit(2, 10.0, "p4d.24xlarge"), budget={"max_usd_per_hour": 240.17})
    assert ids(raw) == ["prices.no_pool"]
    raw["budget"] = {"max_usd_per_hour": 240.15}
    assert sorted(ids(raw)) == ["budget.worst", "prices.no_pool"]


@pytest.mark.parametrize(
    ("prices", "month"),
    [
        (MINE, 40 * 730),
        ({"discount_percent": 50}, 27.52 * 730),
        # half of the pool's four nodes are committed: each node then costs a quarter of 2 × 20 + 2 × 40
        (MINE | commit(2), 30 * 730),
    ],
)
def test_a_teams_limit_is_held_against_its_part_of_that(prices, month):
    raw = platform(teams=[team(guarantee={"train": 8}, budget_usd_per_month=month)], prices=prices)
    assert ids(raw) == []
    raw["teams"][0]["budget_usd_per_month"] = month - 1
    finding = only(raw)
    assert parts(finding)[:3] == (
        "budget.team",
        ("teams", 0, "budget_usd_per_month"),
        f"the guarantees of vision cost {month:,.0f} $/month at full use",
    )


def test_an_own_machine_with_a_price_has_a_bill_that_can_be_proved():
    raw = platform(
        [pool(machine=OWN)],
        [team(guarantee={"train": 8}, budget_usd_per_month=9000)],
        budget={"max_usd_per_hour": 50},
    )
    assert ids(raw) == ["budget.unproved", "budget.unproved"]
    raw["prices"] = {"machines": {"h100x8": 12.5}}
    assert [f.id for f in findings(raw)] == ["budget.team"]
    raw["teams"][0]["budget_usd_per_month"] = 9125
    assert ids(raw) == []
    assert plan_of(raw).bill.maximum_usd_per_hour == 50


@pytest.mark.parametrize(("price", "whole"), [(40.0, 160), (40.1, 161), (40.25, 161)])
def test_the_limit_that_is_proposed_is_the_next_whole_dollar_and_no_more(price, whole):
    raw = platform(prices={"machines": {"p5.48xlarge": price}}, budget={"max_usd_per_hour": 1})
    fix = only(raw).fix
    assert (fix.message, fix.value) == (f"write {whole}", whole)
    raw["budget"] = {"max_usd_per_hour": fix.value}
    assert ids(raw) == []


def test_the_noise_of_binary_fractions_breaks_no_limit():
    """0.1 + 0.2 is more than 0.3 by some 4e-17; nobody set that limit."""
    pools = [pool(name, machine=kind, nodes=1) for name, kind in
             (("a", "p4d.24xlarge"), ("b", "p5.48xlarge"))]  # fmt: skip
    prices = {"machines": {"p4d.24xlarge": 0.1, "p5.48xlarge": 0.2}}
    raw = platform(pools, prices=prices, budget={"max_usd_per_hour": 0.3})
    assert plan_of(raw).bill.maximum_usd_per_hour > 0.3
    assert ids(raw) == []


def test_an_unknown_price_that_bears_on_the_floor_alone_leaves_the_worst_hour_proved():
    raw = platform(
        [pool(machine="g5g.xlarge", nodes="1..2", capacity=["spot"])],
        budget={"max_usd_per_hour": 0.84},
    )
    assert ids(raw) == []
    assert plan_of(raw).bill.minimum.unknown == ("train",)


def test_an_unpriced_commitment_leaves_the_worst_hour_unproved():
    entry = {"machine": "p5.48xlarge", "nodes": 2}
    raw = platform(prices={"commitments": [entry]}, budget={"max_usd_per_hour": 900})
    found = {f.id: f for f in findings(raw)}
    assert set(found) == {"prices.commitment_unpriced", "budget.unproved"}
    assert found["budget.unproved"].problem == "the sum excludes unknown prices: train"


def test_slices_are_paid_by_their_part_under_your_price_too():
    raw = platform(
        [cut_pool()],
        [team(guarantee={"serve/3g.20gb": 8}), team("b", guarantee={"serve/1g.5gb": 16})],
        prices={"machines": {"p4d.24xlarge": 14.0}},
    )
    months = [t.guarantee_usd_per_month for t in plan_of(raw).teams]
    assert months == pytest.approx([6.0 * 730, 4.0 * 730])


def test_teams_with_budgets_that_the_same_prices_leave_open_share_one_finding():
    names = [f"t{index}" for index in range(20)]
    teams = [team(name, guarantee={"own": 1}, budget_usd_per_month=1) for name in names]
    teams += [team("other", guarantee={"mine": 1}, budget_usd_per_month=1)]
    pools = [pool(), pool("own", machine=OWN), pool("mine", machine=OWN)]
    first, second = findings(platform(pools, teams))
    assert parts(first) == (
        "budget.unproved",
        ("teams", 0, "budget_usd_per_month"),
        f"the guarantees of {format_list(names)}: the sum excludes unknown prices: own",
        "",
        "",
    )
    assert first.fix == Fix(message="write what these nodes cost you under `prices.machines`")
    assert (second.path, second.problem) == (
        ("teams", 20, "budget_usd_per_month"),
        "the guarantees of other: the sum excludes unknown prices: mine",
    )


A_YEAR = {"commitments": [{"machine": "p4d.24xlarge", "nodes": 1, "years": 1}]}
"""Its price is known in us-east-1 alone."""


@pytest.mark.parametrize(
    ("guaranteed", "prices", "where"),
    [
        ("here", {}, None),
        ("here", A_YEAR, None),
        ("bought", {}, None),
        ("bought", A_YEAR, "us-east-1"),
        ("there", {}, "us-east-1"),
    ],
)
def test_prices_of_pools_without_guarantee_leave_the_budget_of_a_team_proved(
    guaranteed, prices, where
):
    raw = platform(
        [
            pool("here", machine="g5.12xlarge"),
            pool("bought", machine="p4d.24xlarge"),
            pool("there", machine="g7e.48xlarge"),
        ],
        [team(guarantee={guaranteed: 4}, budget_usd_per_month=1_000_000)],
        cloud="aws",
        prices=prices,
    )
    found = plan(spec_of(raw), region=Region("us-west-2", "aws:region"))[1]
    assert [f.problem for f in found if f.id == "budget.unproved"] == [
        f"the guarantees of vision: the sum uses prices of {where}, but the platform is in us-west-2"
    ] * bool(where)
