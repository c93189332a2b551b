"""The verdicts on findings in public repositories are complete, and the page agrees with them."""

import re
import subprocess
from dataclasses import replace

import lint_accuracy
import lint_accuracy_data
import lint_accuracy_page
import pytest

from gpuyard_lint.rules import RULES
from kit.every import every

ROWS = lint_accuracy_data.judged()
REPOSITORIES = lint_accuracy_data.repositories()
NEW = {each.name for each in REPOSITORIES if each.batch}
TODAY = list(lint_accuracy_page.said_today(ROWS, REPOSITORIES))
OWN = [row for row in TODAY if row.counts]
FEWEST = 60
FEWEST_NEW = 10
LARGEST = 1280 * 1024
IDS = {rule.id for rule in RULES}
HIT = {
    "rule": "GPU-POD-03",
    "severity": "warning",
    "state": "open",
    "file": "a.yaml",
    "line": 3,
    "problem": "it moves",
}
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: pytorch/pytorch
        resources: {limits: {nvidia.com/gpu: 1}}
"""


def test_every_finding_has_a_verdict_a_reason_and_a_place():
    for row in ROWS:
        assert row.verdict in lint_accuracy_data.WORDS, row
        assert row.when in lint_accuracy_data.WHEN, row
        assert len(row.why) > len("because"), row
        assert row.places, row
        assert all(re.fullmatch(r"[^:]+:[1-9]\d*", place) for place in row.places), row
        assert row.rule in IDS, row
        assert row.severity in lint_accuracy_data.SEVERITIES, row
        assert row.repository in {each.name for each in REPOSITORIES}, row


def test_no_finding_is_there_twice():
    for said in (TODAY, [row for row in ROWS if row.when != lint_accuracy_data.TODAY]):
        seen = [(r.repository, r.rule, r.problem, place) for r in said for place in r.places]
        assert len(set(seen)) == len(seen)


def test_repositories_are_many_each_once_at_a_commit_and_measured():
    assert len({each.name for each in REPOSITORIES}) == len(REPOSITORIES)
    assert len(REPOSITORIES) - len(NEW) >= FEWEST
    for batch in range(1, max(each.batch for each in REPOSITORIES) + 1):
        assert sum(each.batch == batch for each in REPOSITORIES) >= FEWEST_NEW
    for each in REPOSITORIES:
        assert re.fullmatch(r"[0-9a-f]{40}", each.commit), each
        assert each.files > 0, each
        assert each.known <= each.resources, each
        assert each.seconds > 0 < each.mebibytes, each


def test_the_data_stay_small():
    sizes = [
        file.stat().st_size
        for file in (lint_accuracy_data.VERDICTS, lint_accuracy_data.REPOSITORIES)
    ]
    assert sum(sizes) < LARGEST


STRICT = [row for row in OWN if row.strict]


@every(
    ("rows", "least_true", "most_false"),
    [
        # judged by the written words, and mended by them; of the last look alone three quarters were true
        ([row for row in STRICT if row.severity == "error"], 0.93, 0.02),
        (STRICT, 0.9, 0.02),
        (OWN, 0.9, 0.02),
    ],
    ids=["refusals, strictly", "all findings, strictly", "all findings, as they were judged"],
)
def test_findings_are_as_true_as_was_reached(rows, least_true, most_false):
    found = lint_accuracy_data.count(rows)
    assert found["true"] >= least_true * found.total()
    assert found["false"] <= most_false * found.total()


LARGE_FILES = {"kserve/kserve", "ruffy80/ZeusAI"}
"""Of which the limit, which goes by the number of files, says little: 139 MB in 839, megabytes of logs."""


def test_linting_costs_as_little_as_is_promised():
    assert {each.name for each in REPOSITORIES if each.slow} <= LARGE_FILES
    assert max(each.mebibytes for each in REPOSITORIES) <= lint_accuracy_data.MOST_MEBIBYTES


@every(("seconds", "again", "slow"), [(3.2, True, False), (3.3, True, True), (3.3, False, False)])
def test_a_repository_is_slow_by_its_number_of_files(seconds, again, slow):
    each = lint_accuracy_data.Repository("a/b", "0" * 40, files=1000, seconds=seconds, again=again)
    assert each.slow is slow


def test_a_tenth_is_drawn_for_a_second_reading_then_half_and_the_same_every_time():
    for strict, least, most in ((False, 0.05, 0.2), (True, 0.35, 0.65)):
        of = [row for row in ROWS if row.strict is strict and (row.counts or not strict)]
        drawn = [row for row in of if row.drawn]
        assert least * len(of) < len(drawn) < most * len(of)
        assert {row.second for row in drawn} <= {
            lint_accuracy_data.DRAWN,
            *lint_accuracy_data.WORDS,
        }
    assert {row.second for row in ROWS if not row.drawn} == {""}


def row(**given):
    base = lint_accuracy_data.Judged(
        repository="a/b",
        rule="GPU-POD-03",
        severity="warning",
        sample=False,
        verdict="true",
        why="it does",
        problem="it moves",
        places=("a.yaml:1", "b.yaml:2"),
    )
    return replace(base, **given)


def test_a_run_keeps_the_verdict_of_a_finding_that_has_moved_and_judges_none_itself():
    hits = [HIT, {**HIT, "file": "new.yaml"}, {**HIT, "state": "example", "file": "b.yaml"}]
    assert list(lint_accuracy.grouped("a/b", hits, [row()])) == [
        row(places=("a.yaml:3",)),
        row(verdict="", why="", places=("new.yaml:3",)),
        row(sample=True, places=("b.yaml:3",)),
    ]


def test_what_is_kept_is_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr(lint_accuracy_data, "VERDICTS", tmp_path / "verdicts.csv")
    monkeypatch.setattr(lint_accuracy_data, "REPOSITORIES", tmp_path / "repositories.yaml")
    rows = [row(), row(rule="GPU-POD-04", problem='says "a, b"', sample=True)]
    costs = [lint_accuracy_data.Repository("a/b", "0" * 40, 2, 1, 1, 0.8, 0.1, 70)]
    lint_accuracy_data.keep(rows, costs)
    marked = [replace(r, second=lint_accuracy_data.DRAWN if r.drawn else "") for r in rows]
    assert lint_accuracy_data.judged() == marked
    assert lint_accuracy_data.repositories() == costs


@every(
    ("second", "says"),
    [
        (["true", "drawn"], "1 findings, which"),
        (["true", "true"], "100 % agree, 0 differ on true or debatable, 0 on false."),
        (["true", "false"], "50 % agree, 0 differ on true or debatable, 1 on false."),
        (["debatable", "true"], "50 % agree, 1 differ on true or debatable, 0 on false."),
    ],
)
def test_the_page_states_how_far_a_second_reviewer_agrees(second, says):
    some = [row(problem=str(n), strict=True) for n in range(60)]
    drawn = [each for each in some if each.drawn][:2]
    others = [each for each in some if not each.drawn]
    rows = [replace(each, second=word) for each, word in zip(drawn, second, strict=True)]
    earlier = [row(problem=str(n), second="false") for n in range(60)]
    assert says in lint_accuracy_page.second_reading([*rows, *others, *earlier])


def test_a_verdict_survives_a_new_message():
    before = [row(strict=True, places=("a.yaml:3",), problem="an earlier message")]
    (found,) = lint_accuracy.grouped("a/b", [HIT], before)
    assert (found.problem, found.verdict, found.strict) == ("it moves", "true", True)


def test_what_is_said_today_is_kept_beside_what_was_said_at_the_first_look():
    then = [
        row(when="then", places=("a.yaml:1", "gone.yaml:2")),
        row(when="today", problem="of the last run alone"),
    ]
    now = [
        row(places=("a.yaml:1", "new.yaml:3")),
        row(choice=True, places=("gone.yaml:2",)),
    ]
    assert list(lint_accuracy.beside(then, now)) == [
        row(when="both", places=("a.yaml:1",)),
        row(when="then", places=("gone.yaml:2",)),
        row(when="today", places=("new.yaml:3",)),
        row(when="today", choice=True, places=("gone.yaml:2",)),
    ]


def test_a_strict_verdict_of_later_is_today_s_and_the_first_one_of_then():
    first = row(when="then", places=("a.yaml:1",))
    later = row(when="today", strict=True, verdict="false", places=("a.yaml:1",))
    for before in ([first, later], [later, first]):
        found = list(lint_accuracy.grouped("a/b", [{**HIT, "line": 1}], before))
        assert found == [replace(later, when="both")]
        assert list(lint_accuracy.beside(before, found)) == [first, later]


def test_a_strict_verdict_of_the_first_look_is_both():
    strict = row(when="both", strict=True, places=("a.yaml:1",))
    found = list(lint_accuracy.grouped("a/b", [{**HIT, "line": 1}], [strict]))
    assert list(lint_accuracy.beside([strict], found)) == [strict]


def test_true_findings_of_first_looks_are_said_today_or_apart_or_lost():
    rows = [
        row(places=("kept.yaml:1",)),
        row(when="then", places=("reworded.yaml:2", "apart.yaml:3", "lost.yaml:4")),
        row(when="today", problem="it moves on", places=("reworded.yaml:2",)),
        row(when="today", choice=True, places=("apart.yaml:3",)),
        row(when="then", verdict="false", places=("false.yaml:5",)),
        row(when="then", repository="no/copy", places=("unknown.yaml:6",)),
    ]
    costs = [lint_accuracy_data.Repository("a/b", "0" * 40, again=True)]
    assert lint_accuracy_page.still_said(rows, costs) == (4, 2, 1)


def test_what_a_second_reader_says_is_taken_by_the_beginning_of_an_id(tmp_path, monkeypatch):
    monkeypatch.setattr(lint_accuracy_data, "VERDICTS", tmp_path / "verdicts.csv")
    monkeypatch.setattr(lint_accuracy_data, "REPOSITORIES", tmp_path / "repositories.yaml")
    drawn = [each for n in range(60) if (each := row(problem=str(n))).drawn][:2]
    lint_accuracy_data.keep(drawn, [lint_accuracy_data.Repository("a/b", "0" * 40)])
    said = tmp_path / "said.json"
    said.write_text(f'{{"{drawn[0].id[:8]}": "false"}}', encoding="utf-8")
    lint_accuracy_data.take_second(said)
    assert {each.problem: each.second for each in lint_accuracy_data.judged()} == {
        drawn[0].problem: "false",
        drawn[1].problem: lint_accuracy_data.DRAWN,
    }
    for wrong in (f'{{"{drawn[0].id[:8]}": "perhaps"}}', '{"xyz": "true"}', '{"": "true"}'):
        said.write_text(wrong, encoding="utf-8")
        with pytest.raises(SystemExit, match="not a selected row, or not a verdict"):
            lint_accuracy_data.take_second(said)


def test_rows_of_one_id_are_read_as_one(tmp_path, monkeypatch):
    monkeypatch.setattr(lint_accuracy_data, "VERDICTS", tmp_path / "verdicts.csv")
    monkeypatch.setattr(lint_accuracy_data, "REPOSITORIES", tmp_path / "repositories.yaml")
    one = next(each for n in range(60) if (each := row(problem=str(n))).drawn)
    other = replace(one, verdict="debatable", why="another place", places=("b.yaml:1",))
    lint_accuracy_data.keep([one, other], [lint_accuracy_data.Repository("a/b", "0" * 40)])
    said = tmp_path / "said.json"
    said.write_text(f'{{"{one.id[:8]}": "true"}}', encoding="utf-8")
    lint_accuracy_data.take_second(said)
    assert [each.second for each in lint_accuracy_data.judged()] == ["true", "true"]


@every(("part", "whole", "shown"), [(899, 1000, "89 %"), (9, 10, "90 %"), (0, 0, "–")])
def test_shares_are_rounded_down(part, whole, shown):
    assert lint_accuracy_page.share(part, whole) == shown


@pytest.fixture
def snapshot(tmp_path):
    tree = tmp_path / "tree"
    (tree / "a").mkdir(parents=True)
    (tree / "a" / "job.yaml").write_text(JOB)
    (tree / "lost.yaml").write_text("lost: true\n")
    (tree / "main.go").write_text("package main\n")

    def git(*words):
        own = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "init.defaultBranch=m")
        ran = subprocess.run(
            ["git", *own, *words], cwd=tree, check=True, capture_output=True, text=True
        )
        return ran.stdout.strip()

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "all")
    lost = git("rev-parse", "HEAD:lost.yaml")
    (tree / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    folder = tmp_path / "mirror" / "a+b"
    folder.mkdir(parents=True)
    (tree / ".git").rename(folder / "repo")
    return folder.parent, git("--git-dir", str(folder / "repo"), "rev-parse", "HEAD")


def test_only_what_lint_reads_is_written_out_and_what_a_snapshot_lacks_is_not(snapshot, tmp_path):
    mirror, commit = snapshot
    lint_accuracy.write_out(mirror / "a+b" / "repo", commit, tmp_path / "out")
    files = [file for file in (tmp_path / "out").rglob("*") if file.is_file()]
    assert files == [tmp_path / "out" / "a" / "job.yaml"]
    assert files[0].read_text() == JOB


def test_a_run_lints_the_snapshots_and_measures_and_leaves_what_it_lacks(
    snapshot, tmp_path, monkeypatch, capsys
):
    mirror, commit = snapshot
    monkeypatch.setattr(lint_accuracy_data, "VERDICTS", tmp_path / "verdicts.csv")
    monkeypatch.setattr(lint_accuracy_data, "REPOSITORIES", tmp_path / "repositories.yaml")
    absent = lint_accuracy_data.Repository("c/d", "1" * 40, 3, 2, 1, 0.7, 0.0, 60, batch=1)
    moved = lint_accuracy_data.Repository("a/b2", "1" * 40, batch=1)
    (mirror / "a+b2").symlink_to(mirror / "a+b")
    other = row(repository="c/d", when="then")
    new = lint_accuracy_data.Repository("a/b", commit, batch=1)
    lint_accuracy_data.keep([other], [new, moved, absent])
    for _ in ("the first look", "again"):
        lint_accuracy.run(mirror, [])
        rows, [cost, other_commit, kept] = (
            lint_accuracy_data.judged(),
            lint_accuracy_data.repositories(),
        )
        assert (kept, other_commit) == (absent, moved)
        assert (cost.name, cost.files, cost.resources, cost.known) == ("a/b", 1, 1, 1)
        assert cost.again
        assert cost.seconds > 0 < cost.mebibytes
        assert [(r.repository, r.rule, r.verdict, r.places, r.when) for r in rows] == [
            ("a/b", "GPU-POD-03", "", ("a/job.yaml:10",), "both"),
            ("c/d", "GPU-POD-03", "true", other.places, "then"),
        ]
    assert "a/b: 1 findings, 1 to judge" in capsys.readouterr().out


def test_the_page_says_what_the_data_say(golden):
    golden(lint_accuracy_page.PAGE, lint_accuracy_page.page())
