"""`gpuyard whatif`: a trace replayed on one stack, or on two."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from gpuyard_advisor.cli.views.times import format_seconds, progress_bar
from gpuyard_advisor.replay import NoConvergence
from kit.every import every
from kit.html_page import Page, check_accessible, check_self_contained
from kit.stacks import platform, pool, team

ROOT = Path(__file__).parents[3]
JOBS = ROOT / "examples" / "12-whatif" / "jobs.csv"
SIX = ROOT / "examples" / "12-whatif" / "six-nodes.yaml"
LOCAL = ROOT / "stacks" / "Pulumi.local.yaml"
HEAD = "name,submitted_seconds,run_seconds,gpus,team"
PRIORITIES = {"high": 1000, "normal": 100}


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.fixture
def stack(write):
    teams = [team("ml", guarantee={"train": 32}, priority="normal")]
    return write(platform([pool()], teams, priorities=PRIORITIES))


def trace(folder, *rows, head=HEAD, name="jobs.csv"):
    path = folder / name
    path.write_text("\n".join([head, *rows, ""]), encoding="utf-8")
    return path


def words(text):
    return " ".join(text.split())


def test_waits_are_shown_by_team_and_priority(gpuyard, stack, tmp_path):
    rows = [f"j{n},{n},3600,8,ml,{1000 if n == 7 else 0}" for n in range(8)]
    path = trace(tmp_path, *rows, head=f"{HEAD},priority")
    ended = gpuyard("whatif", stack, "--trace", path)
    assert (ended.code, ended.err) == (0, "")
    text = words(ended.out)
    assert "jobs that ran 8" in text
    assert re.search(r"high 1 0 .* normal 7 0 ", text)


def document(gpuyard, *args):
    ended = gpuyard("whatif", *args, "--format", "json")
    assert (ended.code, ended.err) == (0, "")
    return json.loads(ended.out)


def test_the_document_has_every_figure(gpuyard, golden):
    found = document(gpuyard, SIX, "--against", LOCAL, "--trace", JOBS)
    for each in found["stacks"]:
        for one in each["pools"]:
            hours = one.pop("hours")
            assert [h["hour"] for h in hours] == sorted({h["hour"] for h in hours})
            assert sum(h["gpu_hours"] for h in hours) == pytest.approx(one["gpu_hours"], abs=0.01)
    path = ROOT / "tests" / "cli" / "golden" / "whatif.json"
    golden(path, json.dumps(found, indent=2).replace(f"{ROOT}/", "") + "\n")


def test_the_same_seed_gives_the_same_document(gpuyard):
    first, second = (document(gpuyard, LOCAL, "--trace", JOBS, "--seed", 3) for _ in range(2))
    assert first == second
    assert first["differences"] is None


def test_the_load_doubles_with_the_time_scale(gpuyard, stack, tmp_path):
    path = trace(tmp_path, "a,0,60,1,ml", "b,600,60,1,ml")
    figures = [
        document(gpuyard, stack, "--trace", path, "--time-scale", scale)["stacks"][0]["figures"]
        for scale in (1, 2)
    ]
    assert [each["seconds"] for each in figures] == [660, 360]


def test_the_trace_is_described(gpuyard, stack, tmp_path):
    path = trace(tmp_path, "b,60,60,1,ml,x", "a,0,60,1,ml,x", "c,-1,60,1,ml,x", head=f"{HEAD},note")
    found = document(gpuyard, stack, "--trace", path, "--skip-invalid")["trace"]
    assert found == {
        "file": str(path),
        "format": "CSV",
        "jobs": 2,
        "seconds": 60.0,
        "notes": [
            "columns that are not used: note",
            "rows out of order of submission, sorted: 1, the first in line 3",
        ],
        "skipped": 1,
        "problems": [
            {
                "line": 4,
                "column": "submitted_seconds",
                "problem": "a negative time",
                "given": "-1",
                "allowed": "seconds from 0, or a date and time as in ISO 8601",
                "fix": "correct the value, or leave out such rows with --skip-invalid",
            }
        ],
    }


def test_an_invalid_trace_is_refused_with_every_problem(gpuyard, stack, tmp_path):
    path = trace(tmp_path, "a,0,x,1,ml", "b,0,1,-1,ml")
    ended = gpuyard("whatif", stack, "--trace", path)
    assert (ended.code, ended.out) == (2, "")
    assert words(ended.err) == words(
        f"""error {path}, line 2, column run_seconds: not a number
        given x
        allowed seconds from 0
        fix correct the value, or leave out such rows with --skip-invalid
        error {path}, line 3, column gpus: negative
        given -1
        allowed GPUs from 0, or a fraction of one
        fix correct the value, or leave out such rows with --skip-invalid
        rejected {path}: 2 problems"""
    )


def test_teams_are_read_from_a_file(gpuyard, stack, tmp_path):
    path = trace(tmp_path, "a,0,60,1,cv", "b,0,60,1,nlp")
    teams = trace(tmp_path, "nlp , ml", "", head="cv,ml", name="teams.csv")
    found = document(gpuyard, stack, "--trace", path, "--team-of", teams)
    assert found["stacks"][0]["waits_by_team"]["ml"]["jobs"] == 2
    wrong = trace(tmp_path, "nlp", head="cv,ml", name="wrong.csv")
    ended = gpuyard("whatif", stack, "--trace", path, "--team-of", wrong)
    message = f"gpuyard: {wrong}: line 2: write the team of the trace and the team of the stack\n"
    assert (ended.code, ended.err) == (2, message)


@every(
    "args, message",
    [
        (("--trace", "/no/trace.csv"), "/no/trace.csv: can't be read: no such file or directory"),
        (("--trace", "examples"), "examples: not a file. Give the path of a trace."),
        (
            ("--trace", JOBS, "--columns", "gpus"),
            "--columns gpus: write FIELD=COLUMN or FIELD=COLUMN:UNIT.",
        ),
    ],
)
def test_wrong_arguments_are_refused(gpuyard, args, message):
    ended = gpuyard("whatif", LOCAL, *args)
    assert ended.code == 2
    assert ended.err.startswith(f"gpuyard: {message}")


def test_a_rejected_stack_has_no_outcome(gpuyard, write):
    wrong = write(platform([pool(machine="p9.large")]))
    ended = gpuyard("whatif", LOCAL, "--against", wrong, "--trace", JOBS, "--format", "json")
    found = json.loads(ended.out)
    assert ended.code == 3
    assert (found["trace"], found["stacks"], found["differences"]) == (None, [], None)
    assert gpuyard("whatif", wrong, "--trace", JOBS).err.rstrip().endswith("1 error")


def test_queues_that_do_not_converge_are_named(gpuyard, monkeypatch):
    def evicts_endlessly(*_, **__):
        raise NoConvergence("job a of team x was evicted 1000 times")

    monkeypatch.setattr("gpuyard_advisor.replay.replay", evicts_endlessly)
    ended = gpuyard("whatif", LOCAL, "--trace", JOBS)
    expected = "gpuyard: the replay on local does not end: job a of team x was evicted 1000 times\n"
    assert (ended.code, ended.err) == (2, expected)


def test_two_stacks_of_one_name_are_named_by_their_paths(gpuyard, write, tmp_path):
    content = platform([pool()], [team("ml", guarantee={"train": 32})])
    (tmp_path / "old").mkdir()
    first, second = write(content, "old/stack.yaml"), write(content)
    path = trace(tmp_path, "a,0,60,1,ml")
    ended = gpuyard("whatif", second, "--against", first, "--trace", path)
    assert f"Outcome on {first} and {second}; difference: {second} less {first}" in words(ended.out)


@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_every_format_is_written_to_a_file(gpuyard, tmp_path, form):
    path = tmp_path / "result"
    ended = gpuyard("whatif", LOCAL, "--trace", JOBS, "--format", form, "--output", path)
    assert (ended.code, ended.err) == (0, "")
    assert words(ended.out) == f"ok {path}: examples/12-whatif/jobs.csv on local"
    written = path.read_text(encoding="utf-8")
    direct = gpuyard("whatif", LOCAL, "--trace", JOBS, "--format", form).out
    assert words(written) == words(direct)


def test_a_price_that_is_unknown_gives_no_cost(gpuyard, write, tmp_path):
    teams = [team("ml", guarantee={"train": 32})]
    content = platform([pool(machine="a3-edgegpu-8g")], teams, cloud="simulated")
    found = document(gpuyard, write(content), "--trace", trace(tmp_path, "a,0,60,1,ml"))
    (stack,) = found["stacks"]
    assert stack["figures"]["cost_usd"] is None
    assert stack["cost"]["unknown"] == ["train"]
    text = words(gpuyard("whatif", write(content), "--trace", trace(tmp_path, "a,0,60,1,ml")).out)
    assert "! the price of train is unknown: no cost is shown" in text
    assert "cost, $" not in text


def page_of(gpuyard, *args):
    ended = gpuyard("whatif", *args, "--format", "html")
    assert (ended.code, ended.err) == (0, "")
    return ended.out


def test_the_page_has_the_figures_of_both_stacks(gpuyard, golden):
    page = Page(page_of(gpuyard, SIX, "--against", LOCAL, "--trace", JOBS, "--limit", 8))
    lines = "\n".join(text.strip() for text in page.text if text.strip())
    golden(ROOT / "tests" / "cli" / "golden" / "whatif-page.words", lines + "\n")


def test_the_page_is_accessible_and_loads_nothing(gpuyard, stack, tmp_path):
    check_self_contained(text := page_of(gpuyard, SIX, "--against", LOCAL, "--trace", JOBS))
    check_accessible(Page(text))
    path = trace(tmp_path, "a,0,60,8,ml,1000", "b,0,60,8,ml,0", head=f"{HEAD},priority")
    alone = Page(page_of(gpuyard, stack, "--trace", path))
    check_accessible(alone)
    assert [a["id"] for a in alone.each("h2")] == ["figures-h", "use-h", "waits-h"]
    assert "Waits by priority" in alone.words


def test_a_long_trace_has_a_short_page(gpuyard, stack, tmp_path):
    hours = [f"j{n},{n * 3600},3600,8,ml" for n in range(2000)]
    text = page_of(gpuyard, stack, "--trace", trace(tmp_path, *hours))
    assert len(text) < 60_000
    assert "2,000 jobs" in Page(text).words


@every(
    "seconds, text",
    [
        (0, "0 s"),
        (119.4, "119 s"),
        (120, "2.0 min"),
        (7199, "120.0 min"),
        (7200, "2.0 h"),
        (172_800, "2.0 d"),
        (17_280_000, "200.0 d"),
    ],
)
def test_durations_are_shown_in_their_largest_unit(seconds, text):
    assert format_seconds(seconds) == text


def test_progress_is_shown_on_a_terminal_only(monkeypatch):
    with progress_bar("reading") as bar:
        assert bar is None
    reader, writer = os.openpty()
    with os.fdopen(writer, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setenv("TERM", "xterm")
        with progress_bar("reading") as bar:
            assert bar is not None
            bar(1, 4)
    assert b"reading" in os.read(reader, 65536)
    os.close(reader)
