"""`make quick` runs the tests beside a change, and never passes without a test."""

import pytest

import quick


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("components/gpuyard/plan/money/bill.py", "tests/plan/money"),
        ("components/gpuyard/plan/nowhere/bill.py", "tests/plan"),
        ("components/gpuyard_core/names.py", "tests/house"),
        ("components/gpuyard_agents/idle/run.py", "tests/idle"),
        ("tests/plan/test_proofs.py", "tests/plan/test_proofs.py"),
        ("tests/plan/money/test_gone.py", "tests/plan/money"),
        ("tests/plan/proofs/a.b.yaml", "tests/plan"),
        ("tests/conftest.py", "tests/house"),
        ("docs/guides/lint.md", "tests/docs"),
        ("scripts/quick.py", "tests/house"),
        ("Makefile", "tests/house"),
    ],
)
def test_a_change_runs_the_tests_beside_it(path, expected):
    assert quick.place_of(path) == expected


def test_where_nothing_runs_nothing_has_passed(monkeypatch, capsys):
    monkeypatch.setattr(quick, "changed", set)
    assert quick.main() == quick.NOTHING
    assert capsys.readouterr().out == "quick: nothing has changed, so no test runs\n"


def test_changes_are_known_and_new_files(monkeypatch):
    answers = {"merge-base": ["abc"], "diff": ["Makefile"], "ls-files": ["new.md"]}
    monkeypatch.setattr(quick, "git", lambda command, *_: answers[command])
    assert quick.changed() == {"Makefile", "new.md"}
