"""Whole stacks as platform engineers write them, and what they read; `make golden` writes it anew."""

import json

import pytest

import sizes

FOLDER = sizes.ROOT / "tests" / "golden_stacks"
STACKS = sorted(path.stem for path in FOLDER.glob("*.yaml"))


@pytest.fixture(autouse=True)
def here(monkeypatch):
    monkeypatch.chdir(FOLDER)


@pytest.mark.parametrize("name", STACKS)
def test_the_screen_of_a_stack_is_as_it_was_read(gpuyard, golden, name):
    text = ""
    for command in ("check", "plan", "cost"):
        ended = gpuyard(command, f"./{name}.yaml")
        text += f"$ gpuyard {command} ./{name}.yaml\n{ended.out}"
        text += "\n" if command != "cost" else ""
    golden(FOLDER / "screens" / f"{name}.txt", text)


@pytest.mark.parametrize("name", STACKS)
def test_a_stack_is_proved_and_nothing_is_wrong_with_it(gpuyard, name):
    ended = gpuyard("check", f"./{name}.yaml", "--format", "json")
    said = json.loads(ended.out)
    graver = {f["id"] for f in said["findings"] if f["severity"] != "info"}
    assert (ended.code, graver) == (0, set())


@pytest.mark.parametrize("name", STACKS)
def test_a_stack_says_for_whom_it_is_and_why(name):
    lines = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# ")
    assert max(map(len, lines)) <= 110


@pytest.mark.parametrize("name", STACKS)
def test_a_screen_fits_into_80_columns(name):
    for line in (FOLDER / "screens" / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        assert line == line.rstrip()
        assert len(line) <= 80


def test_no_screen_is_left_of_a_stack_that_is_gone():
    screens = {path.stem for path in (FOLDER / "screens").glob("*.txt")}
    assert screens == set(STACKS)


def test_there_are_stacks_of_every_kind_that_engineers_asked_for():
    assert set(STACKS) >= {
        "reserved-training",
        "gke-h200",
        "mig-inference",
        "notebooks",
        "mps-inference",
        "gb200-dra",
        "spot-research",
        "fleet",
        "infiniband",
        "dispatcher",
        "research",
        "slices",
    }
