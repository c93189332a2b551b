"""The pages about rules match the rules, their cases and the program."""

from functools import cache

import yaml

import rule_pages
from gpuyard_lint.read import read
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from kit.every import every
from kit.pages import blocks


@cache
def page(rule_id):
    (rule,) = [rule for rule in RULES if rule.id == rule_id]
    return rule_pages.page(rule)


@every("rule", RULES, ids=lambda rule: rule.id)
def test_the_page_is_what_its_rule_and_the_program_say(golden, rule):
    golden(rule_pages.FOLDER / f"{rule.id}.md", page(rule.id))


def test_every_rule_has_a_page_and_nothing_is_left_over():
    there = {path.stem for path in rule_pages.FOLDER.glob("*.md")} - {"index"}
    assert there == {rule.id for rule in RULES}


@every("rule", RULES, ids=lambda rule: rule.id)
def test_the_first_example_is_caught_and_the_last_is_not(rule):
    cases = yaml.safe_load((rule_pages.CASES / f"{rule.id}.yaml").read_text(encoding="utf-8"))
    caught = {}
    for kind in ("bad", "good"):
        name, _, text = rule_pages._file(cases[kind][0])
        settings = rule_pages.RuleConfiguration(
            parameters={rule.id: cases[kind][0].get("parameters", {})}
        )
        caught[kind] = build_report(read(text.encode(), name), [rule], settings).hits
    assert caught["bad"]
    assert caught["good"] == ()
    assert f"more     gpuyard why {rule.id}" in page(rule.id)


def test_the_index_and_the_table_of_the_pack_have_every_rule_with_its_severity(golden):
    index, table = rule_pages.index(), rule_pages.table()
    golden(rule_pages.FOLDER / "index.md", index)
    golden(rule_pages.TABLE, table)
    for rule in RULES:
        assert f"\n| [{rule.id}]({rule.id}.md) | {rule_pages.word(rule)} | " in index
        (row,) = [line for line in table.splitlines() if line.startswith(f"| [{rule.id}]")]
        assert (" | yes | " in row) is (rule.remediate is not None)
    words = {rule.id: rule_pages.word(rule) for rule in RULES}
    assert (words["GPU-AWS-02"], words["GPU-AWS-01"], words["GPU-AWS-03"]) == (
        "advisory",
        "error",
        "warning",
    )


def test_a_long_file_is_shown_in_part(tmp_path):
    shown = rule_pages._block("text", "\n".join(f"line {n}" for n in range(100)))
    path = tmp_path / "page.md"
    path.write_text(shown, encoding="utf-8")
    (block,) = blocks(path)
    lines = block.text.splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("line 0", "line 99", rule_pages.LONG + 1)
    assert "# … 40 lines more …" in lines


def test_a_default_is_shown_as_it_would_be_written():
    values = {None: "not set", True: "true", False: "false", 3: "3", "a": "a", ("a", "b"): "[a, b]"}
    assert {value: rule_pages.shown_default(value) for value in values} == values
