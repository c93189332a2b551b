"""`gpuyard statement`: the cost of a month by team, in four formats."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from gpuyard_advisor.usage.statement import ALLOCATED, BILL, BILLED, COST, USED
from kit.recorded import NOVEMBER, recorded, write_matrix
from kit.stacks import platform, pool, team

COLUMNS = {
    row["column"]: row
    for row in csv.DictReader(
        Path(__file__).with_name("focus_columns.csv").read_text(encoding="utf-8").splitlines()
    )
}
"""The columns of FOCUS 1.2: github.com/FinOps-Open-Cost-and-Usage-Spec/FOCUS_Spec, tag v1.2, specification/columns."""
VISION = {"pool": "train", "team": "vision", "class_": "training"}


@pytest.fixture
def stack(write):
    return write(platform([pool()], [team(budget_usd_per_month=20_000)]))


def export(folder, hours=720, team_of=VISION, more=()):
    series = [
        recorded(BILL, lambda h: None if h in {30, 31} else 48.0, pool="train"),
        recorded(COST, 30.0, part="used", **team_of),
        recorded(COST, 10.0, part="allocated_idle", **team_of),
        recorded(COST, 8.0, pool="train", team="", class_="", part="unallocated"),
        recorded(ALLOCATED, 4, slice="", **team_of),
        recorded(USED, 3, slice="", **team_of),
        recorded(BILLED, 8, pool="train"),
        recorded("up", 1),
        *more,
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
        "vision 2,872.0 2,154.0 718.0 10.00 13.33",
        "vision 21,540.00 7,180.00 28,720.00 20,000.00 ! vision is 8,720.00 $ over its budget",
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


def test_the_rows_sum_to_the_bill_and_are_safe_in_a_spreadsheet(gpuyard, stack, tmp_path):
    path = export(tmp_path, team_of={**VISION, "team": "=cmd()"})
    ended = gpuyard("statement", stack, "--month", "2026-11", "--from", path, "--format", "csv")
    rows = [*csv.DictReader(io.StringIO(ended.out))]
    own = [name.startswith("x_") for name in rows[0]]
    assert own == sorted(own), "own columns come last"
    assert sum(round(100 * float(row["BilledCost"])) for row in rows) == 3_446_400
    used = next(row for row in rows if row["x_Part"] == "used")
    assert used["SubAccountId"] == "'=cmd()"
    assert json.loads(used["Tags"])["gpuyard.dev/class"] == "training"
    assert (used["ConsumedQuantity"], used["ConsumedUnit"]) == ("2154.0", "GPU-Hours")
    assert used["ChargePeriodEnd"] == "2026-12-01T00:00:00Z"


@pytest.mark.parametrize("bill", [(), ("--bill", "40000.01")])
@pytest.mark.parametrize("cloud", ["none", "aws"])
def test_each_row_keeps_the_rules_of_focus(gpuyard, write, tmp_path, cloud, bill):
    """Also of system nodes, a commitment, a team without use, a remainder and uncovered hours."""
    stack = write(platform([pool()], [team(budget_usd_per_month=20_000)], cloud=cloud))
    none = {"team": "", "class_": ""}
    more = [
        recorded(COST, 2.0, pool="system", part="system", **none),
        recorded(BILL, 2.5, pool="system"),
        recorded(COST, 5.0, pool="commitment", part="commitment", **none),
        recorded(BILL, 5.0, pool="commitment"),
        recorded(COST, 0.0, pool="train", team="speech", class_="none", part="used"),
    ]
    path = export(tmp_path, more=more)
    options = ("--month", "2026-11", "--from", path, "--format", "json", *bill)
    rows = json.loads(gpuyard("statement", stack, *options).out)["statement"]["charges"]
    assert {row["x_Part"] for row in rows} >= {"used", "system", "commitment", "remainder"}
    for row in rows:
        assert [*problems(row)] == [], row


def problems(row):
    """The rules of the specification that a row breaks."""
    yield from (
        f"no {name}"
        for name, column in COLUMNS.items()
        if column["level"] == "mandatory" and name not in row
    )
    for name, value in row.items():
        if not name.startswith("x_") and not is_valid(value, COLUMNS[name]):
            yield f"{name} is {value!r}"
    is_usage = row["ChargeCategory"] == "Usage"
    for name in ("PricingQuantity", "ConsumedQuantity", "ListUnitPrice", "ContractedUnitPrice"):
        if is_usage is (row[name] is None):
            yield f"{name} of {row['ChargeCategory']}"
    for one, other in TOGETHER.items():
        if (row[one] is None) is not (row[other] is None):
            yield f"{one} without {other}"
    for kind in ("List", "Contracted"):
        price, cost = row[f"{kind}UnitPrice"], row[f"{kind}Cost"]
        expected = row["BilledCost"] if price is None else price * row["PricingQuantity"]
        if abs(cost - expected) > 1e-6:
            yield f"{kind}Cost is {cost}, not {expected}"
    if row["ResourceId"] is not None and row["ResourceName"] == row["ResourceId"]:
        yield "ResourceName repeats ResourceId"


TOGETHER = {
    "PricingQuantity": "PricingUnit",
    "ConsumedQuantity": "ConsumedUnit",
    "ResourceId": "ResourceType",
    "RegionId": "RegionName",
    "SubAccountId": "SubAccountName",
}
"""Columns that are both empty or both not."""


def is_valid(value, column):
    if value is None:
        return column["nullable"] == "yes"
    if column["type"] == "decimal":
        return isinstance(value, int | float)
    return value in column["values"].split("|") if column["values"] else value != ""


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


def test_a_large_fleet_fits_80_columns(gpuyard, write, tmp_path):
    name = "foundation"
    stack = write(platform([pool()], [team(name, budget_usd_per_month=2_000_000)]))
    of_team = {"pool": "train", "team": name, "class_": "training"}
    more = [
        recorded(COST, 9_000.0, part="used", **of_team),
        recorded(COST, 2_000.0, part="allocated_idle", **of_team),
        recorded(ALLOCATED, 16_000, slice="", **of_team),
        recorded(USED, 14_000, slice="", **of_team),
    ]
    path = export(tmp_path, more=more)
    text = gpuyard("statement", stack, "--month", "2026-11", "--from", path).out
    assert max(map(len, text.splitlines())) <= 80
    assert f"{name} 11,488,000.0 10,052,000.0 1,436,000.0 0.69 0.79" in words(text)
    assert f"{name} 6,462,000.00 1,436,000.00 7,898,000.00 2,000,000.00" in words(text)


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
        ((), "write either --from EXPORT or --live URL"),
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
        for time in range(int(start), int(end), 6 * step):
            yield (("__name__", BILL), ("pool", "train")), time, 48.0

    monkeypatch.setattr("gpuyard_advisor.cli.prometheus.Prometheus.query_range", query_range)
    ended = gpuyard("statement", stack, "--month", "2026-11", "--live", "http://localhost:9")
    assert "720 of 720 hours are covered" in words(ended.out)
    assert len(asked) == 30
    assert asked[0][1:] == (NOVEMBER, NOVEMBER + 86400 - 300, 300)
    assert BILL in asked[0][0]


WRITE = """
import sys
from pathlib import Path
import resource
from gpuyard_advisor.usage.hours import hourly_export
from gpuyard_advisor.usage.statement import month_of
from gpuyard_advisor.usage.statement import BILL, COST, make_statement
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
