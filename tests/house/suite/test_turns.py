"""The live tests of a run: some always, each of the others in one turn, all on request."""

from pathlib import Path

import pytest

from kit.suite import live, measured, turns
from kit.suite.live import Row

ROOT = Path(__file__).parents[3]
ROWS = {
    "tests/yard/test_all.py": Row(60.0, always=True),
    "tests/cluster/test_a.py": Row(50.0, always=False),
    "tests/engine/test_e.py::test_slow": Row(30.0, always=False),
    "tests/engine/test_e.py::test_quick": Row(20.0, always=False),
    "tests/engine/test_e.py::test_other[x y]": Row(20.0, always=False),
}


@pytest.fixture
def known(monkeypatch):
    """A table of five, distributed to two turns."""
    monkeypatch.setattr(turns, "TURNS", 2)
    monkeypatch.setattr(live, "table", lambda: ROWS)
    monkeypatch.setattr(turns, "turns", lambda: turns.dealt(ROWS, 2))


def test_each_is_in_one_turn_and_turns_take_about_as_long():
    found = turns.dealt(ROWS, 2)
    assert found == {
        "tests/cluster/test_a.py": 1,
        "tests/engine/test_e.py::test_slow": 2,
        "tests/engine/test_e.py::test_other[x y]": 2,
        "tests/engine/test_e.py::test_quick": 1,
    }


def test_all_turns_together_have_everything_and_no_turn_misses_what_is_always_run(known):
    ids = ["tests/yard/test_all.py::test_x", "tests/cluster/test_a.py::test_y", *list(ROWS)[2:]]
    kept = {turn: {each for each in ids if not turns.is_left_out(each, turn)} for turn in (1, 2)}
    assert kept[1] | kept[2] == set(ids)
    assert kept[1] & kept[2] == {ids[0]}


@pytest.mark.parametrize(
    "nodeid",
    [
        "tests/engine/test_e.py::test_new",
        "tests/cluster/test_new.py::test_a",
        "tests/plan/test_p.py::test_a",
    ],
)
def test_an_unmeasured_test_always_runs(known, nodeid):
    assert not any(turns.is_left_out(nodeid, turn) for turn in (1, 2))


def test_a_file_that_shares_a_cluster_is_chosen_as_a_whole():
    assert live.name_of("tests/cluster/a/test_x.py::test_a[1]") == "tests/cluster/a/test_x.py"
    assert live.name_of("tests/engine/test_x.py::test_a[1]") == "tests/engine/test_x.py::test_a[1]"


@pytest.mark.parametrize(
    ("said", "turn"), [(None, None), ("all", None), ("1", 1), ("2", 2), ("commit", 2)]
)
def test_a_run_has_the_turn_that_is_asked_for_and_by_hand_all(known, monkeypatch, said, turn):
    monkeypatch.setattr(turns, "commits", lambda: 4711)
    monkeypatch.delenv(turns.TURN, raising=False)
    if said:
        monkeypatch.setenv(turns.TURN, said)
    assert turns.turn_asked() == turn


@pytest.mark.parametrize("said", ["0", "3", "²", "first", ""])
def test_a_turn_that_is_not_there_is_refused(known, monkeypatch, said):
    monkeypatch.setenv(turns.TURN, said)
    with pytest.raises(pytest.UsageError, match="allowed: all, commit, or a number from 1 to 2"):
        turns.turn_asked()


def test_with_each_commit_the_turn_is_another(monkeypatch):
    monkeypatch.setenv(turns.TURN, turns.OF_COMMIT)
    found = []
    for count in range(turns.TURNS):
        monkeypatch.setattr(turns, "commits", lambda count=count: count)
        found.append(turns.turn_asked())
    assert sorted(found) == list(range(1, turns.TURNS + 1))


def test_commits_are_counted_where_there_is_a_history(monkeypatch, tmp_path):
    assert turns.commits() > 0
    monkeypatch.setattr(live, "TABLE", tmp_path / "live.txt")
    assert turns.commits() == 0


def test_a_run_says_what_it_has_and_how_everything_is_run():
    assert turns.words(None, ROWS) == "live tests: all of them"
    assert turns.words(turns.TURNS, ROWS) == (
        "live tests: 1 groups that every run has and the 0 of turn 8 of 8, of 5:"
        " about 60 of 180 s of CPU; GPUYARD_TURN=all runs all"
    )


def test_the_runner_leaves_out_what_another_turn_has(pytester_like, known, monkeypatch):
    kept, left = pytester_like(
        ["tests/cluster/test_a.py::test_x", "tests/plan/test_p.py::test_x"], "2"
    )
    assert (kept, left) == (["tests/plan/test_p.py::test_x"], ["tests/cluster/test_a.py::test_x"])
    kept, left = pytester_like(["tests/cluster/test_a.py::test_x"], "all")
    assert (kept, left) == (["tests/cluster/test_a.py::test_x"], [])


@pytest.fixture
def pytester_like(monkeypatch):
    """Collect these with a turn; returns the kept and the deselected tests."""

    class Item:
        def __init__(self, nodeid: str) -> None:
            self.nodeid = nodeid

    class Config:
        def __init__(self) -> None:
            self.told: list[str] = []
            self.hook = self

        def pytest_deselected(self, items: list[Item]) -> None:
            self.told += [each.nodeid for each in items]

    def collect(nodeids: list[str], said: str) -> tuple[list[str], list[str]]:
        monkeypatch.setenv(turns.TURN, said)
        config, items = Config(), [Item(each) for each in nodeids]
        turns.pytest_collection_modifyitems(config, items)
        return [each.nodeid for each in items], config.told

    return collect


@pytest.mark.parametrize("line", ["1.0 sometimes tests/x.py", "1.0 always", "much turn tests/x.py"])
def test_a_line_that_says_something_else_is_refused(line):
    with pytest.raises(ValueError, match=r"allowed: always, turn|unpack|could not convert"):
        live.read(f"# words\n{line}\n")


def test_what_is_in_the_table_is_there_and_turns_are_even():
    """A renamed test needs its line renamed: otherwise it runs always, unnoticed."""
    rows = live.read(live.TABLE.read_text(encoding="utf-8"))
    for name in rows:
        file, _, function = name.partition("::")
        assert f"def {function.partition('[')[0]}" in (ROOT / file).read_text(encoding="utf-8"), (
            name
        )
    spent = dict.fromkeys(range(1, turns.TURNS + 1), 0.0)
    for name, turn in turns.dealt(rows).items():
        spent[turn] += rows[name].seconds
    assert max(spent.values()) < 1.25 * min(spent.values())


def test_the_table_is_written_from_what_was_measured_and_keeps_what_people_chose(
    tmp_path, capsys, monkeypatch
):
    spent = {"own": 1.0, "children": 9.0, "wall": 99.0}
    parts = [
        {
            "rows": [
                ["tests/yard/test_all.py::test_a", "engine", spent],
                ["tests/yard/test_all.py::test_b", "engine", spent],
                ["tests/engine/test_e.py::test_new", "engine", spent],
                ["tests/plan/test_p.py::test_a", "cases", spent],
            ]
        }
    ]
    (tmp_path / "1.json").write_text(measured.json.dumps(parts), encoding="utf-8")
    monkeypatch.setattr(live, "TABLE", tmp_path / "live.txt")
    monkeypatch.setattr(live, "table", lambda: ROWS)
    assert measured.main([str(tmp_path)]) == 0
    assert live.TABLE.read_text(encoding="utf-8").splitlines()[2:] == [
        "   20.0 always tests/yard/test_all.py",
        "   10.0 turn   tests/engine/test_e.py::test_new",
    ]
    assert "new, in turns: tests/engine/test_e.py::test_new" in capsys.readouterr().out


def test_a_folder_without_figures_writes_nothing(tmp_path, capsys):
    assert measured.main([]) == 2
    assert measured.main([str(tmp_path)]) == 1
    assert "no live test in" in capsys.readouterr().err
