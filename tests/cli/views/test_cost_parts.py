"""A bill with prices of a contract: what each part of the screen and of the document says."""

import json
from pathlib import Path

import pytest

from gpuyard.cli.views.cost_changes import notes, pool_name, pool_nodes
from gpuyard.cli.views.documents import money
from gpuyard.plan.money.bill_changes import pool_changes, team_changes, total_changes
from gpuyard.plan.money.savings import to_monthly_total, unit_costs
from gpuyard.plan.records import Total
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool, team

HERE = Path(__file__).resolve().parents[1]
CONTRACT = HERE / "golden" / "contract.yaml"
RESEARCH = HERE.parent / "golden_stacks" / "research.yaml"


@pytest.fixture(scope="module")
def document(gpuyard):
    return json.loads(gpuyard("cost", CONTRACT, "--format", "json").out)["cost"]


def rows(text):
    return [" ".join(line.split()) for line in text.splitlines()]


def commit(nodes, usd=30.0, machine="p5.48xlarge", **rest):
    return {"machine": machine, "nodes": nodes, **({"usd_per_hour": usd} if usd else {}), **rest}


def contract(*commitments, pools=None, **prices):
    return platform(pools, prices={"commitments": list(commitments), **prices})


@pytest.mark.parametrize(
    ("total", "shown"),
    [
        (Total(220.16), "220.16"),
        (Total(220.16, ("train",), 2.0), "220.16 + unknown for 2 nodes"),
        (Total(0.0, ("train",)), "unknown"),
        (Total(0.0), "0.00"),
        (to_monthly_total(Total(2.0, ("train",), 1.0)), "1,460 + unknown for 1 node"),
    ],
)
def test_a_sum_with_an_unknown_part_never_looks_like_a_whole_one(total, shown):
    assert money(total) == shown


def test_the_document_has_the_three_cases_and_names_what_is_in_none(document):
    for case in ("minimum", "expected", "maximum"):
        assert document[f"{case}_usd_per_hour"] is document[f"{case}_usd_per_month"] is None
        assert document["known_usd_per_hour"][case] > 0
    assert document["unknown_nodes"]["minimum"] == 1
    assert document["unknown_in"] == {
        "minimum": ["commitment to g6.12xlarge"],
        "expected": ["notebooks", "commitment to g6.12xlarge"],
        "maximum": ["commitment to g6.12xlarge"],
    }
    assert document["unknown"] == ["commitment to g6.12xlarge", "notebooks"]
    assert document["utilisation_percent"] == 70


def test_the_document_has_every_rung_with_its_price_and_source(document):
    train = next(p for p in document["pools"] if p["pool"] == "train")
    prices = {p["mode"]: p for p in train["prices"]}
    assert list(prices) == ["reserved", "spot", "on-demand"]
    spot = prices["spot"]
    assert (spot["low"], spot["mean"], spot["high"]) == (16.95, 18.0, 18.73)
    assert spot["source"].startswith("skypilot-catalog")
    assert prices["reserved"]["basis"] == "your price for reserved nodes"
    assert (train["running_nodes"], train["used_nodes"]) == (14, 14)


def test_the_shares_of_the_document_are_its_bill(document):
    for case in ("minimum", "expected", "maximum"):
        parts = [s[case]["known_usd"] for s in document["shares_usd_per_hour"]]
        assert sum(parts) == pytest.approx(document["known_usd_per_hour"][case], abs=1e-4)
    assert [s["team"] for s in document["shares_usd_per_hour"]] == [
        "vision",
        "speech",
        "robotics",
        None,
    ]


def test_the_document_has_commitments_and_what_is_on_offer(document):
    first = document["commitments"][0]
    assert first["break_even_percent"] == pytest.approx(100 * 31.5 / 46)
    assert first["covers"] == [
        {"pool": "train", "minimum": 8.0, "expected": 8.0, "baseline": 20, "burst": 0}
        | {"baseline": 8, "burst": 12}
    ]
    offered = ["reserved-instance 1 year", "reserved-instance 3 years"]
    assert [s["commitment"] for s in document["savings"]] == offered
    assert document["savings_unknown"][0]["since"] == "2026-11-21"


def test_break_even_is_in_hours_a_month_and_percent(gpuyard, write):
    out = gpuyard("cost", write(contract(commit(4, 27.52)))).out
    text = " ".join(out.split())
    assert (
        "4 × p5.48xlarge for 1 year at 27.52 $/hour (your price): cheaper than on-demand from 365"
        " h (50 %) a month in use covers 4 of 4 nodes of train" in text
    )


@pytest.mark.parametrize(
    ("usd", "said"),
    [
        (55.04, "never cheaper than on-demand"),
        (80.0, "never cheaper than on-demand"),
        (None, "at a price unknown as of 2026-11-21: break-even with on-demand unknown"),
    ],
)
def test_a_commitment_may_never_pay_or_nobody_knows(gpuyard, write, usd, said):
    assert said in " ".join(gpuyard("cost", write(contract(commit(4, usd)))).out.split())


def test_a_commitment_that_nothing_uses_pays_for_no_node(gpuyard, write):
    out = gpuyard("cost", write(contract(commit(2, 10.0, "p4d.24xlarge")))).out
    assert "covers no node of any pool; idle: 2 at minimum cost, 2 at expected cost" in " ".join(
        out.split()
    )
    assert "idle commitment p4d.24xlarge 2 20.00 20.00 20.00" in rows(out)


def test_an_offer_that_never_pays_is_shown_as_that(gpuyard, write):
    raw = contract(pools=[pool(machine="p4d.24xlarge")], machines={"p4d.24xlarge": 10.0})
    found = rows(gpuyard("cost", write(raw)).out)
    assert any("13.92 never -11,450 -11,450" in row for row in found)


def test_a_used_hour_costs_more_where_nodes_idle_and_less_on_spot():
    raw = platform(
        [pool(), pool("b", nodes="0..4", capacity=["spot"]), pool("c", nodes=0)],
        targets={"utilisation_percent": 50},
    )
    fixed, spot, none = unit_costs(plan_of(raw))
    assert fixed.usd_per_hour_in_use == pytest.approx(2 * fixed.usd_per_hour)
    assert spot.usd_per_hour_in_use < spot.usd_per_hour
    assert (none.usd_per_hour, none.usd_per_hour_in_use) == (pytest.approx(6.88), None)


@pytest.mark.parametrize("given", [pool(), cut_pool(), shared_pool(), pool(machine="g6f.large")])
def test_units_in_use_pay_the_expected_bill(given):
    plan = plan_of(platform([given], targets={"utilisation_percent": 40}))
    (line,) = plan.bill.lines
    used = sum(u.per_node * line.used_nodes * u.usd_per_hour_in_use for u in unit_costs(plan))
    assert used == pytest.approx(line.expected_usd_per_hour)


def test_what_else_tells_two_bills_apart_is_said():
    old = contract(commit(1), machines={"p5.48xlarge": 50.0}, discount_percent=5.0)
    old |= {"budget": {"max_usd_per_hour": 900}}
    new = contract(commit(2, years=3), machines={"p5.48xlarge": 40.0, "p4d.24xlarge": 9.0})
    new |= {"targets": {"utilisation_percent": 60}}
    assert notes(plan_of(old), plan_of(new)) == [
        "the expected utilisation: 75 % → 60 %",
        "the limit on the maximum cost: 900.00 $/hour → none",
        "the discount on list prices: 5 % → 0 %",
        "your price of p4d.24xlarge: none → 9.00 $/hour",
        "your price of p5.48xlarge: 50.00 $/hour → 40.00 $/hour",
        "removed: commitment to 1 × p5.48xlarge for 1 year",
        "new: commitment to 2 × p5.48xlarge for 3 years",
    ]
    assert notes(plan_of(old), plan_of(old)) == []


def test_the_fee_of_the_cluster_and_what_is_in_no_sum_are_on_every_form_of_the_bill(
    document, gpuyard
):
    (fee,) = document["fees"]
    assert (fee["service"], fee["minimum_usd_per_hour"], fee["maximum_usd_per_hour"]) == (
        "EKS",
        0.1,
        0.6,
    )
    assert "root disks" in document["left_out"]
    text = gpuyard("cost", CONTRACT).out
    assert "not in the sums: root disks" in text
    assert ["cluster", "fee", "EKS", "0.10", "0.10", "0.60"] in [
        x.split() for x in text.splitlines()
    ]
    markdown = gpuyard("cost", CONTRACT, "--format", "markdown").out
    assert "| cluster fee | EKS |  |  | 0.10 | 0.10 | 0.60 |" in markdown
    assert "Not in the sums: root disks" in markdown


def test_a_cluster_of_your_own_has_no_fee_unless_you_write_one(gpuyard, write):
    assert "cluster fee" not in gpuyard("cost", write(contract())).out
    old, new = plan_of(contract()), plan_of(contract(cluster_usd_per_hour=0.5))
    assert notes(old, new) == ["your price of the cluster: none → 0.50 $/hour"]
    assert pool_nodes(pool_changes(old, new)[-1]) == "new: 1 × your own"
    out = gpuyard("cost", write(contract(cluster_usd_per_hour=0.5))).out
    assert "cluster fee: at worst" not in out
    assert "not in the sums" not in out


def test_pools_with_idle_commitments_explain_the_whole_change():
    old, new = plan_of(platform([pool(nodes="0..4")])), plan_of(contract(commit(4)))
    new_idle = plan_of(contract(commit(4), pools=[pool(nodes="0..4")]))
    for before, after in ((old, new), (old, new_idle), (new_idle, old), (new_idle, new)):
        parts = pool_changes(before, after)
        for number, total in enumerate(total_changes(before, after)):
            moved = sum(p.cases[number].difference for p in parts)
            assert moved == pytest.approx(total.difference)
    assert pool_nodes(pool_changes(old, new_idle)[-1]) == "new: 4 × p5.48xlarge"
    assert pool_nodes(pool_changes(new_idle, old)[-1]) == "removed: 4 × p5.48xlarge"
    assert [pool_name(p) for p in pool_changes(old, old)] == ["train"]


def test_teams_that_come_to_a_platform_of_none_take_their_part_from_nobody():
    alone = plan_of(platform([pool()]))
    shared = plan_of(platform([pool()], [team(guarantee={"train": 8})]))
    found = {c.name: c for c in team_changes(alone, shared)}
    assert (found["vision"].before, found["unassigned"].before) == (None, None)
    assert found["unassigned"].after.usd == pytest.approx(3 * 55.04 * 730)
    assert team_changes(alone, alone) == []
    expected = {c.name: c.after.usd for c in team_changes(alone, shared, "expected")}
    assert expected["vision"] == pytest.approx(55.04 * 730)


def test_the_documents_of_a_change_have_pools_teams_and_notes(gpuyard):
    text = gpuyard("cost", CONTRACT, "--against", RESEARCH, "--format", "json").out
    changes = json.loads(text)["changes"]
    train = next(p for p in changes["pools_usd_per_hour"] if p["name"] == "train")
    assert (train["was"], train["now"]) == ("0..16 × p5.48xlarge", "0..20 × p5.48xlarge")
    assert train["minimum"] == {"before": 440.32, "after": 252.0, "difference": -188.32}
    assert "dev → notebooks" in [p["name"] for p in changes["pools_usd_per_hour"]]
    assert changes["notes"][0] == "the expected utilisation: 75 % → 70 %"
    assert [t["name"] for t in changes["teams_expected_usd_per_month"]][-1] == "unassigned"


def test_unchanged_pools_are_one_line_however_many(gpuyard, write):
    pools = [pool(f"p{n}") for n in range(5)]
    before = write(platform(pools), "before.yaml")
    after = write(platform([*pools[:4], pool("p4", nodes=5)]), "after.yaml")
    out = gpuyard("cost", after, "--against", before).out
    assert "pools without change: p0, p1, p2, p3" in out
    assert "p4 4 → 5 × p5.48xlarge minimum 220.16 275.20 +55.04" in rows(out)
    text = gpuyard("cost", after, "--against", before, "--format", "markdown").out
    assert "Pools without change: p0, p1, p2, p3.\n" in text
    assert text.count("\n| p") == 2, "the head of the table and the pool that changes"


def test_whose_prices_they_are_is_said(gpuyard, write):
    assert "US dollars at list price" in gpuyard("cost", write(platform())).out
    mine = write(contract(discount_percent=1.0))
    assert "US dollars at your prices" in gpuyard("cost", mine).out
    assert "Bill  your prices, else at list price in us-east-1" in gpuyard("plan", mine).out


def test_the_plan_shows_the_expected_bill_and_what_it_assumes(gpuyard, write):
    raw = platform([pool(nodes="0..4")], targets={"utilisation_percent": 50})
    found = rows(gpuyard("plan", write(raw)).out)
    assert "expected 110.08 80,358" in found
    assert any(row.startswith("expected: 50 % of every pool's maximum in use") for row in found)


def test_check_counts_parts_of_unknown_price_only_where_the_worst_hour_lacks_them(gpuyard, write):
    lacks = gpuyard("check", write(platform([pool(machine="p5e.48xlarge")], cloud="aws"))).out
    assert "and 1 part of unknown price" in " ".join(lacks.split())
    spot = gpuyard("check", write(platform([pool(machine="g5g.xlarge", capacity=["spot"])]))).out
    assert "unknown" not in spot


def test_markdown_of_one_stack_has_teams_only_where_there_are_some(gpuyard, write):
    one = gpuyard("cost", write(platform()), "--format", "markdown").out
    assert "| team" not in one
    assert one.startswith(
        "### Cost of `lab`\n\nUS dollars at list price in us-east-1; expected: 75 % of every"
    )
    both = gpuyard("cost", CONTRACT, "--format", "markdown").out
    assert "| unassigned | 221,401 + unknown | 113,507 + unknown |" in both
    assert "| idle commitment | g6.12xlarge | 1 |  | unknown | unknown | unknown |" in both


def test_reserved_nodes_and_simulation_are_spoken_of(gpuyard, write):
    held = pool(nodes="0..4", capacity=[{"reserved": "cr-1", "nodes": 2}, "spot"])
    assert (
        "train: 2 reserved nodes are paid even when idle"
        in gpuyard("cost", write(platform([held]))).out
    )
    free = gpuyard("cost", write(platform(cloud="simulated"))).out
    assert "Simulated nodes cost nothing" in free


def test_like_machines_are_priced_each_under_its_own_name(gpuyard, write):
    raw = platform(
        [pool(machine=["g6e.12xlarge", "g6e.24xlarge"], nodes="2..20", scaling=None)], cloud="aws"
    )
    text = " ".join(gpuyard("cost", write(raw)).out.split())
    assert "g6e.12xlarge on-demand 10.49 list price" in text
    assert "g6e.24xlarge on-demand 15.07 list price" in text
    assert "train: on-demand at most 15.07 (g6e.24xlarge)" in text
