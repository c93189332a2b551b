"""Prices and sizes against other people's price lists: a disagreement fails with both values.

The table comes from `make facts`. Nothing is known to differ.
What ours were copied from is no second source of them (COPIED): there a slip of the hand is found, and no
more.
"""

import csv
from pathlib import Path

import pytest

import facts
from gpuyard_core.catalogue.commitments import (
    COMMITTED_USE,
    RESERVED_INSTANCE,
    commitments_of,
)
from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_core.catalogue.sources import find_source
from kit.every import every

TABLE = Path(__file__).with_name("price_second_source.csv")
ROWS = [
    pytest.param(row, id=row["type"])
    for row in csv.DictReader(TABLE.read_text(encoding="utf-8").splitlines())
]


COPIED = {
    "reserved_1y": find_source("commitments.ec2-reserved-list"),
    "cud_1y": find_source("commitments.gce-committed-list"),
    "cud_3y": find_source("commitments.gce-committed-list"),
}
"""Columns of the very lists that our rows come from."""


def test_a_copy_is_not_called_a_second_source():
    assert {source.second for source in COPIED.values()} == {""}
    assert find_source("ec2-offers").second
    assert "Cyclenerd" in find_source("gce-offers").second


def price(found):
    return None if found is None else found.low


def committed(name, kind, years):
    return price(
        next(
            (c.usd_per_hour for c in commitments_of(name) if (c.kind, c.years) == (kind, years)),
            None,
        )
    )


def disagreements(row):
    """{field: (ours, theirs)} of one machine; a price that theirs lacks says nothing."""
    m = MACHINES[row["type"]]
    ours = {
        "vcpus": m.vcpus,
        "gib": m.memory_gib,
        "on_demand": price(m.on_demand),
        "spot": price(m.spot),
        "reserved_1y": committed(m.name, RESERVED_INSTANCE, 1),
        "cud_1y": committed(m.name, COMMITTED_USE, 1),
        "cud_3y": committed(m.name, COMMITTED_USE, 3),
    }
    return {
        field: (mine, row[field])
        for field, mine in ours.items()
        if not agree(field, mine, row[field])
    }


def agree(field, mine, theirs):
    """A commitment must be known to both or to neither."""
    if theirs == "-":
        return mine is None or field in {"on_demand", "spot"}
    return close(mine, float(theirs))


def close(mine, theirs):
    """Our rows have three or four places."""
    return mine is not None and abs(mine - theirs) <= 0.0006


@every("row", ROWS)
def test_a_machine_is_and_costs_what_another_list_says(row):
    assert disagreements(row) == {}


def test_most_machines_have_a_second_price():
    assert len(ROWS) >= 220
    assert sum(row.values[0]["cud_3y"] != "-" for row in ROWS) == 155
    assert sum(row.values[0]["reserved_1y"] != "-" for row in ROWS) == 42


@pytest.mark.parametrize(
    ("name", "field", "wrong"),
    [
        ("g2-standard-4", "vcpus", "5"),
        ("g2-standard-4", "gib", "17"),
        ("g2-standard-4", "on_demand", "0.7091"),
        ("g2-standard-4", "spot", "0.3990"),
        ("g2-standard-4", "cud_1y", "0.4460"),
        ("g2-standard-4", "cud_3y", "-"),
        ("g5.xlarge", "reserved_1y", "0.6350"),
        ("p5.48xlarge", "reserved_1y", "34.6"),
    ],
)
def test_a_difference_is_found(name, field, wrong):
    row = next(r.values[0] for r in ROWS if r.values[0]["type"] == name)
    assert list(disagreements({**row, field: wrong})) == [field]


def test_the_script_reads_both_kinds_of_list():
    google = {
        "compute": {
            "instance": {
                "g2-standard-4": {
                    "cpu": 4,
                    "ram": 16,
                    "cost": {"us-central1": {"hour": 0.7, "month_1y": 365.0}},
                },
                "e2-standard-4": {"cpu": 4, "ram": 16, "cost": {}},
                "z9-huge": {"cpu": 1, "ram": 1, "cost": {"us-central1": {"hour": 1}}},
            }
        }
    }
    amazon = """// made
    var data = [{"name": "g5.xlarge", "vcpu": 4, "memory": "16 GB",
                 "pricing": {"us-east-1": {"onDemand": 1.006, "reserved": 0.63378}}},
                {"apiName": "g6.xlarge", "vcpu": 4, "memory": "16 GB", "pricing": {}}];"""
    broken = "var data = [{]"
    rows = [
        *facts.google_rows(google),
        *facts.amazon_rows(iter([amazon, broken])),
    ]
    head, *lines = facts.price_table(iter(rows)).splitlines()
    assert head.split(",") == list(facts.PRICE_COLUMNS)
    assert lines == [
        "g5.xlarge,4,16,1.0060,-,0.6338,-,-",
        "g2-standard-4,4,16,0.7000,-,-,0.5000,-",
    ]
