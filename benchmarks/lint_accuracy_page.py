"""Generate docs/concepts/lint-accuracy.md from the verdicts on public repositories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from lint_accuracy_data import (
    BOTH,
    DRAWN,
    FALSE,
    MOST_MEBIBYTES,
    SEVERITIES,
    THEN,
    TRUE,
    WORDS,
    Judged,
    Repository,
    count,
    judged,
    repositories,
)

PAGE = Path(__file__).resolve().parent.parent / "docs" / "concepts" / "lint-accuracy.md"
LARGE = 700
"""Files of a repository whose seconds count towards the cost of a thousand files."""
FIRST_BY_WRITTEN_CRITERIA = 17
"""The first batch that reviewers judged by the written criteria."""

TEMPLATE = """\
# Accuracy of `gpuyard lint`

We ran `gpuyard lint` on {all:,} public repositories: {files:,} files, {resources:,} Kubernetes and Terraform
resources. None of their authors knew the tool. A reviewer read the file around each finding and gave a verdict by
written criteria (`benchmarks/lint-verdicts.md`):

- **true**: the finding is right and useful to the owner of the file;
- **debatable**: it is right, but the repository states the intent, cannot suffer from it, or has no GPU there;
- **false**: it is wrong for this file, or it is an error where nothing fails.

Percentages are rounded down. Findings in example files and [advisory findings](../guides/lint.md#choices) never fail
a run, so the tables leave them out.

## The linter of today

[Decision 104](../decisions/0104-lint-heuristics-by-ablation.md) removed half of the heuristics, one at a time, by these
verdicts. Both linters ran on 207 of the repositories, those with most verdicts and those with rare formats:

| linter | findings | true | debatable | false | no verdict | share false |
|---|---:|---:|---:|---:|---:|---:|
| before | 960 | 914 | 42 | 3 | 1 | 0.3 % |
| today | 1,067 | 990 | 39 | 25 | 13 | 2.3 % |

Of the 914 true findings 8 are lost (0.9 %), and 84 true ones are new. `benchmarks/lint.md` has the verdicts of each
removal. The tables below are of the linter before.

## A repository that the rules have never seen

Reviewers who did not write the rules judged the first run on new repositories. The rules were then corrected, so the
next batch is the fair test of the correction. Expect of your own repository what the newest batch shows.

| batch | repositories | findings | true | debatable | false | true |
|---|---:|---:|---:|---:|---:|---:|
{first}
Goals: 90 % of errors true, 80 % of all findings true, at most 5 % false. **First runs do not reach them.** One
repository with an unusual habit decides most of a batch's false findings.

## Repositories that corrected the rules

The linter of 28 November 2026 on {strict:,} repositories with findings, each judged by the written criteria:

| severity | findings | true | debatable | false | true |
|---|---:|---:|---:|---:|---:|
{today}
Of {true:,} true findings of all first runs, that linter reports {kept:,}; {apart:,} are now advisory or in example
files, and {lost:,} are no longer reported at their line.

{second}

## Known limits

- The linter sees files, not clusters. It cannot know which files are deployed, what a controller changes, or which
  values a pipeline passes.
- A policy engine, a mutating webhook or a GitOps tool outside the repository can make a true finding harmless.
- Repositories that use GPUs for a desktop or a media server at home are the source of most debatable findings.
- Rules about releases (`GPU-OLD-01`) know the releases up to the date that `gpuyard version --facts` prints.

## Cost

Repositories with {large_files:,} files or more ({large}) take {rate:.1f} s of CPU for each 1,000 files, start included. The
largest process took {memory} MiB of memory; the tests allow {most} MiB.

## Data

`benchmarks/lint-verdicts.csv` has every finding with its place, verdict and reason;
`benchmarks/lint-repositories.csv` has the repositories, commits and costs.
`python benchmarks/lint_accuracy.py` regenerates this page.
"""


def page() -> str:
    """Render the page."""
    rows, all_ = judged(), repositories()
    now = list(said_today(rows, all_))
    partly = {row.repository for row in now if row.counts and not row.strict}
    strict = [row for row in now if row.strict and row.repository not in partly]
    true, kept, apart = still_said(rows, all_)
    large = [each for each in all_ if each.again and each.files >= LARGE]
    return TEMPLATE.format(
        all=len(all_),
        files=sum(each.files for each in all_),
        resources=sum(each.resources for each in all_),
        first="".join(_first_runs(all_, rows)),
        strict=len({row.repository for row in strict}),
        today="".join(_by_severity(strict)),
        true=true,
        kept=kept,
        apart=apart,
        lost=true - kept - apart,
        second=second_reading(rows),
        large=len(large),
        large_files=LARGE,
        rate=1000 * sum(each.seconds for each in large) / sum(each.files for each in large),
        memory=max(each.mebibytes for each in all_),
        most=MOST_MEBIBYTES,
    )


def said_today(rows: Iterable[Judged], all_: Iterable[Repository]) -> Iterator[Judged]:
    """Return the findings of today's rules on the repositories that were linted again."""
    again = {each.name for each in all_ if each.again}
    return (row for row in rows if row.repository in again and row.when != THEN)


def share(part: int, whole: int) -> str:
    """Format a percentage, rounded down: a goal that is missed by a little is missed."""
    return f"{part * 100 // whole} %" if whole else "–"


def _cells(rows: Iterable[Judged]) -> str:
    found = count(rows)
    whole = found.total()
    shown = [str(found[word]) for word in WORDS]
    return " | ".join([str(whole), *shown, share(found[TRUE], whole)])


def _by_severity(rows: Sequence[Judged]) -> Iterator[str]:
    own = [row for row in rows if row.counts]
    for severity in SEVERITIES:
        yield f"| {severity} | {_cells(row for row in own if row.severity == severity)} |\n"
    yield f"| **all** | {_cells(own)} |\n"


def _first_runs(all_: Sequence[Repository], rows: Sequence[Judged]) -> Iterator[str]:
    first = [row for row in rows if row.counts and row.when in {THEN, BOTH}]
    for batch in range(FIRST_BY_WRITTEN_CRITERIA, max(each.batch for each in all_) + 1):
        names = {each.name for each in all_ if each.batch == batch}
        found = [row for row in first if row.repository in names]
        yield f"| {batch} | {len(names)} | {_cells(found)} |\n"


def still_said(rows: Iterable[Judged], all_: Iterable[Repository]) -> tuple[int, int, int]:
    """Count the true findings of first runs, those reported today, and those reported apart.

    They are compared by rule, file and line: the message may have changed.
    """
    again = {each.name for each in all_ if each.again}
    rows = [row for row in rows if row.repository in again]
    now = {
        (row.repository, row.rule, place): row.counts
        for row in sorted(rows, key=lambda row: row.counts)
        for place in row.places
        if row.when != THEN
    }
    then = [
        now.get((row.repository, row.rule, place))
        for row in rows
        for place in row.places
        if row.verdict == TRUE and row.counts and row.when in {THEN, BOTH}
    ]
    return len(then), then.count(True), then.count(False)


def second_reading(rows: Iterable[Judged]) -> str:
    """State how far a second reviewer agrees with the verdicts by the written criteria."""
    read = [row for row in rows if row.drawn and row.strict and row.second != DRAWN]
    other = [row for row in read if row.second != row.verdict]
    falsely = sum(FALSE in {row.second, row.verdict} for row in other)
    alike = len(read) - len(other)
    return (
        f"A second reviewer judged {len(read)} findings, which a fixed seed selected:\n"
        f"{share(alike, len(read))} agree, {len(other) - falsely} differ on true or debatable,"
        f" {falsely} on false."
    )
