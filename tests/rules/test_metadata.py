"""`rules.yaml` has the same keys in every row, and no row without a rule."""

from datetime import date
from pathlib import Path

import pytest
import yaml

from gpuyard_core.findings import Severity
from gpuyard_lint import rules
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import load_rule

FOLDER = Path(rules.__file__).parent
ROWS = yaml.safe_load((FOLDER / "rules.yaml").read_text(encoding="utf-8"))
TYPES = {
    "title": str,
    "severity": str,
    "why": str,
    "fix": str,
    "parameters": dict,
    "sources": list,
    "checked_on": date,
    "references": list,
}
OPTIONAL = {"title", "parameters", "references"}
"""The title of an admission requirement is in its module of `gpuyard_core.admission`."""


def test_each_rule_has_a_row_and_each_row_a_rule():
    assert [rule.id for rule in RULES] == list(ROWS)


def test_a_row_has_known_keys_with_values_of_their_types():
    for row in ROWS.values():
        assert TYPES.keys() - OPTIONAL <= row.keys() <= TYPES.keys()
        assert {key: type(value) for key, value in row.items()} == {key: TYPES[key] for key in row}
        assert row["severity"] in {each.value for each in Severity}
        assert all(isinstance(each, str) for each in row["sources"])
        assert all(map(_is_reference, row.get("references", [])))


def _is_reference(value):
    return [type(part) for part in value] == [str, str]


def test_an_id_without_a_row_is_an_error():
    with pytest.raises(KeyError):
        load_rule("GPU-NONE-01", kinds=("Pod",))


def test_a_table_says_what_it_has_and_from_where():
    tables = yaml.safe_load((FOLDER / "tables.yaml").read_text(encoding="utf-8"))
    for table in tables.values():
        assert list(table) == ["about", "source", "checked_on", "values"]
        assert isinstance(table["checked_on"], date)
        values = table["values"]
        assert len(values) == len({str(each) for each in values})
