"""`make facts`: what it needs, what it finds alone or old, and that it runs what is there."""

from dataclasses import replace
from datetime import date

import pytest

import facts
from gpuyard_core.catalogue.sources import Source

DAY = date(2026, 11, 21)
FOUND = {
    "a.NEW": Source("new", DAY, as_of=date(2026, 8, 1), second="another"),
    "a.OLD": Source("old", DAY, as_of=date(2026, 1, 21)),
    "a.UNDATED": Source(
        "undated",
        DAY,
        as_of=DAY,
    ),
}


def test_what_nothing_confirms_and_what_is_old_is_named():
    assert facts.alone(FOUND) == ["a.OLD", "a.UNDATED"]
    assert facts.old({"prices": FOUND, "support windows": FOUND}, DAY) == [
        "prices, a.NEW: of 2026-08-01, more than 90 days ago",
        "prices, a.OLD: of 2026-01-21, more than 90 days ago",
        "support windows, a.OLD: of 2026-01-21, more than 180 days ago",
    ]


def test_prices_of_the_catalogue_are_among_its_sources_and_copies_are_alone():
    found = facts.named_sources()
    assert found["ec2-offers"].as_of == date(2026, 7, 20)
    assert {"commitments.ec2-reserved-list", "commitments.gce-committed-list"} <= set(
        facts.alone(found)
    )
    assert "gce-offers" not in facts.alone(found)
    assert {"support.eks-guide", "pins.kueue"} <= found.keys()
    assert len({name.partition(".")[0] for name in found}) > 40, "subjects that have sources"


def test_a_table_is_written_when_its_clones_are_there_and_is_named_when_not(
    tmp_path, monkeypatch, capsys
):
    clones, tables = tmp_path / "clones", tmp_path / "tables"
    (clones / "karpenter-provider-aws").mkdir(parents=True)
    tables.mkdir()
    karpenter = replace(facts.CHECKS[0], text=lambda clone: f"from {clone.name}\n")
    monkeypatch.setattr(facts, "CHECKS", (karpenter, *facts.CHECKS[1:]))
    monkeypatch.setattr(facts, "TABLES", tables)
    ran = []

    class Ended:
        returncode = 7

    monkeypatch.setattr(facts.subprocess, "run", lambda words, **_: ran.append(words) or Ended)
    assert facts.run(clones) == 7
    assert [words[1:] for words in ran] == [["-m", "pytest", "-q", "tests/catalogue"]]
    (written,) = tables.iterdir()
    assert written.read_text(encoding="utf-8") == "from karpenter-provider-aws\n"
    said = capsys.readouterr().out
    assert "skipped: GPUs and their first drivers; missing in" in said
    assert "aws-gpu/data" in said


@pytest.mark.parametrize("check", facts.CHECKS, ids=lambda check: check.says)
def test_every_table_it_writes_exists(check):
    assert (facts.TABLES / check.file).is_file()
