"""`gpuyard cost`: what a platform costs, taken apart, and what a change costs."""

import json

import pytest

from gpuyard.plan.money.savings import unit_costs
from kit.stacks import CUT, cut_pool, plan_of, platform, pool, shared_pool, team

BEFORE = platform([pool(), cut_pool()], [team(guarantee={"train": 8})])
AFTER = platform([pool(nodes=2), shared_pool()], [team(guarantee={"train": 16}), team("new")])
UNKNOWN = platform(
    [pool(machine="p5e.48xlarge"), shared_pool()], [team(guarantee={"train": 8})], cloud="aws"
)


def rows(text):
    return [" ".join(line.split()) for line in text.splitlines()]


def test_the_bill_is_shown_by_pool_team_and_unit(gpuyard, write):
    found = rows(gpuyard("cost", write(BEFORE)).out)
    for row in (
        "minimum 242.12 176,746",
        "expected 242.12 176,746",
        "train p5.48xlarge 4 4 220.16 220.16 220.16",
        "vision 40,179 40,179 -",
        "unassigned 136,567 136,567",
        "total 176,746 176,746",
        "train whole GPU 8 1 6.88 9.17",
        "serve 3g.20gb 8 3/7 1.18 1.57",
        "p5.48xlarge on-demand 55.04 list price in us-east-1 on 2026-07-20",
    ):
        assert row in found


def test_over_its_budget_alone_the_bill_is_shown_and_refused(gpuyard, write):
    over = platform([pool()], [team(guarantee={"train": 8})], budget={"max_usd_per_hour": 100})
    ended = gpuyard("cost", write(over))
    assert ended.code == 3
    assert "train p5.48xlarge 4 4 220.16 220.16 220.16" in rows(ended.out)
    assert "limit: 100.00 $/hour" in ended.out
    assert "budget.worst" in ended.err
    document = json.loads(gpuyard("cost", write(over), "--format", "json").out)
    assert document["counts"]["error"] == 1
    assert document["cost"]["pools"][0]["maximum_usd_per_hour"] == pytest.approx(220.16)
    assert "220.16" in gpuyard("cost", write(over), "--format", "markdown").out


def test_refused_for_more_than_its_budget_there_is_no_bill(gpuyard, write):
    both = platform([pool()], [team(guarantee={"train": 80})], budget={"max_usd_per_hour": 100})
    ended = gpuyard("cost", write(both))
    assert (ended.code, ended.out) == (3, "")
    assert json.loads(gpuyard("cost", write(both), "--format", "json").out)["cost"] is None


def test_of_a_stack_that_cannot_be_read_there_is_no_bill(gpuyard, write):
    ended = gpuyard("cost", write(platform([pool(nodes="many")])))
    assert (ended.code, ended.out) == (3, "")


def test_an_unknown_price_has_a_date_and_is_in_no_sum(gpuyard, write):
    ended = gpuyard("cost", write(UNKNOWN))
    assert ended.code == 0
    text = " ".join(ended.out.split())
    assert "! train (p5e.48xlarge): price unknown as of 2026-11-21, not in the sums" in text
    assert "train p5e.48xlarge 4 4 unknown unknown unknown" in text
    assert "p5e.48xlarge on-demand unknown price unknown as of 2026-11-21" in text
    assert "maximum 5.60 + unknown for 4 nodes 4,092 + unknown" in text
    assert "vision unknown unknown -" in text
    assert "unassigned 4,092 + unknown 3,727 + unknown" in text
    document = json.loads(gpuyard("cost", write(UNKNOWN), "--format", "json").out)["cost"]
    assert document["unknown"] == ["train"]
    line = next(p for p in document["pools"] if p["pool"] == "train")
    assert (line["maximum_usd_per_hour"], line["usd_per_node"]) == (None, None)
    assert document["teams"][0]["guarantee_usd_per_month"] is None


@pytest.mark.parametrize("given", [pool(), cut_pool(), shared_pool(), pool(machine="g6f.large")])
def test_all_units_of_a_node_cost_what_the_node_costs(given):
    plan = plan_of(platform([given]))
    (line,) = plan.bill.lines
    total = sum(u.per_node * (u.usd_per_hour or 0) for u in unit_costs(plan))
    assert total == pytest.approx(line.usd_per_node)


def test_a_node_with_cut_and_whole_gpus_is_paid_once():
    mixed = {"mig": [{"gpus": "0-3", **CUT["mig"]}]}
    plan = plan_of(platform([cut_pool(sharing=mixed)]))
    total = sum(u.per_node * (u.usd_per_hour or 0) for u in unit_costs(plan))
    assert total == pytest.approx(plan.bill.lines[0].usd_per_node)


def test_a_change_is_shown_from_the_other_stack_to_this_one(gpuyard, write):
    before, after = write(BEFORE, "before.yaml"), write(AFTER, "after.yaml")
    ended = gpuyard("cost", after, "--against", before)
    assert ended.code == 0
    found = rows(ended.out)
    for row in (
        "maximum 242.12 114.68 -127.44",
        "train 4 → 2 × p5.48xlarge minimum 220.16 110.08 -110.08",
        "serve removed: 1 × p4d.24xlarge minimum 21.96 - -21.96",
        "dev new: 1 × g6.12xlarge minimum - 4.60 +4.60",
        "vision 40,179 80,358 +40,179",
        "new - 0.00 =",
    ):
        assert row in found, row


def test_nothing_changes_against_itself(gpuyard, write):
    path = write(BEFORE)
    assert "maximum 242.12 242.12 =" in rows(gpuyard("cost", path, "--against", path).out)


def test_the_change_of_an_unknown_price_is_unknown(gpuyard, write):
    ended = gpuyard("cost", write(UNKNOWN, "u.yaml"), "--against", write(BEFORE))
    found = rows(ended.out)
    assert sum(row.endswith("220.16 unknown unknown") for row in found) == 3
    assert "maximum 242.12 5.60 + unknown unknown" in found
    assert "train (p5e.48xlarge): price unknown as of 2026-11-21, not in the sums." in found


def test_markdown_is_a_table_for_a_pull_request(gpuyard, write):
    before, after = write(BEFORE, "before.yaml"), write(AFTER, "after.yaml")
    text = gpuyard("cost", after, "--against", before, "--format", "markdown").out
    assert text.startswith(f"### Cost: `{before}` → `{after}`\n")
    assert "\n| $/hour | before | after | change |\n|---|---:|---:|---:|\n" in text
    assert (
        "| train | 4 → 2 × p5.48xlarge | 220.16 → 110.08 | 220.16 → 110.08"
        " | 220.16 → 110.08 | -110.08 |" in text
    )
    assert "| dev | new: 1 × g6.12xlarge | - → 4.60 | - → 4.60 | - → 4.60 | +4.60 |" in text
    one = gpuyard("cost", before, "--format", "markdown").out
    assert "| train | p5.48xlarge | 4 | 4 | 220.16 | 220.16 | 220.16 |" in one
    assert "| vision | 40,179 | 40,179 |" in one


def test_a_change_as_a_document(gpuyard, write):
    before, after = write(BEFORE, "before.yaml"), write(AFTER, "after.yaml")
    document = json.loads(gpuyard("cost", after, "--against", before, "--format", "json").out)
    assert document["changes"]["usd_per_hour"][2] == {
        "name": "maximum", "before": 242.1176, "after": 114.6816, "difference": -127.436,
    }  # fmt: skip
    assert document["against"] == str(before)
    assert document["against_findings"] == []


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_a_refused_stack_has_no_bill(gpuyard, write, form):
    bad, good = write(platform([pool(machine="p9")]), "bad.yaml"), write(BEFORE)
    for args in ((bad,), (good, "--against", bad), (bad, "--against", good)):
        ended = gpuyard("cost", *args, "--format", form)
        assert ended.code == 3
        assert "pool.machine_unknown" in (ended.out if form == "json" else ended.err)
        assert form == "json" or ended.out == ""
