"""A state that a full disk has cut short, on plain files."""

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpuyard.recovery.truncated_state import repair_state
from gpuyard_core.errors import EnvironmentMissing
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
        (said,) = repair_state(stack(folder))
        assert said == (
            f"the state was truncated, as by a full disk: {name} of 2026-11-18T11:06:40Z replaces "
            "it; the truncated file is kept as dev.json.cut"
        )
        assert state.read_text() == WHOLE
        assert state.with_name("dev.json.cut").read_text() == left
        assert repair_state(stack(folder)) == []


OTHERS = [{"before": text + '"resources": [{"urn": "a"}, {"u'} for text in ("{", '{"a": {"b": {')]


@every("there", [{}, {"before": CUT}, {"before": "", "run_1": CUT}, {"other": WHOLE}, *OTHERS])
def test_without_a_whole_copy_nothing_is_touched_and_the_way_out_is_said(tmp_path_factory, there):
    folder = tmp_path_factory.mktemp("backend")
    state = written(folder, state=CUT, **there)
    with pytest.raises(EnvironmentMissing) as refused:
        repair_state(stack(folder))
    assert str(refused.value) == (
        f"the state {state} is truncated, as by a full disk, and no complete copy is next to it. "
        "Restore it from a backup; without one, remove the file, and `gpuyard adopt` writes "
        "imports of the running resources"
    )
    assert state.read_text() == CUT
    assert not state.with_name("dev.json.cut").exists()


@every("there", [{"state": WHOLE}, {"state": WHOLE, "before": CUT}, {"before": WHOLE}, {}])
def test_a_state_that_is_whole_or_not_there_is_left_alone(tmp_path_factory, there):
    folder = tmp_path_factory.mktemp("backend")
    written(folder, **there)
    held = {each: each.read_text() for each in folder.rglob("*.json*")}
    assert repair_state(stack(folder)) == []
    assert {each: each.read_text() for each in folder.rglob("*.json*")} == held


def test_a_backend_that_is_no_folder_of_this_machine_is_left_alone():
    assert repair_state(stack(None)) == []


def test_what_the_engine_writes_is_whole(tmp_path):
    state = written(tmp_path, state=json.dumps({"version": 3, "checkpoint": {"latest": {}}}))
    assert repair_state(stack(tmp_path)) == []
    assert not state.with_name("dev.json.cut").exists()


# ── what can still be read ────────────────────────────────────────────────────────────────────────
def checkpoint(*resources, **more):
    """As the engine writes it: what it is first, then the resources, then what was under way."""
    latest = {"manifest": {"version": "v3"}, "resources": list(resources), **more}
    return json.dumps({"version": 3, "checkpoint": {"stack": "dev", "latest": latest}})


def made(name, **more):
    return {"urn": f"urn:{name}", "id": f"{name}-1", "inputs": {"text": '"]}, é'}, **more}


def creating(name, operation="creating"):
    return {"resource": {"urn": f"urn:{name}"}, "type": operation}


A, B, C, D = (made(name) for name in "abcd")


def mended(folder, **texts):
    state = written(folder, **texts)
    (said,) = repair_state(stack(folder))
    latest = json.loads(state.read_text())["checkpoint"]["latest"]
    assert latest["manifest"] == {"version": "v3"}
    words = said.removeprefix("the state was truncated, as by a full disk: ")
    return latest, words.removesuffix("; the truncated file is kept as dev.json.cut")


def cut(whole, before):
    """Up to the middle of that resource."""
    return whole[: whole.index(f'"{before}-1"')]


BAK = "dev.json.bak of 2026-11-18T11:06:40Z replaces it"
MORE = "and {} more of its resources were recovered"


@every(
    "left, before, names, said",
    [
        (cut(checkpoint(A, B, C), "c"), "", "ab", "2 of its resources were recovered"),
        (
            cut(checkpoint(A), "a"),
            cut(checkpoint(A, B), "b"),
            "a",
            "1 of its resources were recovered",
        ),
        (cut(checkpoint(A, B, C), "c"), checkpoint(A), "ab", f"{BAK}, {MORE.format(1)}"),
        (cut(checkpoint(A, B, C), "c"), checkpoint(D, A), "abd", f"{BAK}, {MORE.format(1)}"),
        (cut(checkpoint(A, B, C), "b"), checkpoint(A, B), "ab", BAK),
        (cut(checkpoint(A, B, C), "a"), checkpoint(B), "b", BAK),
        (checkpoint(A, B)[:-1], checkpoint(), "ab", f"{BAK}, {MORE.format(2)}"),
    ],
)
def test_what_can_be_read_of_a_state_is_kept(tmp_path_factory, left, before, names, said):
    folder = tmp_path_factory.mktemp("backend")
    latest, words = mended(folder, state=left, before=before)
    assert [each["id"] for each in latest["resources"]] == [f"{name}-1" for name in names]
    assert words == said


@every("at", range(0, len(checkpoint(A, B)), 7))
def test_wherever_it_was_cut_no_half_of_a_resource_is_taken(tmp_path_factory, at):
    folder = tmp_path_factory.mktemp("backend")
    state = written(folder, state=checkpoint(A, B)[:at], before=checkpoint(C))
    repair_state(stack(folder))
    found = json.loads(state.read_text())["checkpoint"]["latest"]["resources"]
    assert found in ([C], [A, C], [A, B, C])


@every(
    "older, then",
    [
        (made("a", id="a-0"), [A, made("a", id="a-0", delete=True)]),
        (made("a", id="a-0", delete=True), [A, made("a", id="a-0", delete=True)]),
        (A, [A]),
    ],
)
def test_what_was_replaced_is_still_to_be_deleted(tmp_path_factory, older, then):
    folder = tmp_path_factory.mktemp("backend")
    left = cut(checkpoint(A, B), "b")
    latest, _ = mended(folder, state=left, before=checkpoint(older))
    assert latest["resources"] == then


def test_what_was_under_way_and_is_made_is_under_way_no_more(tmp_path):
    under_way = [creating("a"), creating("c"), creating("a", "updating")]
    before = checkpoint(pending_operations=under_way)
    latest, _ = mended(tmp_path, state=cut(checkpoint(A, B), "b"), before=before)
    assert latest["pending_operations"] == under_way[1:]
