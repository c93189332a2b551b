"""The page of the field's claims is whole, and no figure is older than the code that it depends on."""

import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))

import claims  # noqa: E402

ROW = {"id": "wait", "topic": "queue wait", "claim": "wait", "figure": "15 min"}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with one Python file and one data file."""
    monkeypatch.setattr(claims, "ROOT", tmp_path)
    (tmp_path / "model.py").write_text('"""A model."""\n\nRATE = 2\n')
    (tmp_path / "prices.csv").write_text("h100,6.88\n")
    return tmp_path


def simulated(**changes: Any) -> dict[str, Any]:
    """A whole answer for these files."""
    patterns = ["model.py", "prices.csv"]
    return {
        "kind": "simulated",
        "figure": "12 min",
        "command": "python benchmarks/whatif.py",
        "files": patterns,
        "date": "2026-11-29",
        "digest": claims.digest(patterns),
        **changes,
    }


def test_every_claim_of_the_field_is_answered_by_a_figure_of_the_code_as_it_is():
    assert claims.problems(claims.field(), claims.answers()) == []


def test_the_page_is_what_the_data_say():
    assert claims.PAGE.read_text() == claims.page(claims.field(), claims.answers())


def test_a_claim_without_an_answer_and_an_answer_without_a_claim_are_reported(files: Path):
    assert claims.problems([ROW], {"price": {"kind": "not claimed", "reason": "no fleet"}}) == [
        "wait: in field_claims.csv, not in claims.yaml",
        "price: in claims.yaml, not in field_claims.csv",
    ]


def test_an_answer_must_be_of_a_known_kind_and_whole(files: Path):
    assert claims.problems([ROW], {"wait": {"kind": "hoped"}}) == [
        "wait: kind 'hoped'; allowed: measured, simulated, not claimed"
    ]
    assert claims.problems([ROW], {"wait": {"kind": "not claimed"}}) == ["wait: no reason"]
    assert claims.problems([ROW], {"wait": simulated(figure="", date="")}) == [
        "wait: no figure",
        "wait: no date",
    ]


@pytest.mark.parametrize(
    ("name", "text"), [("model.py", "RATE = 3\n"), ("prices.csv", "h100,7.00\n")]
)
def test_a_figure_is_old_once_its_code_or_its_data_change(files: Path, name: str, text: str):
    answer = simulated()
    (files / name).write_text(text)
    assert claims.problems([ROW], {"wait": answer}) == [
        "wait: the code changed after 2026-11-29: run python benchmarks/whatif.py, and record its figure"
    ]


def test_comments_docstrings_and_formatting_do_not_make_a_figure_old(files: Path):
    answer = simulated()
    (files / "model.py").write_text(
        '"""The model,\nin other words."""\n# twice\nRATE = (\n    2\n)\n'
    )
    assert claims.problems([ROW], {"wait": answer}) == []


def test_files_that_do_not_exist_are_an_error(files: Path):
    with pytest.raises(FileNotFoundError, match=r"claims.yaml: no file matches gone/\*\.py"):
        claims.digest(["gone/*.py"])
