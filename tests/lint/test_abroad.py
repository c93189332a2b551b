"""The verdicts on what lint says of public repositories: complete, within the goal, as the page says."""

import re
import subprocess
from dataclasses import replace
from urllib.parse import unquote

import abroad
import pytest

from gpuyard.rules import RULES
from kit.every import every

ROWS = abroad.judged()
REPOSITORIES = abroad.repositories()
NEW = {each.name for each in REPOSITORIES if each.batch}
EVERY = [row for row in ROWS if not row.sample]
OWN = [row for row in EVERY if row.repository not in NEW]
FEWEST = 60
FEWEST_NEW = 10
LARGEST = 640 * 1024
IDS = {rule.id for rule in RULES}
HIT = {
    "rule": "GPU-POD-03",
    "severity": "warn",
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
        assert row.verdict in abroad.WORDS, row
        assert len(row.why) > len("because"), row
        assert row.places, row
        assert all(re.fullmatch(r"[^:]+:[1-9]\d*", place) for place in row.places), row
        assert row.rule in IDS, row
        assert row.severity in abroad.SEVERITIES, row
        assert row.repository in {each.name for each in REPOSITORIES}, row


def test_equal_findings_of_a_repository_are_in_one_row_and_none_is_there_twice():
    seen = [(row.repository, row.rule, row.problem, place) for row in ROWS for place in row.places]
    same = [(r.repository, r.rule, r.severity, r.sample, r.problem, r.verdict, r.why) for r in ROWS]
    assert len(set(same)) == len(same)
    assert len(set(seen)) == len(seen)


def test_repositories_are_many_each_once_at_a_commit_and_measured():
    assert len({each.name for each in REPOSITORIES}) == len(REPOSITORIES)
    assert len(REPOSITORIES) - len(NEW) >= FEWEST
    for batch in abroad.BATCHES:
        assert sum(each.batch == batch for each in REPOSITORIES) >= FEWEST_NEW
    for each in REPOSITORIES:
        assert re.fullmatch(r"[0-9a-f]{40}", each.commit), each
        assert each.files > 0, each
        assert each.known <= each.resources, each
        assert each.seconds > 0 < each.mebibytes, each


def test_the_data_stay_small():
    sizes = [file.stat().st_size for file in (abroad.VERDICTS, abroad.REPOSITORIES)]
    assert sum(sizes) < LARGEST


@every(
    ("rows", "least_true", "most_false"),
    [([row for row in OWN if row.severity == "refuse"], 0.9, 0.05), (OWN, 0.8, 0.05)],
    ids=["refusals", "all findings"],
)
def test_findings_are_as_true_as_is_promised(rows, least_true, most_false):
    found = abroad.count(rows)
    assert found["true"] >= least_true * found.total()
    assert found["false"] <= most_false * found.total()


def test_linting_costs_as_little_as_is_promised():
    assert [each.name for each in REPOSITORIES if each.slow] == []
    assert max(each.mebibytes for each in REPOSITORIES) <= abroad.MOST_MEBIBYTES


@every(("seconds", "slow"), [(3.2, False), (3.3, True)])
def test_a_repository_is_slow_by_its_number_of_files(seconds, slow):
    each = abroad.Repository("a/b", "0" * 40, files=1000, seconds=seconds)
    assert each.slow is slow
    assert not replace(each, batch=max(abroad.CROWDED)).slow


def test_a_tenth_is_drawn_for_a_second_reading_and_the_same_every_time():
    drawn = [row for row in ROWS if row.drawn]
    assert 0.05 * len(ROWS) < len(drawn) < 0.2 * len(ROWS)
    assert {row.second for row in drawn} <= {abroad.DRAWN, *abroad.WORDS}
    assert {row.second for row in ROWS if not row.drawn} <= {""}


def row(**given):
    base = abroad.Judged(
        repository="a/b",
        rule="GPU-POD-03",
        severity="warn",
        sample=False,
        verdict="true",
        why="it does",
        problem="it moves",
        places=("a.yaml:1", "b.yaml:2"),
    )
    return replace(base, **given)


def test_a_run_keeps_the_verdict_of_a_finding_that_has_moved_and_judges_none_itself():
    hits = [HIT, {**HIT, "file": "new.yaml"}, {**HIT, "state": "sample", "file": "b.yaml"}]
    assert list(abroad.grouped("a/b", hits, [row()])) == [
        row(places=("a.yaml:3",)),
        row(verdict="", why="", places=("new.yaml:3",)),
        row(sample=True, places=("b.yaml:3",)),
    ]


def test_what_is_kept_is_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr(abroad, "VERDICTS", tmp_path / "verdicts.csv")
    monkeypatch.setattr(abroad, "REPOSITORIES", tmp_path / "repositories.yaml")
    rows = [row(), row(rule="GPU-POD-04", problem='says "a, b"', sample=True)]
    costs = [abroad.Repository("a/b", "0" * 40, 2, 1, 1, 0.8, 0.1, 70)]
    abroad.keep(rows, costs)
    marked = [replace(r, second=abroad.DRAWN if r.drawn else "") for r in rows]
    assert abroad.judged() == marked
    assert abroad.repositories() == costs


ELSE = "0 differ on whether it can be argued about, 1 on whether it is false: "
OTHER = "GPU-POD-03 in a/b false and not true"
EARLIER = "before the rules were mended by it, 16 of 18 were read alike"


@every(
    ("second", "says"),
    [
        (["drawn", "drawn"], f"2 rows are drawn, none has been read yet ({EARLIER})"),
        (["true", "drawn"], f"of 2 rows 1 are read, 1 with the same verdict, 100 % ({EARLIER})"),
        (
            ["true", "false"],
            f"of 2 rows 2 are read, 1 with the same verdict, 50 % ({EARLIER}); {ELSE}{OTHER}",
        ),
    ],
)
def test_the_page_says_how_far_the_second_reading_is(second, says):
    drawn = [each for n in range(60) if (each := row(problem=str(n))).drawn][:2]
    others = [each for n in range(9) if not (each := row(problem=str(n))).drawn]
    rows = [replace(each, second=word) for each, word in zip(drawn, second, strict=True)]
    assert abroad.second_reading([*rows, *others]) == says


def test_what_a_second_reader_says_is_taken_by_the_beginning_of_an_id(tmp_path, monkeypatch):
    monkeypatch.setattr(abroad, "VERDICTS", tmp_path / "verdicts.csv")
    monkeypatch.setattr(abroad, "REPOSITORIES", tmp_path / "repositories.yaml")
    drawn = [each for n in range(60) if (each := row(problem=str(n))).drawn][:2]
    abroad.keep(drawn, [abroad.Repository("a/b", "0" * 40)])
    said = tmp_path / "said.json"
    said.write_text(f'{{"{drawn[0].id[:8]}": "false"}}', encoding="utf-8")
    abroad.take_second(said)
    assert {each.problem: each.second for each in abroad.judged()} == {
        drawn[0].problem: "false",
        drawn[1].problem: abroad.DRAWN,
    }
    for wrong in (f'{{"{drawn[0].id[:8]}": "perhaps"}}', '{"xyz": "true"}', '{"": "true"}'):
        said.write_text(wrong, encoding="utf-8")
        with pytest.raises(SystemExit, match="no row that is drawn, or no verdict"):
            abroad.take_second(said)


def test_rows_of_one_id_are_read_as_one(tmp_path, monkeypatch):
    monkeypatch.setattr(abroad, "VERDICTS", tmp_path / "verdicts.csv")
    monkeypatch.setattr(abroad, "REPOSITORIES", tmp_path / "repositories.yaml")
    one = next(each for n in range(60) if (each := row(problem=str(n))).drawn)
    other = replace(one, verdict="debatable", why="another place", places=("b.yaml:1",))
    abroad.keep([one, other], [abroad.Repository("a/b", "0" * 40)])
    said = tmp_path / "said.json"
    said.write_text(f'{{"{one.id[:8]}": "true"}}', encoding="utf-8")
    abroad.take_second(said)
    assert [each.second for each in abroad.judged()] == ["true", "true"]


@every(("part", "whole", "shown"), [(899, 1000, "89 %"), (9, 10, "90 %"), (0, 0, "–")])
def test_shares_are_rounded_down(part, whole, shown):
    assert abroad.share(part, whole) == shown


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
    abroad.write_out(mirror / "a+b" / "repo", commit, tmp_path / "out")
    files = [file for file in (tmp_path / "out").rglob("*") if file.is_file()]
    assert files == [tmp_path / "out" / "a" / "job.yaml"]
    assert files[0].read_text() == JOB


def test_a_run_lints_the_snapshots_and_measures_and_leaves_what_it_lacks(
    snapshot, tmp_path, monkeypatch, capsys
):
    mirror, commit = snapshot
    monkeypatch.setattr(abroad, "VERDICTS", tmp_path / "verdicts.csv")
    monkeypatch.setattr(abroad, "REPOSITORIES", tmp_path / "repositories.yaml")
    absent = abroad.Repository("c/d", "1" * 40, 3, 2, 1, 0.7, 0.0, 60)
    other = row(repository="c/d")
    abroad.keep([other], [abroad.Repository("a/b", commit), absent])
    abroad.run(mirror, [])
    rows, [cost, kept] = abroad.judged(), abroad.repositories()
    assert kept == absent
    assert (cost.name, cost.files, cost.resources, cost.known) == ("a/b", 1, 1, 1)
    assert cost.seconds > 0 < cost.mebibytes
    assert [(r.repository, r.rule, r.verdict, r.places) for r in rows] == [
        ("a/b", "GPU-POD-03", "", ("a/job.yaml:10",)),
        ("c/d", "GPU-POD-03", "true", other.places),
    ]
    assert "a/b: 1 findings, 1 to judge" in capsys.readouterr().out


def test_the_page_says_what_the_data_say(golden):
    golden(abroad.PAGE, abroad.page())


def test_a_line_of_the_page_leads_to_the_place_that_is_meant():
    links = re.findall(r"https://github\.com/([^/]+/[^/]+)/blob/(\w+)/(\S+)#L(\d+)", abroad.page())
    commits = {each.name: each.commit for each in REPOSITORIES}
    places = {(r.repository, place) for r in EVERY for place in r.places}
    assert len(links) > 1
    for name, commit, file, line in links:
        assert commits[name] == commit
        assert (name, f"{unquote(file)}:{line}") in places
