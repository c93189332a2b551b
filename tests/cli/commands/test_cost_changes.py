"""A bill against another: pools and teams that come, go and change their names, and prices nobody knows."""

import json

import pytest

from gpuyard.cli.views.cost_changes import pool_name, pool_nodes
from gpuyard.plan.money.bill_changes import BillChange, pool_changes, team_changes, total_changes
from gpuyard.plan.records import Total
from gpuyard_core.terminal.text import signed_usd, usd
from kit.stacks import SYSTEM, cut_pool, plan_of, platform, pool, shared_pool, team

UNKNOWN_PART = Total(3.0, ("train",), 1.0)
UNPRICED = "p5e.48xlarge"
UNPRICED_TOO = "g6.12xlarge"
"""On spot."""


def aws(*pools, teams=()):
    return platform(pools, teams, cloud="aws")


def changes(before, after, of):
    return {c.name: c for c in of(plan_of(before), plan_of(after))}


def pools(before, after):
    return {pool_name(c): c for c in pool_changes(plan_of(before), plan_of(after))}


def worst(before, after):
    """Of every pool the change of its worst hour."""
    return {name: c.cases[-1] for name, c in pools(before, after).items()}


def rows(text):
    return [" ".join(line.split()) for line in text.splitlines()]


def test_an_added_pool_costs_all_it_costs_and_a_removed_one_saves_it():
    one, two = aws(pool()), aws(pool(), shared_pool())
    came, went = pools(one, two)["dev"], pools(two, one)["dev"]
    added, removed = came.cases[-1], went.cases[-1]
    assert (came.nodes_before, came.nodes_after) == ((), (("1", "g6.12xlarge"),))
    assert (added.before, added.after is None) == (None, False)
    assert added.difference == pytest.approx(4.6016)
    assert (went.nodes_after, removed.after) == ((), None)
    assert removed.difference == pytest.approx(-4.6016)


def test_a_pool_that_says_what_it_was_called_is_the_same_pool():
    before, after = aws(pool("train")), aws(pool("learn", previous_names=["train"], nodes=3))
    found = pools(before, after)
    assert list(found) == ["system", "train → learn", "cluster fee"]
    assert pool_nodes(found["train → learn"]) == "4 → 3 × p5.48xlarge"
    assert [c.difference for c in found["train → learn"].cases] == pytest.approx([-55.04] * 3)


def test_a_renamed_pool_is_one_that_goes_and_one_that_comes():
    found = worst(aws(pool("train")), aws(pool("learn")))
    assert list(found) == ["system", "train", "learn", "cluster fee"], "what was there stands first"
    assert found["train"].difference == -found["learn"].difference == pytest.approx(-220.16)


def test_a_pool_that_only_may_grow_is_dearer_at_worst_and_not_at_least():
    before, after = aws(pool(nodes="1..2")), aws(pool(nodes="1..4"))
    assert worst(before, after)["train"].difference == pytest.approx(2 * 55.04)
    totals = changes(before, after, total_changes)
    assert totals["minimum"].difference == 0
    assert totals["maximum"].difference == pytest.approx(2 * 55.04)


def test_a_pool_of_no_nodes_is_there_and_costs_nothing():
    same = pools(aws(pool(nodes="0..1")), aws(pool(nodes="0..1")))["train"]
    assert (same.is_changed, pool_nodes(same)) == (False, "0..1 × p5.48xlarge")
    found = same.cases[0]
    assert (found.before, found.difference) == (Total(), 0)


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (pool(), pool(machine=UNPRICED), "220.16 unknown unknown"),
        (pool(machine=UNPRICED), pool(), "unknown 220.16 unknown"),
        (pool(machine=UNPRICED), pool(machine=UNPRICED, nodes=5), "unknown unknown unknown"),
        (pool(machine=UNPRICED), pool("other"), "unknown - unknown"),
        (pool("other"), pool(machine=UNPRICED), "- unknown unknown"),
    ],
)
def test_a_change_with_one_unknown_side_is_unknown_and_never_counted_as_nothing(
    gpuyard, write, before, after, shown
):
    old, new = write(aws(before), "old.yaml"), write(aws(after), "new.yaml")
    ended = gpuyard("cost", new, "--against", old)
    assert ended.code == 0
    shown_rows = [row for row in rows(ended.out) if row.endswith(f" {shown}")]
    assert len(shown_rows) == 3, "in each of the three cases"
    document = json.loads(gpuyard("cost", new, "--against", old, "--format", "json").out)
    listed = document["changes"]["pools_usd_per_hour"]
    train = next(c for c in listed if c["name"] == "train")
    assert {train[case]["difference"] for case in ("minimum", "expected", "maximum")} == {None}
    totals = {c["name"]: c for c in document["changes"]["usd_per_hour"]}
    assert totals["maximum"]["difference"] is None, "a part of it is unknown"


def test_every_unknown_price_is_named_also_two_of_one_pool(gpuyard, write):
    old = write(aws(pool(machine=UNPRICED)), "old.yaml")
    new = write(aws(pool(machine=UNPRICED_TOO, capacity=["spot"])), "new.yaml")
    ended = gpuyard("cost", new, "--against", old, "--format", "markdown")
    assert ended.code == 0, ended.err
    caveats = [line for line in ended.out.splitlines() if "not in the sum" in line]
    assert caveats == [
        f"- train ({UNPRICED}): price unknown as of 2026-11-21, not in the sums.",
        (
            f"- train ({UNPRICED_TOO}): spot price unknown as of 2026-11-21 (at most the on-demand price),"
            " not in the sums of minimum and expected."
        ),
    ]


def test_one_unknown_price_on_both_sides_is_named_once(gpuyard, write):
    path = write(aws(pool(machine=UNPRICED)))
    ended = gpuyard("cost", path, "--against", path, "--format", "markdown")
    assert ended.out.count("not in the sums.") == 1


def test_teams_come_go_and_stay():
    kept, gone = team("kept", guarantee={"train": 8}), team("gone", guarantee={"train": 8})
    came = team("came", guarantee={"train": 16})
    found = changes(aws(pool(), teams=[kept, gone]), aws(pool(), teams=[kept, came]), team_changes)
    node_month = 55.04 * 730
    assert {name: c.difference for name, c in found.items()} == {
        "kept": 0,
        "gone": pytest.approx(-node_month),
        "came": pytest.approx(2 * node_month),
        "unassigned": pytest.approx(-node_month),
    }


def test_a_guarantee_of_unknown_price_makes_the_teams_change_unknown():
    before = aws(pool(), teams=[team(guarantee={"train": 8})])
    after = aws(pool(machine=UNPRICED), teams=[team(guarantee={"train": 8})])
    assert changes(before, after, team_changes)["vision"].difference is None


@pytest.mark.parametrize("style", ["text", "markdown"])
def test_teams_whose_bill_stays_are_named_in_one_line_and_only_some_of_many(gpuyard, write, style):
    def stack(gpus, name):
        others = [team(f"t{number:02}", guarantee={}) for number in range(30)]
        vision = team("vision", guarantee={"train": gpus})
        return write(aws(pool(), teams=[vision, *others]), name)

    paths = stack(8, "old.yaml"), stack(16, "new.yaml")
    ended = gpuyard("cost", paths[1], "--against", paths[0], "--format", style)
    assert ended.code == 0
    said = " ".join(ended.out.split()).lower()
    assert "teams without change: t00, t01, " in said
    assert "t29" not in said
    assert "vision" in said


def test_without_teams_there_is_no_section_for_them(gpuyard, write):
    path = write(aws(pool()))
    for form in ("text", "markdown"):
        assert "Teams" not in gpuyard("cost", path, "--against", path, "--format", form).out


def test_simulated_nodes_are_said_to_cost_nothing_on_either_side(gpuyard, write):
    free = write(platform([cut_pool()], cloud="simulated"), "free.yaml")
    paid = write(aws(cut_pool()), "paid.yaml")
    for one, other in ((free, paid), (paid, free)):
        text = " ".join(gpuyard("cost", one, "--against", other).out.split())
        assert text.count("Simulated nodes cost nothing") == 1
    assert "Simulated" not in gpuyard("cost", paid, "--against", paid).out


@pytest.mark.parametrize(
    ("before", "after", "difference"),
    [
        (Total(1.0), Total(3.0), 2.0),
        (None, Total(3.0), 3.0),
        (Total(1.0), None, -1.0),
        (UNKNOWN_PART, Total(3.0), None),
        (Total(1.0), UNKNOWN_PART, None),
        (None, UNKNOWN_PART, None),
        (UNKNOWN_PART, None, None),
    ],
)
def test_what_is_not_there_costs_nothing_and_what_is_unknown_stays_so(before, after, difference):
    assert BillChange("x", before, after).difference == difference


def test_prices_of_another_region_are_told_apart(gpuyard, write):
    """The same nodes in two regions: the bill differs, and the first line says of which the prices are."""
    raw = platform([pool(machine="p4d.24xlarge")], cloud="aws", system=SYSTEM)
    files = [write(raw, f"{r}.yaml", region=r) for r in ("us-east-1", "eu-central-1")]
    text = gpuyard("cost", files[1], "--against", files[0]).out
    assert "at list price in eu-central-1 and us-east-1" in " ".join(text.split())
    assert "the region of the prices: us-east-1 → eu-central-1 and us-east-1." in " ".join(
        text.split()
    )
    found = gpuyard("cost", files[1], "--against", files[0], "--format", "markdown").out
    assert "US dollars at list price in eu-central-1 and us-east-1.\n" in found
    assert "prices of us-east-1, but the platform is in eu-central-1." in found


@pytest.mark.parametrize(
    ("amount", "plain", "signed"),
    [
        (None, "unknown", "unknown"),
        (0.0, "0.00", "="),
        (0.004, "0.00", "="),
        (-0.004, "-0.00", "="),
        (0.005, "0.01", "+0.01"),
        (-1.5, "-1.50", "-1.50"),
        (999.99, "999.99", "+999.99"),
        (1000.0, "1,000", "+1,000"),
        (-1234567.8, "-1,234,568", "-1,234,568"),
    ],
)
def test_money_has_cents_below_a_thousand_and_a_change_its_sign(amount, plain, signed):
    assert signed_usd(amount) == signed
    assert usd(amount) == plain
