"""Subjects of commits fit into one line of `git log --oneline`."""

import subprocess

import sizes

COLUMNS = 72
SINCE = "2026-11-22T15:50:00Z"
"""When the gate came; older subjects are what they are."""


def too_long(subjects: list[str]) -> list[str]:
    return [subject for subject in subjects if len(subject) > COLUMNS]


def test_subjects_of_commits_are_one_line():
    log = subprocess.run(
        ["git", "log", "--no-merges", f"--since={SINCE}", "--format=%s"],
        cwd=sizes.ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert too_long(log.splitlines()) == [], f"at most {COLUMNS} columns: say the rest in the body"


def test_a_subject_of_a_column_too_many_is_found():
    assert too_long(["x" * COLUMNS, "x" * (COLUMNS + 1)]) == ["x" * (COLUMNS + 1)]
