"""Run `gpuyard lint` on public repositories and store the reviewers' verdict of each finding.

    python benchmarks/lint_accuracy.py                  writes docs/concepts/lint-accuracy.md
    python benchmarks/lint_accuracy.py --run FOLDER     lints first; FOLDER/OWNER+NAME/repo is a git directory
    python benchmarks/lint_accuracy.py --run FOLDER OWNER/NAME …    only these
    python benchmarks/lint_accuracy.py --second FILE    reads a second review: {"id of a row": "true", …}

A run keeps the verdict of each finding that it reports again and leaves the verdict of a new finding
empty. A reviewer then reads the file and gives the reason (lint-verdicts.md has the criteria). The findings
of the first run on a repository are never overwritten. tests/lint/test_lint_accuracy.py compares the page
with the data.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from lint_accuracy_data import (
    BOTH,
    THEN,
    TODAY,
    Judged,
    Repository,
    judged,
    keep,
    repositories,
    take_second,
)
from lint_accuracy_page import PAGE, page

SUFFIXES = (
    *(".yaml", ".yml", ".json", ".jsonl", ".ndjson", ".tf", ".tofu", ".tfstate", ".csv"),
    *(".tpl", ".tftpl", ".txt", ".tgz"),
    *(".sh", ".bash", ".mk", ".md"),
)
"""Suffixes of files that lint may read, and of files next to them that describe them."""
NAMES = (
    "README",
    "Kustomization",
    ".helmignore",
    ".fleetignore",
    "Chart.lock",
    "akefile",
    "ustfile",
    "Jenkinsfile",
)
MOST_SECONDS = 600
SIDE_BY_SIDE = 2
_MEASURED = """
import os, subprocess, sys
ran = subprocess.Popen(sys.argv[1:], stderr=subprocess.DEVNULL)
used = os.wait4(ran.pid, 0)[2]
print(used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr)
"""
"""A small intermediate program: a process's memory includes that of its parent at its start."""


def run(folder: Path, only: Sequence[str]) -> None:
    """Lint every repository with a snapshot, and store the findings with the earlier verdicts."""
    rows, costs = judged(), repositories()
    there = [
        (each, git)
        for each in costs
        if (not only or each.name in only) and (git := snapshot(folder, each))
    ]
    looked_at = {each.name for each in costs if each.batch and each.files}
    try:
        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            for cost, hits in pool.map(lambda pair: linted(*pair), there):
                before = [row for row in rows if row.repository == cost.name]
                found = list(grouped(cost.name, hits, before))
                rows = [row for row in rows if row.repository != cost.name]
                rows += beside(before, found) if cost.name in looked_at else found
                costs = [cost if each.name == cost.name else each for each in costs]
                open_ = sum(len(row.places) for row in found if not row.verdict)
                print(f"{cost.name}: {len(hits)} findings, {open_} to judge", flush=True)
    finally:  # an interruption keeps the finished results
        keep(rows, costs)


def snapshot(folder: Path, each: Repository) -> Path | None:
    """The git directory of a copy with the reviewed commit."""
    git = folder / each.name.replace("/", "+") / "repo"
    git = git / ".git" if (git / ".git").is_dir() else git
    if not git.is_dir():
        return None
    words = ["git", "--git-dir", str(git), "cat-file", "-e", f"{each.commit}^{{tree}}"]
    return (
        git
        if subprocess.run(words, check=False, stderr=subprocess.DEVNULL).returncode == 0
        else None
    )


def beside(before: Sequence[Judged], found: Sequence[Judged]) -> Iterator[Judged]:
    """Findings of the first run and of today's, each place once if they are the same.

    If a finding was later judged by the strict criteria, its first verdict is kept only for the first run.
    """
    now = {_place(row, place) for row in found for place in row.places}
    later = {_place(row, place) for row in found if row.strict for place in row.places}
    then: set[tuple[object, ...]] = set()
    for row in before:
        if row.when == TODAY:
            continue
        same = now if row.strict else now - later
        kept = [place for place in row.places if _place(row, place) in same]
        gone = [place for place in row.places if _place(row, place) not in same]
        then |= {_place(row, place) for place in kept}
        for when, places in ((BOTH, kept), (THEN, gone)):
            if places:
                yield replace(row, when=when, places=tuple(places))
    for row in found:
        if new := [place for place in row.places if _place(row, place) not in then]:
            yield replace(row, when=TODAY, places=tuple(new))


def _place(row: Judged, place: str) -> tuple[object, ...]:
    return row.rule, row.severity, row.sample, row.choice, row.problem, place


def linted(each: Repository, git: Path) -> tuple[Repository, list[Mapping[str, Any]]]:
    """The cost and the findings of one repository."""
    with tempfile.TemporaryDirectory() as name:
        write_out(git, each.commit, Path(name))
        said, programs, most = _ran(Path(name), "--render")
        _, seconds, _ = _ran(Path(name))
    hits = [hit for hit in said["hits"] if hit["state"] in {"open", "example", "advisory"}]
    cost = replace(
        each,
        files=len(said["files"]),
        resources=said["resources"],
        known=said["known"],
        seconds=round(seconds, 1),
        programs=round(max(programs - seconds, 0), 1),
        mebibytes=most // 1024,
        again=True,
    )
    return cost, hits


def _ran(folder: Path, *options: str) -> tuple[dict[str, Any], float, int]:
    """One run: its report, its CPU seconds, and its peak memory."""
    program = Path(sys.executable).with_name("gpuyard")
    words = [sys.executable, "-c", _MEASURED, program, "lint", "--format", "json", *options, "."]
    with tempfile.TemporaryFile() as out:
        ran = subprocess.run(words, cwd=folder, stdout=out, stderr=subprocess.PIPE, check=True)
        out.seek(0)
        seconds, kibibytes = ran.stderr.split()
        return json.load(out), float(seconds), int(kibibytes)


def write_out(git: Path, commit: str, folder: Path) -> None:
    """Write the files that lint reads, as of the commit; files that the snapshot lacks are left out."""
    listed = _git(git, "ls-tree", "-r", "-z", commit).decode(errors="surrogateescape")
    wanted: list[tuple[str, str]] = []
    for line in listed.split("\0"):
        head, _, name = line.partition("\t")
        if head.startswith("100") and (name.endswith(SUFFIXES) or name.endswith(NAMES)):
            wanted.append((head.split()[2], name))
    asked = "".join(f"{object_}\n" for object_, _ in wanted).encode()
    data, at = _git(git, "cat-file", "--batch", given=asked), 0
    for _, name in wanted:
        end = data.index(b"\n", at)
        head, at = data[at:end].split(), end + 1
        if head[-1] == b"missing":
            continue
        size = int(head[-1])
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data[at : at + size])
        at += size + 1


def _git(git: Path, *words: str, given: bytes = b"") -> bytes:
    return subprocess.run(
        ["git", "--git-dir", str(git), *words],  # noqa: S607  whichever git the reader has
        input=given,
        check=True,
        capture_output=True,
        timeout=MOST_SECONDS,
    ).stdout


def grouped(
    repository: str, hits: Iterable[Mapping[str, Any]], before: Iterable[Judged]
) -> Iterator[Judged]:
    """Equal findings as one row, with their earlier verdict."""
    verdicts: dict[tuple[str, str, str], tuple[str, str, str, bool]] = {}
    for row in sorted(
        before, key=lambda each: each.strict
    ):  # the stricter verdict takes precedence
        for place in row.places:
            verdict = row.verdict, row.why, row.second, row.strict
            verdicts[row.rule, place, ""] = verdict  # whatever today's message is
            verdicts[row.rule, place.rpartition(":")[0], row.problem] = verdict
    found: dict[tuple[Any, ...], dict[str, None]] = {}  # two objects of one template have one place
    for hit in hits:
        place = f"{hit['file']}:{hit['line']}"
        alike = (hit["rule"], hit["file"], hit["problem"]), (hit["rule"], place, "")
        verdict = next(filter(None, map(verdicts.get, alike)), ("", "", "", False))
        apart = (hit["state"] == "example", hit["state"] == "advisory")
        same = (hit["rule"], hit["severity"], apart, *verdict, hit["problem"])
        found.setdefault(same, {})[place] = None
    for (rule, severity, apart, verdict, why, second, strict, problem), places in found.items():
        yield Judged(
            *(repository, rule, severity, apart[0], verdict, why, problem, tuple(places), second),
            choice=apart[1],
            strict=strict,
        )


def main() -> None:
    """Lint if requested, then write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--run", metavar="FOLDER", type=Path, help="folder of snapshots")
    parser.add_argument("--second", metavar="FILE", type=Path, help="verdicts of a second reviewer")
    parser.add_argument("only", nargs="*", metavar="OWNER/NAME", help="lint only these")
    given = parser.parse_args()
    if given.second:
        take_second(given.second)
    if given.run:
        run(given.run, given.only)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
