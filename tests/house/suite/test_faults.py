"""The page of faults names existing tests, and each fault has one or states that it has none."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "benchmarks" / "faults.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
NONE = "not there: "


def rows() -> list[list[str]]:
    """Fault, required behaviour, and the test that shows it."""
    lines = [line for line in PAGE.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def test_each_fault_is_seen_by_a_test_that_exists():
    assert len(rows()) > 15
    for fault, holds, seen in rows():
        named = NAMED.findall(seen)
        assert bool(named) != holds.startswith(NONE), fault
        assert len(named) == seen.count("`") / 2, fault
        for file, name in named:
            text = (ROOT / file).read_text(encoding="utf-8")
            assert re.search(rf"^(async )?def {name}\(", text, re.MULTILINE), f"{file}::{name}"


def test_a_fault_is_there_once():
    faults = [fault for fault, *_ in rows()]
    assert len(set(faults)) == len(faults)
