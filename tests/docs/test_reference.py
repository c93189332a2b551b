"""The reference of stack files matches the models."""

import os
import re
import subprocess
import sys
from pathlib import Path

import yaml
from pydantic import BaseModel

import reference
import sizes
from gpuyard.plan import plan
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.pools import Pool
from gpuyard.spec.read import read_platform
from gpuyard.spec.teams import Team
from gpuyard_core.local_files import file_reader
from kit.every import every


def test_the_reference_is_what_the_models_say(golden):
    golden(reference.PAGE, reference.stack_file())


def test_the_page_of_what_words_do_today_is_what_the_plan_says_of_them(golden):
    golden(reference.STATUS_PAGE, reference.status())


def test_the_list_of_readiness_checks_is_the_librarys(golden):
    golden(reference.READINESS_PAGE, reference.readiness())


def test_the_page_of_troubles_is_the_table(golden):
    golden(reference.TROUBLES_PAGE, reference.troubles())


def test_the_recorded_series_are_those_of_the_rules(golden):
    golden(reference.RECORDED_PAGE, reference.recorded_series())


def test_no_word_is_missing_on_that_page_and_each_has_one_state():
    rows = re.findall(r"^\| `(\w+)` \| (\w[\w ]*) \| \S", reference.status(), re.MULTILINE)
    names = [name for model in (PlatformSpec, Pool, Team) for name in model.model_fields]
    assert [name for name, _ in rows] == names
    assert {state for _, state in rows} == {"in effect", "on aws and gcp", "planned"}


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
    assert row.count("Minimum isolation") == 1
    assert "`node` at least a dedicated node" in row


def test_a_text_stays_inside_its_cell():
    assert reference.words("a |\n   b") == "a \\| b"


def found_in(value, model):
    """True if the value, or a value below it, is a model of this kind."""
    if isinstance(value, model):
        return True
    if isinstance(value, BaseModel):
        return any(found_in(getattr(value, name), model) for name in type(value).model_fields)
    inner = value.values() if isinstance(value, dict) else value if type(value) is tuple else ()
    return any(found_in(each, model) for each in inner)


@every("model", reference.models(PlatformSpec), ids=lambda each: each.__name__)
def test_an_example_is_of_its_section_and_no_proof_refuses_it(model):
    texts = reference.examples()
    platform = yaml.safe_load(texts["BASE"]) | yaml.safe_load(texts[model.__name__])
    reading = read_platform(platform, files=file_reader(sizes.ROOT))
    assert reading.spec is not None, reading.findings
    assert found_in(reading.spec, model)
    found, findings = plan(reading.spec)
    assert found is not None, [str(f) for f in findings]


def test_every_section_has_an_example_and_none_is_left_over():
    names = {model.__name__ for model in reference.models(PlatformSpec)}
    assert set(reference.examples()) == names | {"BASE"}


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
