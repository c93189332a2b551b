"""The rules over the corpus: every file gives what a careful reviewer expects of it, no more and no less."""

import json

import corpus

from gpuyard_lint.read import read
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.run import FindingState
from kit.every import every
from kit.levels import upstream

ALL = corpus.expectations()
FEWEST = 60
IDS = {rule.id for rule in RULES}
UNREAD = {"notebooks/jupyterhub-values.yaml"}
"""Values of a chart that no rule is about."""


def test_every_file_is_judged_and_about_half_are_sound():
    files = {str(path.relative_to(corpus.CORPUS)) for path in corpus.CORPUS.glob("*/*")}
    assert files == {each.name for each in ALL}
    assert len(ALL) >= FEWEST
    assert 0.4 < sum(each.sound for each in ALL) / len(ALL) < 0.6


@every("each", ALL, ids=lambda each: each.name)
def test_a_file_gives_what_a_reviewer_expects(each):
    assert corpus.found(each.name) == sorted({*each.expected, *each.false_alarms})
    made = corpus.linted(each.name)
    assert {hit.state for hit in made.hits} <= {FindingState.OPEN}
    assert bool(made.skipped) == (each.name in UNREAD)


@every("each", ALL, ids=lambda each: each.name)
def test_expectations_are_about_lines_of_the_file_and_rules_that_are_there(each):
    text = (corpus.CORPUS / each.name).read_text(encoding="utf-8").splitlines()
    said = [*each.expected, *each.false_alarms, *each.missed]
    assert all(text[line - 1].strip() for line, _ in said)
    assert {rule for _, rule in (*each.expected, *each.false_alarms)} <= IDS
    assert not set(each.expected) & set(each.false_alarms)
    assert "sound" not in each.name or not (each.expected or each.missed)


def test_what_another_linter_found_is_about_these_files():
    kept = json.loads(corpus.KEPT.read_text(encoding="utf-8"))
    assert set(kept["failed"]) == {each.name for each in ALL}
    assert kept["digest"] == corpus.digest(), "run benchmarks/corpus.py --checkov PROGRAM again"
    assert set(corpus.SAME_CAUSE.values()) <= IDS
    missed = {(each.name, line) for each in ALL for line, _ in each.missed}
    assert set(corpus.MISSED_BY_US) <= missed


def test_nothing_is_said_of_what_the_projects_publish_themselves():
    files = [*upstream("values").glob("*.y*ml"), *upstream("data").rglob("*.y*ml")]
    assert len(files) > len(("values", "data"))
    for file in [*files, *upstream("crds").rglob("*.y*ml")]:
        assert build_report(read(file.read_bytes(), file.name), RULES).hits == ()


def test_the_page_says_what_was_found(golden):
    golden(corpus.PAGE, corpus.page())


def test_mistakes_are_counted_once_and_columns_add_up():
    rows, total = corpus.table()
    mistakes = sum(len(each.expected) + len(each.missed) for each in ALL)
    assert total.mistakes == mistakes
    assert total.files == len(ALL) == sum(row.files for row in rows.values())
    assert total.ours == sum(len(each.expected) for each in ALL)
    assert total.alarms == sum(len(each.false_alarms) for each in ALL)
    assert total.theirs <= mistakes
    assert total.their_alarms <= total.their_all
