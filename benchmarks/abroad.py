"""`gpuyard lint` on public repositories: what it says, and what somebody who read the files says of that.

    python benchmarks/abroad.py                     writes docs/concepts/lint-abroad.md anew
    python benchmarks/abroad.py --run FOLDER        lints first; FOLDER/OWNER+NAME/repo is a git directory
    python benchmarks/abroad.py --run FOLDER OWNER/NAME …    only these
    python benchmarks/abroad.py --second FILE       takes a second reading: {"id of a row": "true", …}

abroad-repositories.yaml says which repositories at which commits, and what linting each cost.
abroad-verdicts.csv has every finding, equal ones of a repository in one row, with its verdict. A run keeps
the verdict of what it finds again and leaves that of a new finding empty: somebody has to read the file, and
say why in their own words. Nothing of the repositories themselves is kept.
tests/lint/test_abroad.py holds the page to the data.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml
from abroad_batches import BATCHES

ROOT = Path(__file__).resolve().parent.parent
REPOSITORIES = Path(__file__).with_name("abroad-repositories.yaml")
VERDICTS = Path(__file__).with_name("abroad-verdicts.csv")
PAGE = ROOT / "docs" / "concepts" / "lint-abroad.md"

TRUE, DEBATABLE, FALSE = WORDS = ("true", "debatable", "false")
SEVERITIES = ("refuse", "warn", "note")
SUFFIXES = (
    *(".yaml", ".yml", ".json", ".jsonl", ".ndjson", ".tf", ".tofu", ".tfstate", ".csv"),
    *(".tpl", ".txt", ".tgz"),
    *(".sh", ".bash", ".mk", ".md"),
)
"""What lint may look at, and what its neighbours say of it."""
NAMES = ("Kustomization", ".helmignore", "akefile", "ustfile")
SEED = "a second reading of the mended rules"
ONE_IN = 10
EARLIER = (18, 16)
"""Rows of a second reading before the rules were mended by it, and how many had the same verdict."""
DRAWN = "drawn"
"""Of a row that somebody else shall read as well, until their verdict stands there."""
JOINT = " | "
MOST_SECONDS = 600
START, PER_THOUSAND, MOST_MEBIBYTES = 1.2, 2.0, 300
"""What linting may cost: CPU seconds, and those of a thousand files."""
CROWDED = frozenset({3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15})
"""Batches that were measured beside other busy programs on two cores, in up to twice the seconds."""
_MEASURED = """
import os, subprocess, sys
ran = subprocess.Popen(sys.argv[1:], stderr=subprocess.DEVNULL)
used = os.wait4(ran.pid, 0)[2]
print(used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr)
"""
"""A small program between: what a process is started with counts as its own memory."""


@dataclass(frozen=True)
class Repository:
    """A public repository at a commit, and what linting it cost."""

    name: str
    commit: str
    files: int = 0
    resources: int = 0
    known: int = 0
    seconds: float = 0.0
    """CPU, user and system, the start included, without other programs."""
    programs: float = 0.0
    """What helm and kustomize cost besides."""
    mebibytes: int = 0
    batch: int = 0
    """0: looked at while the rules were written. Above: never seen before, in the order of fetching."""

    @property
    def slow(self) -> bool:
        """Whether it took longer than its number of files lets one expect; on a crowded machine all do."""
        return self.batch not in CROWDED and self.seconds > START + PER_THOUSAND * self.files / 1000


@dataclass(frozen=True)
class Judged:
    """Findings that say the same of one repository, and what is to be thought of them."""

    repository: str
    rule: str
    severity: str
    sample: bool
    verdict: str
    why: str
    problem: str
    places: tuple[str, ...]
    second: str = ""
    """Whether somebody else is to read it too, or what they said."""
    choice: bool = False
    """Whether lint itself says that it can be defended, and shows it apart."""

    @property
    def counts(self) -> bool:
        """Whether it is shown as a finding, and not apart."""
        return not self.sample and not self.choice

    @property
    def id(self) -> str:
        """What a second reader calls it: of what is said, not of its verdict."""
        key = "\0".join((SEED, self.repository, self.rule, self.problem, str(self.sample)))
        return hashlib.sha256(key.encode()).hexdigest()

    @property
    def drawn(self) -> bool:
        """Whether it is in the tenth for a second reading; the same on every run."""
        return int(self.id, 16) % ONE_IN == 0


Key = tuple[str, str, str, str]
"""Repository, rule, file and problem: what a verdict is about, whatever line it has moved to."""


# ── The data ────────────────────────────────────────────────────────────────────────────────────────────


def repositories() -> list[Repository]:
    """Every one, by name."""
    listed = yaml.safe_load(REPOSITORIES.read_text(encoding="utf-8"))
    return [Repository(**each) for each in listed]


def judged() -> list[Judged]:
    """Every row of the verdicts."""
    with VERDICTS.open(encoding="utf-8", newline="") as file:
        return [
            Judged(
                **{
                    **each,
                    "sample": each["sample"] == "yes",
                    "choice": each["choice"] == "yes",
                    "places": tuple(each["places"].split(JOINT)),
                }
            )
            for each in csv.DictReader(file)
        ]


def keep(rows: Iterable[Judged], costs: Iterable[Repository]) -> None:
    """Write both files of data."""
    ordered = sorted(
        rows,
        key=lambda r: (r.repository.lower(), r.rule, r.sample, r.problem, r.verdict, r.places),
    )
    with VERDICTS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(Judged.__dataclass_fields__), lineterminator="\n")
        writer.writeheader()
        for each in ordered:
            second = (each.second or DRAWN) if each.drawn else ""
            said = {name: "yes" if vars(each)[name] else "no" for name in ("sample", "choice")}
            cells = {**vars(each), **said, "second": second}
            writer.writerow({**cells, "places": JOINT.join(each.places)})
    listed = [vars(each) for each in sorted(costs, key=lambda r: r.name.lower())]
    text = "".join(f"- {json.dumps(each)}\n" for each in listed)
    REPOSITORIES.write_text(text, encoding="utf-8")


def take_second(file: Path) -> None:
    """Keep what a second reader said of the rows that are drawn, by their ids or the beginnings of these.

    Rows that say the same for two reasons, or at two severities, have one id and are read as one.
    """
    said = json.loads(file.read_text(encoding="utf-8"))
    rows = judged()
    drawn = {row.id for row in rows if row.drawn}
    for key, word in said.items():
        if word not in WORDS or sum(each.startswith(key) for each in drawn) != 1:
            raise SystemExit(f"{file}: {key}: {word}: no row that is drawn, or no verdict")
    read = {each: word for each in drawn for key, word in said.items() if each.startswith(key)}
    keep([replace(row, second=read.get(row.id, row.second)) for row in rows], repositories())


# ── The run ─────────────────────────────────────────────────────────────────────────────────────────────


def run(folder: Path, only: Sequence[str]) -> None:
    """Lint every repository whose snapshot is there, and keep what is found beside the verdicts of before."""
    rows, costs = judged() if VERDICTS.exists() else [], []
    for each in repositories():
        git = folder / each.name.replace("/", "+") / "repo"
        if (only and each.name not in only) or not git.is_dir():
            costs.append(each)
            continue
        found, cost = linted(each, git / ".git" if (git / ".git").is_dir() else git)
        before = [row for row in rows if row.repository == each.name]
        rows = [row for row in rows if row.repository != each.name]
        new = list(grouped(each.name, found, before))
        rows += new
        costs.append(cost)
        open_ = sum(len(row.places) for row in new if not row.verdict)
        print(f"{each.name}: {len(found)} findings, {open_} to judge, {cost.seconds} s")
    keep(rows, costs)


def linted(each: Repository, git: Path) -> tuple[list[dict[str, Any]], Repository]:
    """What is said of one repository, and what that cost."""
    with tempfile.TemporaryDirectory() as name:
        write_out(git, each.commit, Path(name))
        said, programs, most = _ran(Path(name))
        _, seconds, _ = _ran(Path(name), "--no-render")
    hits = [hit for hit in said["hits"] if hit["state"] in {"open", "sample", "choice"}]
    return hits, replace(
        each,
        files=len(said["files"]),
        resources=said["resources"],
        known=said["known"],
        seconds=round(seconds, 1),
        programs=round(max(programs - seconds, 0), 1),
        mebibytes=most // 1024,
    )


def _ran(folder: Path, *options: str) -> tuple[dict[str, Any], float, int]:
    """One run: what it said, its CPU seconds, and the most memory it had."""
    program = Path(sys.executable).with_name("gpuyard")
    words = [sys.executable, "-c", _MEASURED, program, "lint", "--format", "json", *options, "."]
    with tempfile.TemporaryFile() as out:
        ran = subprocess.run(words, cwd=folder, stdout=out, stderr=subprocess.PIPE, check=True)
        out.seek(0)
        seconds, kibibytes = ran.stderr.split()
        return json.load(out), float(seconds), int(kibibytes)


def write_out(git: Path, commit: str, folder: Path) -> None:
    """The files that lint looks at, as they were; what the snapshot lacks is left out."""
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
    repository: str, hits: Iterable[dict[str, Any]], before: Iterable[Judged]
) -> Iterator[Judged]:
    """Equal findings as one row, with the verdict that they had."""
    verdicts = {
        (row.rule, place.rpartition(":")[0], row.problem): (row.verdict, row.why, row.second)
        for row in before
        for place in row.places
    }
    found: dict[tuple[Any, ...], list[str]] = {}
    for hit in hits:
        key = (hit["rule"], hit["file"], hit["problem"])
        verdict = verdicts.get(key, ("", "", ""))
        apart = (hit["state"] == "sample", hit["state"] == "choice")
        same = (hit["rule"], hit["severity"], apart, *verdict, hit["problem"])
        found.setdefault(same, []).append(f"{hit['file']}:{hit['line']}")
    for (rule, severity, (sample, choice), verdict, why, second, problem), places in found.items():
        yield Judged(
            *(repository, rule, severity, sample, verdict, why, problem, tuple(places), second),
            choice=choice,
        )


# ── The page ────────────────────────────────────────────────────────────────────────────────────────────


def count(rows: Iterable[Judged]) -> Counter[str]:
    """Findings by verdict."""
    found: Counter[str] = Counter()
    for each in rows:
        found[each.verdict] += len(each.places)
    return found


def share(part: int, whole: int) -> str:
    """In percent, rounded down: a goal that is missed by a little is missed."""
    return f"{part * 100 // whole} %" if whole else "–"


def _cells(rows: Sequence[Judged]) -> str:
    found = count(rows)
    whole = found.total()
    shown = [str(found[word]) for word in WORDS]
    return " | ".join([str(whole), *shown, share(found[TRUE], whole)])


HEAD = """\
# Lint abroad

`gpuyard lint` on {repositories} public repositories whose authors have never seen it: {files:,} files, {resources:,} resources, {findings:,} findings;
and on {news} more that nobody had looked at when the rules were written, [apart](#never-seen-before).
Every finding was judged by somebody who read the file around it, against upstream's own documentation and code where that decides. The data
are [the repositories](../../benchmarks/abroad-repositories.yaml) and [the verdicts](../../benchmarks/abroad-verdicts.csv), each with its place and the
reason; this page is made of them by `python benchmarks/abroad.py`.

| | findings | true | debatable | false | of them true |
|---|---:|---:|---:|---:|---:|
"""  # noqa: E501  a row of a table is one line
COUNTING = """
## How it is judged

- **true**: what is said is right, and of use to who owns the file. **debatable**: right, but a choice that can be defended, asked
  for by a vendor, or off the subject of GPUs. **false**: what is said is wrong, the object is not what the rule takes it for, or it
  is refused where nothing fails and nobody is in danger.
- Findings in samples (examples, data of tests, copies of others' work, old documentation) never fail anything and are counted
  apart, as `gpuyard lint` shows them. So are [choices](../guides/lint.md#choices): what is right and can be defended. What was
  found in repositories never seen before there were choices is counted as it was shown then.
- These repositories were looked at while the rules were written; [the others](#never-seen-before) say what to expect of yours. Charts that say a word of
  GPUs are rendered with their own values, kustomizations that need it are built. Of Terraform's own files
  (`.tf`) what variables, data and modules from elsewhere decide is unknown, and nothing is said of it.
- The mistakes are those of files that people publish to help others, most of them old: every one of us makes such, and a line here is no
  judgement on a project. Where a file has changed since, its commit says which one was read.
- A share is rounded down.
- A second reading by somebody else, of a tenth of the rows that a fixed seed draws, where nine of ten alike is the goal: {second}.

## By rule

| rule | findings | true | debatable | false | of them true | in samples | true | debatable | false | of them true |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
"""  # noqa: E501  a page, not code
NEVER_SEEN = """
## Never seen before

Repositories that were fetched after the rules were written, linted once, and judged as the others are; what
was found then stands here, whatever the rules say today.
"""
OF_NEW = """
What is not true there, or can be argued about:

"""
FOUND = """
## What is refused

Each line is one thing that is said of a repository, with the first of its places; samples are not among them.

"""
OTHERS = """
## What is not true, or can be argued about

"""
LAST = """
## Repositories

Seconds are CPU time, user and system. The {known} that are not among the never seen were all run again, once, with the rules as they are, beside other busy
programs on two cores: {seconds:g} s for {known_files:,} files, {rate:.1f} s for each 1,000, of which more than half is {known} starts of 0.5 s; at most {known_most} MiB. No true
finding was lost by the mends since; one, a note, is a choice now. The first two parts never seen are the least of several runs on a machine that thirty other programs used. Behind the plus is what helm and kustomize cost where they are at hand, in
all {programs:g} s for {files:,} files. The {crowded} of the third, fourth, fifth and seventh to fifteenth part never seen were measured beside other busy programs on two
cores, once, where one of the first took 2.8 s instead of 1.1 and a folder with one file from 1.0 to 2.0 s, some with what helm and kustomize cost: they are
not held to the limit. Those of the sixth were measured once, on a calmer machine, and are; so are those of the sixteenth, beside other programs. Seconds go by what is read as much as by files: 1 MB of 6,578 pods in one file takes about 5 s. Memory is the most that was resident.
The limit is {start:g} s for the start and {thousand:g} s for each 1,000 files, and {most} MiB. Slower: {slow}. The most memory was {largest} MiB ({large}).

| repository | commit | files | resources | refuse, warn, note | true, debatable, false | in samples | true, debatable, false | s | MiB |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|
"""  # noqa: E501  a row of a table is one line


def page() -> str:
    """The whole page."""
    every, all_ = judged(), repositories()
    news = {each.name for each in all_ if each.batch}
    rows = [row for row in every if row.repository not in news]
    own = [row for row in rows if row.counts]
    samples = [row for row in rows if row.sample]
    seen = [each for each in all_ if not each.batch]
    return "".join(
        [
            HEAD.format(
                repositories=len(seen),
                files=sum(each.files for each in seen),
                resources=sum(each.resources for each in seen),
                findings=count(rows).total(),
                news=len(news),
            ),
            *_totals(own, samples),
            f"| choices, apart | {_cells([row for row in rows if row.choice])} |\n",
            COUNTING.format(second=second_reading(every)),
            *_by_rule(own, samples),
            NEVER_SEEN,
            *_never_seen(all_, every),
            FOUND,
            *_lines([row for row in own if row.severity == "refuse" and row.verdict == TRUE]),
            OTHERS,
            *_lines([row for row in own if row.verdict != TRUE]),
            *_costs(all_, every),
        ]
    )


def _never_seen(all_: Sequence[Repository], every: Sequence[Judged]) -> Iterator[str]:
    for batch, head in BATCHES.items():
        new = [each for each in all_ if each.batch == batch]
        names = {each.name for each in new}
        rows = [row for row in every if row.repository in names]
        own = [row for row in rows if row.counts]
        files, resources = (sum(map(each, new)) for each in (_files, _resources))
        yield head.format(repositories=len(new), files=files, resources=resources)
        yield from _totals(own, [row for row in rows if row.sample])
        yield OF_NEW
        yield from _lines([row for row in own if row.verdict != TRUE])


def _files(each: Repository) -> int:
    return each.files


def _resources(each: Repository) -> int:
    return each.resources


def _totals(own: Sequence[Judged], samples: Sequence[Judged]) -> Iterator[str]:
    for severity in SEVERITIES:
        yield f"| {severity} | {_cells([row for row in own if row.severity == severity])} |\n"
    yield f"| **all** | {_cells(own)} |\n"
    yield f"| in samples, apart | {_cells(samples)} |\n"


def second_reading(rows: Iterable[Judged]) -> str:
    """How far it has come."""
    drawn = [row for row in rows if row.drawn]
    earlier = f"before the rules were mended by it, {EARLIER[1]} of {EARLIER[0]} were read alike"
    read = [row for row in drawn if row.second != DRAWN]
    if not read:
        return f"{len(drawn)} rows are drawn, none has been read yet ({earlier})"
    other = [row for row in read if row.second != row.verdict]
    alike = len(read) - len(other)
    same = f"of {len(drawn)} rows {len(read)} are read, {alike} with the same verdict"
    same += f", {share(alike, len(read))} ({earlier})"
    if not other:
        return same
    falsely = sum(FALSE in {row.second, row.verdict} for row in other)
    told = [f"{row.rule} in {row.repository} {row.second} and not {row.verdict}" for row in other]
    return (
        f"{same}; {len(other) - falsely} differ on whether it can be argued about, {falsely} on whether"
        f" it is false: {', '.join(told)}"
    )


def _by_rule(own: Sequence[Judged], samples: Sequence[Judged]) -> Iterator[str]:
    for rule in sorted({row.rule for row in (*own, *samples)}):
        cells = [_cells([row for row in some if row.rule == rule]) for some in (own, samples)]
        yield f"| {rule} | {cells[0]} | {cells[1]} |\n"


def _lines(rows: Iterable[Judged]) -> Iterator[str]:
    of = {each.name: each for each in repositories()}
    for row in sorted(rows, key=lambda row: (row.verdict, row.rule, row.repository.lower())):
        file, _, line = row.places[0].rpartition(":")
        where = quote(file)
        link = (
            f"https://github.com/{row.repository}/blob/{of[row.repository].commit}/{where}#L{line}"
        )
        more = f" and {len(row.places) - 1} more" if len(row.places) > 1 else ""
        word = "" if row.verdict == TRUE else f"{row.verdict}, "
        said = row.problem.replace("<", "&lt;").replace("|", "\\|")
        yield f"- {row.rule} [{row.repository}]({link}){more}: “{said}” — {word}{row.why}\n"


def _costs(all_: Sequence[Repository], rows: Sequence[Judged]) -> Iterator[str]:
    own = [row for row in rows if row.counts]
    samples = [row for row in rows if row.sample]
    slow = [
        f"{each.name} with {each.seconds:g} s for {each.files:,} files of {each.resources:,} resources"
        for each in all_
        if each.slow
    ]
    large = max(all_, key=lambda each: each.mebibytes)
    seen = [each for each in all_ if not each.batch]
    seconds, files = sum(each.seconds for each in seen), sum(map(_files, seen))
    yield LAST.format(
        start=START,
        thousand=PER_THOUSAND,
        most=MOST_MEBIBYTES,
        crowded=sum(each.batch in CROWDED for each in all_),
        slow=" and ".join(slow) or "none",
        known=len(seen),
        seconds=round(seconds, 1),
        known_files=files,
        rate=1000 * seconds / files,
        known_most=max(each.mebibytes for each in seen),
        programs=round(sum(each.programs for each in all_)),
        files=sum(each.files for each in all_),
        largest=large.mebibytes,
        large=large.name,
    )
    for each in all_:
        here = [row for row in own if row.repository == each.name]
        there = [row for row in samples if row.repository == each.name]
        levels = [
            sum(len(row.places) for row in here if row.severity == severity)
            for severity in SEVERITIES
        ]
        cells: tuple[object, ...] = (
            f"[{each.name}](https://github.com/{each.name})",
            each.commit[:10],
            f"{each.files:,}",
            f"{each.resources:,}",
            _slashed(levels),
            _slashed([count(here)[word] for word in WORDS]),
            count(there).total(),
            _slashed([count(there)[word] for word in WORDS]),
            f"{each.seconds} + {each.programs}",
            each.mebibytes,
        )
        yield f"| {' | '.join(map(str, cells))} |\n"


def _slashed(numbers: Iterable[int]) -> str:
    return " / ".join(map(str, numbers))


def main() -> None:
    """Lint where that is asked for, then write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--run", metavar="FOLDER", type=Path, help="folder of snapshots")
    parser.add_argument("--second", metavar="FILE", type=Path, help="verdicts of a second reader")
    parser.add_argument("only", nargs="*", metavar="OWNER/NAME", help="lint only these")
    given = parser.parse_args()
    if given.second:
        take_second(given.second)
    if given.run:
        run(given.run, given.only)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
