"""`make quick` chooses the tests of the changes, prints the reasons, and never reports tests as passed that did not run."""

import subprocess
from pathlib import Path

import pytest

import quick
from kit.deadline import said
from kit.waiting import SHORTER

PLAN = "components/gpuyard/plan/money/bill.py"
GRAPH = {
    PLAN: {"components/gpuyard/plan/platform.py", "tests/plan/money/test_bill.py"},
    "components/gpuyard/plan/platform.py": {"tests/cli/test_plan.py", "tests/cluster/test_use.py"},
    "components/gpuyard/names.py": set(),
    "tests/plan/money/test_bill.py": set(),
    "tests/plan/money/test_capacity_prices.py": set(),
    "tests/plan/test_proofs.py": set(),
    "tests/cli/test_plan.py": set(),
    "tests/docs/test_links.py": set(),
    "tests/cluster/test_use.py": set(),
}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            [PLAN],
            {
                "tests/plan/money/test_bill.py": f"{PLAN}: imports it",
                "tests/plan/money/test_capacity_prices.py": f"{PLAN}: its folder of tests",
                "tests/cli/test_plan.py": f"{PLAN}: 2 imports away",
            },
        ),
        (
            ["tests/docs/test_links.py"],
            {"tests/docs/test_links.py": "tests/docs/test_links.py: itself"},
        ),
        (["docs/index.md"], {"tests/docs/test_links.py": "docs/index.md: its folder of tests"}),
        (["components/gpuyard/names.py"], {}),
        (["tests/plan/money/test_gone.py"], {}),
    ],
)
def test_the_nearest_tests_come_first_each_with_its_reason(files, expected):
    assert list(quick.choose(files, GRAPH).tests.items()) == list(expected.items())


def test_tests_on_real_parts_are_named_and_left_out():
    found = quick.choose([PLAN], GRAPH)
    assert found.live == ["tests/cluster/test_use.py"]
    assert "left to `make test`, because they need real parts: 1 (tests/cluster/test_use.py)" in (
        quick.explained([PLAN], found)
    )


def test_data_beside_tests_is_read_by_those_beside_it_before_those_below():
    found = quick.choose(["tests/plan/proofs/a.b.yaml"], GRAPH)
    assert list(found.tests) == [
        "tests/plan/test_proofs.py",
        "tests/plan/money/test_bill.py",
        "tests/plan/money/test_capacity_prices.py",
    ]


def test_what_is_behind_every_test_runs_the_stated_default():
    found = quick.choose(["docs/index.md", "pyproject.toml"], GRAPH)
    assert list(found.tests) == [
        "tests/cli/test_plan.py",
        "tests/plan/money/test_bill.py",
        "tests/plan/money/test_capacity_prices.py",
        "tests/plan/test_proofs.py",
    ]
    assert "pyproject.toml affects every test, so the default runs: tests/house," in (
        quick.explained(["pyproject.toml"], found)
    )


def test_so_many_files_that_importing_them_would_take_the_minute_are_cut_and_counted():
    graph = {"scripts/a.py": {f"tests/x/test_{n:03}.py" for n in range(quick.MOST + 5)}}
    graph |= {test: set() for test in graph["scripts/a.py"]}
    found = quick.choose(["scripts/a.py"], graph)
    assert len(found.tests) == quick.MOST
    assert "because they are furthest: 5 test files" in quick.explained(["scripts/a.py"], found)


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("components/gpuyard/plan/records/__init__.py", "gpuyard.plan.records"),
        ("tests/kit/every.py", "kit.every"),
        ("scripts/quick.py", "quick"),
        ("__main__.py", "__main__"),
    ],
)
def test_a_file_is_imported_by_this_name(path, module):
    assert quick.module_of(path) == module


def test_every_form_of_an_import_is_seen():
    text = "import a.b\ndef f():\n    from c import d as e, g\n"
    assert quick.imported(text) == {"a.b", "c", "c.d", "c.g"}


@pytest.fixture
def checkout(tmp_path):
    def git(*words):
        who = ("-c", "user.name=x", "-c", "user.email=x@example.com")
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "--initial-branch", "main")
    (tmp_path / "scripts").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "scripts/a.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "tests/test_a.py").write_text("from a import x\n", encoding="utf-8")
    git("add", "-A")
    git("commit", "-m", "first")
    return tmp_path, git


def test_a_change_is_what_differs_from_main_and_what_git_does_not_know_yet(checkout):
    root, git = checkout
    assert quick.changed(root) == []
    (root / "new.md").write_text("x", encoding="utf-8")
    (root / "scripts/a.py").write_text("x = 2\n", encoding="utf-8")
    assert quick.changed(root) == ["new.md", "scripts/a.py"]
    git("checkout", "-b", "work")
    git("add", "-A")
    git("commit", "-m", "second")
    assert quick.changed(root) == ["new.md", "scripts/a.py"], "committed on a branch"
    (root / "tests/test_a.py").unlink()
    assert "tests/test_a.py" in quick.changed(root), "a file that is gone"


def test_imports_are_followed_in_the_tree_as_it_is(checkout):
    root, _ = checkout
    assert quick.importers(root) == {
        "scripts/a.py": {"tests/test_a.py"},
        "tests/test_a.py": set(),
    }


@pytest.mark.parametrize(
    ("files", "graph", "says"),
    [
        ([], {}, "quick: nothing differs from abcdef123, so no test ran\n"),
        (
            ["scripts/a.py"],
            {"scripts/a.py": set()},
            "quick: no test without real parts depends on the changes, so no test ran\n",
        ),
    ],
)
def test_where_nothing_runs_nothing_has_passed(monkeypatch, capsys, files, graph, says):
    monkeypatch.setattr(quick, "changed", lambda: files)
    monkeypatch.setattr(quick, "importers", lambda: graph)
    monkeypatch.setattr(quick, "base", lambda: "abcdef123456")
    assert quick.main() == quick.NOTHING
    assert capsys.readouterr().out.endswith(says)


def deadlined(folder: Path, seconds: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_x.py").write_text(
        "def test_one():\n    pass\n\n\ndef test_two():\n    pass\n", encoding="utf-8"
    )
    return subprocess.run(
        [quick.sys.executable, "-m", "pytest", "-q", "-p", "kit.deadline", "-c", "/dev/null", "test_x.py"],
        cwd=folder,
        env={**quick.os.environ, "PYTHONPATH": str(quick.ROOT / "tests"), "GPUYARD_DEADLINE": seconds},
        capture_output=True,
        text=True,
        check=False,
        timeout=SHORTER,
    )  # fmt: skip


def test_after_the_deadline_no_test_starts_and_those_left_out_are_listed(tmp_path):
    ended = deadlined(tmp_path, "0")
    assert ended.returncode == quick.NOTHING, ended.stdout
    assert (
        "0 of 2 tests ran; 0 s were too short for the others, in 1 files: test_x.py" in ended.stdout
    )
    assert " passed" not in ended.stdout


def test_before_the_deadline_everything_runs_and_nothing_more_is_printed(tmp_path):
    ended = deadlined(tmp_path, "60")
    assert ended.returncode == 0, ended.stdout
    assert "2 passed" in ended.stdout
    assert "too short" not in ended.stdout


def test_what_was_left_out_is_named_by_file():
    assert said(3, ["tests/b.py::t", "tests/a.py::t[1]", "tests/a.py::u"], 55) == (
        "3 of 6 tests ran; 55 s were too short for the others, in 2 files: tests/a.py, tests/b.py"
    )
