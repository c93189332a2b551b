"""`gpuyard statement`: the cost of a month by team, in four formats."""

import csv
import io
import json
import subprocess
import sys

import pytest

from gpuyard.usage.statement import ALLOCATED, BILL, BILLED, COST, USED
from kit.recorded import NOVEMBER, recorded, write_matrix
from kit.stacks import platform, pool, team

MANDATORY = {
    "BilledCost",
    "BillingAccountId",
    "BillingAccountName",
    "BillingCurrency",
    "BillingPeriodEnd",
    "BillingPeriodStart",
    "ChargeCategory",
    "ChargeClass",
    "ChargeDescription",
    "ChargePeriodEnd",
    "ChargePeriodStart",
    "ContractedCost",
    "EffectiveCost",
    "InvoiceIssuerName",
    "ListCost",
    "PricingQuantity",
    "PricingUnit",
    "ProviderName",
    "PublisherName",
    "ServiceCategory",
    "ServiceName",
}
"""The mandatory columns of FOCUS 1.2."""
VISION = {"pool": "train", "team": "vision", "class_": "training"}


@pytest.fixture
def stack(write):
    return write(platform([pool()], [team(budget_usd_per_month=20_000)]))


def export(folder, hours=720, team_of=VISION):
    series = [
        recorded(BILL, lambda h: None if h in {30, 31} else 48.0, pool="train"),
        recorded(COST, 30.0, part="used", **team_of),
        recorded(COST, 10.0, part="allocated_idle", **team_of),
        recorded(COST, 8.0, pool="train", team="", class_="", part="unallocated"),
        recorded(ALLOCATED, 4, slice="", **team_of),
        recorded(USED, 3, slice="", **team_of),
        recorded(BILLED, 8, pool="train"),
        recorded("up", 1),
    ]
    return write_matrix(folder / "export.json", series, hours)


def words(text):
    return " ".join(text.split())


def test_teams_parts_and_gaps_are_shown(gpuyard, stack, tmp_path):
    ended = gpuyard("statement", stack, "--month", "2026-11", "--from", export(tmp_path))
    assert (ended.code, ended.err) == (0, "")
    text = words(ended.out)
    for part in (
        "lab 2026-11 (UTC), US dollars at list price",
        "718 of 720 hours are covered (99.7 %); the others are in no sum: nothing is estimated",
        "2,872.0 2,154.0 718.0 10.00 13.33 21,540.00 7,180.00 28,720.00 20,000.00, 8,720.00 over",
        "teams 28,720.00 unallocated 5,744.00 total 34,464.00",
        "5,744.0 GPU-hours billed, 2,872.0 allocated (50.0 %)",
        "! gpuyard:bill:dollars_per_hour: no sample for 2 hours, 2026-11-02 06:00 to 2026-11-02 08:00",
    ):
        assert part in text


def test_an_invoice_is_compared_with_the_prices_of_the_plan(gpuyard, stack, tmp_path):
    path = export(tmp_path)
    ended = gpuyard("statement", stack, "--month", "2026-11", "--from", path, "--bill", "31017.60")
    text = words(ended.out)
    assert "uncovered 86.16 total 31,017.60" in text
    assert "cost 34,464.00 $: the invoice differs by -3,532.56 $ (-10.3 %)" in text


def test_the_rows_have_the_columns_of_focus_and_sum_to_the_bill(gpuyard, stack, tmp_path):
    path = export(tmp_path, team_of={**VISION, "team": "=cmd()"})
    ended = gpuyard("statement", stack, "--month", "2026-11", "--from", path, "--format", "csv")
    rows = [*csv.DictReader(io.StringIO(ended.out))]
    assert rows[0].keys() >= MANDATORY
    assert all(name in MANDATORY or name[:2] == "x_" or name in OTHERS for name in rows[0])
    assert sum(round(100 * float(row["BilledCost"])) for row in rows) == 3_446_400
    used = next(row for row in rows if row["x_Part"] == "used")
    assert used["SubAccountId"] == "'=cmd()"
    assert json.loads(used["Tags"])["gpuyard.dev/class"] == "training"
    assert (used["ConsumedQuantity"], used["ConsumedUnit"]) == ("2154.0", "GPU-Hours")
    assert used["ChargePeriodEnd"] == "2026-12-01T00:00:00Z"


OTHERS = {"ConsumedQuantity", "ConsumedUnit", "ResourceId", "ResourceName", "ResourceType"}
OTHERS |= {"SubAccountId", "SubAccountName", "Tags"}


def test_the_document_has_teams_charges_gaps_and_defects(gpuyard, stack, tmp_path):
    path = export(tmp_path)
    path.write_text(path.read_text().replace('"10.0"', '"NaN"', 1), encoding="utf-8")
    ended = gpuyard("statement", stack, "--month", "2026-11", "--from", path, "--format", "json")
    made = json.loads(ended.out)["statement"]
    assert (made["hours"], made["covered_hours"], made["total_usd"]) == (720, 718, 34464.0)
    assert made["no_team_usd"] == {"unallocated": 5744.0, "remainder": 10.0}
    assert [d["defect"] for d in made["defects"]] == ["not-a-number"]
    assert made["gaps"] == [
        {
            "series": BILL,
            "start": "2026-11-02T06:00:00Z",
            "end": "2026-11-02T08:00:00Z",
            "hours": 2,
        }
    ]


def test_markdown_has_the_same_tables(gpuyard, stack, tmp_path):
    path = export(tmp_path)
    ended = gpuyard(
        "statement", stack, "--month", "2026-11", "--from", path, "--format", "markdown"
    )
    assert "| total | 34,464.00 |" in ended.out
    assert "### Statement of `lab`" in ended.out


def test_the_month_of_a_billing_time_zone(gpuyard, stack, tmp_path):
    ended = gpuyard(
        *("statement", stack, "--month", "2026-11", "--from", export(tmp_path, 760)),
        *("--timezone", "America/Los_Angeles"),
    )
    assert "719 of 721 hours are covered" in words(ended.out)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "write either --from EXPORT or --live ADDRESS"),
        (("--from", "x", "--month", "11/2026"), "--month 11/2026: not a month"),
        (("--from", "x", "--bill", "12.345"), "--bill 12.345: not an amount"),
        (("--from", "x", "--bill", "much"), "--bill much: not an amount"),
        (("--from", "x", "--bill", "Infinity"), "--bill Infinity: not an amount"),
        (("--from", "x", "--timezone", "Mars/Base"), "--timezone Mars/Base: no such time zone"),
    ],
)
def test_wrong_options_are_refused(gpuyard, stack, arguments, why):
    ended = gpuyard("statement", stack, "--month", "2026-11", *arguments)
    assert ended.code == 2
    assert why in words(ended.err)


def test_without_a_plan_there_is_no_statement(gpuyard, write, tmp_path):
    stack, path = write(platform([pool(nodes="many")])), export(tmp_path, 2)
    arguments = ("statement", stack, "--month", "2026-11", "--from", path)
    assert gpuyard(*arguments).code == 3
    ended = gpuyard(*arguments, "--format", "json")
    assert (ended.code, json.loads(ended.out)["statement"]) == (3, None)


def test_live_queries_each_day_of_the_month(gpuyard, stack, monkeypatch):
    asked = []

    def query_range(_, expression, start, end, step):
        asked.append((expression, start, end, step))
        yield (("__name__", BILL), ("pool", "train")), start, 48.0

    monkeypatch.setattr("gpuyard.cli.prometheus.Prometheus.query_range", query_range)
    ended = gpuyard("statement", stack, "--month", "2026-11", "--live", "http://localhost:9")
    assert "30 of 720 hours are covered" in words(ended.out)
    assert len(asked) == 30
    assert asked[0][1:] == (NOVEMBER, NOVEMBER + 86400 - 300, 300)
    assert BILL in asked[0][0]


WRITE = """
import sys
import resource
from gpuyard.usage.hours import hourly_export
from gpuyard.usage.months import month_of
from gpuyard.usage.statement import BILL, COST, make_statement
SERIES, EACH = 250, int(sys.argv[1])
def samples():
    for n in range(SERIES):
        pool = ("pool", f"p{n // 5}")
        name = ("__name__", COST if n % 5 else BILL)
        rest = (("part", f"used{n % 5}"), pool, ("team", f"t{n % 5}")) if n % 5 else (pool,)
        labels = (name, *rest)
        for at in range(EACH):
            yield labels, 1793491200 + at * (2592000 / EACH), 1.0 if n % 5 else 4.0
month = month_of("2026-11")
made = make_statement(month, hourly_export(samples(), month.period), {})
assert made.cents == 50 * 4 * 720 * 100, made.cents
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak_kib(samples_of_each):
    return int(
        subprocess.run(
            [sys.executable, "-c", WRITE, str(samples_of_each)],
            capture_output=True,
            check=True,
            text=True,
        ).stdout
    )


@pytest.mark.timed
def test_memory_does_not_grow_with_samples():
    assert peak_kib(7200) - peak_kib(720) < 20 * 1024
