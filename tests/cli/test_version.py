"""`gpuyard version --facts`: how old the facts of the catalogue are."""

import json


def test_the_oldest_row_of_each_kind_is_listed_with_its_day_age_and_limit(gpuyard, monkeypatch):
    monkeypatch.setenv("GPUYARD_TODAY", "2026-11-28")
    lines = [line.split() for line in gpuyard("version", "--facts").out.splitlines()]
    assert lines == [
        ["kind", "oldest", "row", "of", "days", "old", "limit"],
        ["prices", "commitments.EC2_RESERVED_3Y_LIST", "2025-11-30", "363", "90"],
        ["bulletins", "cves.ADVISORIES", "2026-09-30", "59", "45"],
        ["pins", "pins.volcano-chart", "2026-06-01", "180", "90"],
        ["support", "windows", "support.EKS_SECOND_HAND", "2026-07-08", "143", "180"],
    ]


def test_a_program_reads_the_same_with_what_is_old(gpuyard, monkeypatch):
    monkeypatch.setenv("GPUYARD_TODAY", "2026-11-14")
    found = json.loads(gpuyard("version", "--facts", "--format", "json").out)
    assert (found["version"], found["command"]) == (1, "facts")
    assert found["facts"][1] == {
        "kind": "bulletins",
        "oldest": "cves.ADVISORIES",
        "as_of": "2026-09-30",
        "days": 45,
        "limit": 45,
        "old": False,
    }
    assert [each["old"] for each in found["facts"]] == [True, False, True, False]
