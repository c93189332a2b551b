"""A state that a full disk has cut short, on plain files."""

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpuyard.errors import EnvironmentLacks
from gpuyard.recovery.cut_states import mend
from kit.every import every

WHOLE, CUT = '{"version": 3, "checkpoint": {}}', '{"version": 3, "checkp'
STACKS, BACKUPS = ".pulumi/stacks/trial", ".pulumi/backups/trial/dev"


def stack(folder: Path | None) -> Any:
    return SimpleNamespace(files=folder, project="trial", name="dev")


def written(folder: Path, **texts: str) -> Path:
    """A backend with these files; which folder each is in, its name says."""
    for name, text in texts.items():
        file = folder / (BACKUPS if name.startswith("run") else STACKS) / _NAMES[name]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        os.utime(file, (1_795_000_000, 1_795_000_000))
    return folder / STACKS / "dev.json"


_NAMES = {
    "state": "dev.json",
    "before": "dev.json.bak",
    "run_1": "dev.1795000001.json",
    "run_2": "dev.1795000002.json",
    "other": "prod.json",
}


@every(
    "there, name",
    [
        ({"before": WHOLE}, "dev.json.bak"),
        ({"before": WHOLE, "run_1": WHOLE}, "dev.json.bak"),
        ({"before": CUT, "run_1": WHOLE, "run_2": WHOLE}, "dev.1795000002.json"),
        ({"before": "", "run_1": WHOLE, "run_2": CUT}, "dev.1795000001.json"),
        ({"run_1": WHOLE}, "dev.1795000001.json"),
    ],
)
def test_the_newest_whole_copy_takes_the_place_of_what_was_cut(tmp_path_factory, there, name):
    for left in ("", CUT, "[]"):
        folder = tmp_path_factory.mktemp("backend")
        state = written(folder, state=left, **there)
        (said,) = mend(stack(folder))
        assert said == (
            f"the state was cut short, as by a full disk: {name} of 2026-11-18T11:06:40Z takes its place,"
            " and what was left of it is dev.json.cut"
        )
        assert state.read_text() == WHOLE
        assert state.with_name("dev.json.cut").read_text() == left
        assert mend(stack(folder)) == []


@every("there", [{}, {"before": CUT}, {"before": "", "run_1": CUT}, {"other": WHOLE}])
def test_without_a_whole_copy_nothing_is_touched_and_the_way_out_is_said(tmp_path_factory, there):
    folder = tmp_path_factory.mktemp("backend")
    state = written(folder, state=CUT, **there)
    with pytest.raises(EnvironmentLacks) as refused:
        mend(stack(folder))
    assert str(refused.value) == (
        f"the state {state} is cut short, as by a full disk, and no copy beside it is whole. Take one of a"
        " back-up of yours; without any, remove the file, and of what runs `gpuyard adopt` writes an import"
    )
    assert state.read_text() == CUT
    assert not state.with_name("dev.json.cut").exists()


@every("there", [{"state": WHOLE}, {"state": WHOLE, "before": CUT}, {"before": WHOLE}, {}])
def test_a_state_that_is_whole_or_not_there_is_left_alone(tmp_path_factory, there):
    folder = tmp_path_factory.mktemp("backend")
    written(folder, **there)
    held = {each: each.read_text() for each in folder.rglob("*.json*")}
    assert mend(stack(folder)) == []
    assert {each: each.read_text() for each in folder.rglob("*.json*")} == held


def test_a_backend_that_is_no_folder_of_this_machine_is_left_alone():
    assert mend(stack(None)) == []


def test_what_the_engine_writes_is_whole(tmp_path):
    state = written(tmp_path, state=json.dumps({"version": 3, "checkpoint": {"latest": {}}}))
    assert mend(stack(tmp_path)) == []
    assert not state.with_name("dev.json.cut").exists()
