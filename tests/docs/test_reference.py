"""The reference of stack files is what the models say."""

import os
import re
import subprocess
import sys
from pathlib import Path

import reference
import words_today
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.pools import Pool
from gpuyard.spec.teams import Team


def test_the_reference_is_what_the_models_say(golden):
    golden(reference.PAGE, reference.stack_file())


def test_the_page_of_what_words_do_today_is_what_the_plan_says_of_them(golden):
    golden(words_today.PAGE, words_today.page())


def test_no_word_is_missing_on_that_page_and_each_has_one_state():
    rows = re.findall(r"^\| `(\w+)` \| (\w[\w ]*) \| \S", words_today.page(), re.MULTILINE)
    names = [name for model in (PlatformSpec, Pool, Team) for name in model.model_fields]
    assert [name for name, _ in rows] == names
    assert {state for _, state in rows} == {"in effect", "planned", "nothing"}


def test_every_model_is_found_once_and_the_whole_comes_first():
    found = reference.models(PlatformSpec)
    assert found[0] is PlatformSpec
    assert {Pool, Team} <= set(found)
    assert len(found) == len(set(found))


def test_a_field_says_whether_it_is_needed_and_where_to_read_on():
    assert reference.row("pools", PlatformSpec).startswith("| `pools` | yes | ")
    assert "[Pool](#pool)" in reference.row("pools", PlatformSpec)
    assert reference.row("teams", PlatformSpec).startswith("| `teams` |  | ")


def test_a_choice_is_explained_once():
    row = reference.row("isolation", Team)
    assert row.count("The least that") == 1
    assert "`node` at least a node of its own" in row


def test_a_text_stays_inside_its_cell():
    assert reference.words("a |\n   b") == "a \\| b"


def test_every_command_is_on_its_page():
    page = (reference.PAGE.parent / "commands.md").read_text(encoding="utf-8")
    listed = subprocess.run(
        [str(Path(sys.executable).with_name("gpuyard")), "--help"],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "80"},
    ).stdout
    commands = re.findall(r"^  (\w+)  ", listed.partition("Commands:")[2], re.MULTILINE)
    assert "check" in commands
    assert [name for name in commands if f"\n## {name}\n" not in page] == []
