"""The page about linting abroad, made of its data: what to expect, what is said today, what it costs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from abroad_data import (
    BOTH,
    DRAWN,
    FALSE,
    MOST_MEBIBYTES,
    PER_THOUSAND,
    SEVERITIES,
    START,
    THEN,
    TODAY,
    TRUE,
    WORDS,
    Judged,
    Repository,
    count,
    judged,
    repositories,
)

PAGE = Path(__file__).resolve().parent.parent / "docs" / "concepts" / "lint-abroad.md"
LARGE = 700
"""Files of a repository that is looked at for what a thousand files cost."""

BATCHES = {
    1: "named by hand; namespaces that are meant, queues without a quota, other people's secrets",
    2: "the same; `enabled` of a parent's values, which is Helm's own",
    3: "the same; what the operator's values switch off, keys of a copied chart, an audit log that is on",
    4: "by name and kind; runtime classes without a request, a label in every panel, pools upgraded by hand",
    5: "the same, a small one; versions that a variable decides, policies where no namespace is written",
    6: "platforms, charts, Terraform; choices stand apart since, and pools without GPUs are not our subject",
    7: "the same; folders of Terraform without a word of Kubernetes, graphics cards of the host",
    8: "recipes, homes, OpenShift; what is refused has to be sure from what is in view",
    9: "with the eighth; metrics by names that an exporter beside them is told to serve",
    10: "users of all clouds, courses, modules; quantities with letters, exporters that look at all GPUs",
    11: "by lot from the list of the tenth; namespaces that OpenShift AI shows, labels an expression makes",
    12: "fetched after it; nothing",
    13: "by lot from who holds paths as `k8s/vllm-deployment.yaml`; copies of charts say their version",
    14: "the next of that lot; names that a collector writes, sidecars, tests of a fabric",
    15: "the last of that lot; values of the operator of 2021, ranges of ports without SSH",
    16: "by lot from other paths; values of HAMi, plugins that wait where no GPU is, one machine's GPUs",
    17: "by lot from 165 paths; by strict words: exporters before 4.8.0, keys like none, copies of defaults",
    18: "drawn with it; folders that Flux is never told of, plugins that wait nowhere, CDI of OpenShift",
    19: "by lot from 134 other paths; whose labels an exporter has, tags that no machine carries",
    20: "the rest of that lot; charts around the vendor's, policies of namespaces without GPUs",
    21: "by lot from 136 other paths; Applications in a comment, variables under CDI, ranges of patches",
    22: "the next of that lot; charts that Flux takes from files, shares that HAMi counts, `…-disabled`",
    23: "the last of that lot; words that explain kinds of images, pipelines, a Karpenter of add-ons",
    24: "by lot from 74 other paths; jobs that keep anybody's labels, scopes of GKE, old Skaffold",
}
"""How the repositories of each batch were chosen, and what was mended by what it showed."""
FIRST_BY_WORDS = 17
"""The first look that was judged by written words, which were made clearer by it."""
LAST_BATCH = """. Drawn by lot from 361 of
which an index of public files knows that they hold a path such as `k8s/training/job.yaml`,
`terraform/node_groups.tf` or `config/kueue/cluster-queue.yaml`, as far as a copy was to be had and
a file says a word of GPUs. Readers who had no part in the rules judged every finding by [written
words](../../benchmarks/abroad-judging.md): what a repository pins, says that it means, or cannot suffer from
is debatable. Of one look the figures are small; those of the two before it, by the same words, stand
[below](#every-first-look)."""
"""Of the newest batch: how it came about, and what stands out in it."""
LOST = """ at their line. Half of these are said at another line, once for a
dashboard, or under another rule; most of the others were notes about a later release of what is pinned there
to an older one, or about queues without GPUs"""
"""Why true findings of before are not said any more."""

HEAD = """\
# Lint abroad

`gpuyard lint` on {all} public repositories whose authors have never seen it. Every finding was judged by
somebody who read the file around it, against upstream's own documentation and code where that decides
([how](../../benchmarks/abroad-judging.md)). The data are [the
repositories](../../benchmarks/abroad-repositories.csv) and [the
verdicts](../../benchmarks/abroad-verdicts.csv), each with its place and the reason; this page is made of
them by `python benchmarks/abroad.py`.

- **true**: what is said is right, and of use to who owns the file. **debatable**: right, but meant so,
  without harm there, or off the subject of GPUs. **false**: wrong of that file, or refused where nothing
  fails and nobody is in danger.
- Findings in samples (examples, data of tests, copies of others' work, old documentation) never fail
  anything and are counted apart, as `gpuyard lint` shows them. So are [choices](../guides/lint.md#choices):
  what is right and can be defended.
- The goals: of refusals 90 % true, of all 80 %, false at most 5 %. A share is rounded down.

## What to expect of yours

{repositories} repositories, {files:,} files, {resources:,} resources, that nobody had looked at before,
linted once with the rules as the mends before had left them{last}

| | findings | true | debatable | false | of them true |
|---|---:|---:|---:|---:|---:|
"""
SECOND = """
{second}.

"""
EVERY_BATCH = """
### Every first look

Repositories that were fetched after the rules were written, linted once, and judged; by what was not true
the rules were mended before the next. What was found then stands here, whatever the rules say today; one
repository with a habit decides most that is bad here, as ten copies of an old manifest do.

| | repositories | files | refusals | of them true | findings | of them true | false | how chosen; what was mended by it |
|---|---:|---:|---:|---:|---:|---:|---:|---|
"""  # noqa: E501  a row of a table is one line
STRICT_HEAD = """
## What is said today, strictly judged

Until the seventeenth first look it was not written down what is true and what can be argued about, and who
judged knew the rules. The rules as they are on the {new} repositories of that look and the later ones, and on
{sampled} drawn by lot from all others of which something is said, {repositories} in all, every finding judged
by those words. These rules were mended by these files.

| | findings | true | debatable | false | of them true |
|---|---:|---:|---:|---:|---:|
"""
TODAY_HEAD = """
## What is said of all of them today

The rules as they are on {again} of the {all}, as far as a copy was to be had: {files:,} files,
{resources:,} resources; what was not judged by the words has the verdict that it had. {kept} of the {true}
true findings of all first looks are still said, {apart} stand apart now, as a choice or in a sample, and
{lost} are not said{why}.

| | findings | true | debatable | false | of them true |
|---|---:|---:|---:|---:|---:|
"""
BY_RULE = """
| rule | findings | true | debatable | false | of them true | in samples | true | debatable | false |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|
"""
FOUND = """
## What is refused

Each line is one thing that is said of a repository, with the first of its places; samples are not among
them. The mistakes are those of files that people publish to help others, most of them old: every one of us
makes such, and a line here is no judgement on a project. Where a file has changed since, its commit says
which one was read.

"""
OTHERS = """
## What is not true, or can be argued about

"""
COSTS = """
## What it costs

Seconds are CPU time, user and system, of which a start is half a second. {large} of the repositories have
{least:,} files or more: {rate:.1f} s for each 1,000 of them, the start included, and none more than
{most_rate:.1f} but for {over}. The limit of each is {start:g} s for the start and {thousand:g} s for each
1,000 files; slower: {slow}. The most memory was {largest} MiB ({largest_name}), of {most} that it may take.
Behind the plus is what helm and kustomize cost where they are at hand.

## Repositories

What is said today; where no copy was to be had any more, what was said at the first look, without seconds.

| repository | commit | files | resources | refuse, warn, note | true, debatable, false | in samples | s | MiB |
|---|---|---:|---:|---:|---:|---:|---:|---:|
"""  # noqa: E501  a row of a table is one line


def page() -> str:
    """The whole page."""
    rows, all_ = judged(), repositories()
    last = max(BATCHES)
    new = [each for each in all_ if each.batch == last]
    names = {each.name for each in new}
    first = [row for row in rows if row.repository in names and row.when in {THEN, BOTH}]
    now = list(said_today(rows, all_))
    own = [row for row in now if row.counts]
    return "".join(
        [
            HEAD.format(
                all=len(all_),
                repositories=len(new),
                files=sum(each.files for each in new),
                resources=sum(each.resources for each in new),
                last=LAST_BATCH,
            ),
            *_totals(first),
            SECOND.format(second=second_reading(rows, _named_of(all_, FIRST_BY_WORDS))),
            "What is not true there, or can be argued about:\n\n",
            *_lines([row for row in first if row.counts and row.verdict != TRUE]),
            EVERY_BATCH,
            *_first_looks(all_, rows),
            *_strictly(_named_of(all_, *(each for each in BATCHES if each >= FIRST_BY_WORDS)), now),
            *_today(all_, rows, now),
            BY_RULE,
            *_by_rule(own, [row for row in now if row.sample]),
            FOUND,
            *_lines([row for row in own if row.severity == "refuse" and row.verdict == TRUE]),
            OTHERS,
            *_lines([row for row in own if row.verdict != TRUE]),
            *_costs(all_),
            *_each(all_, rows),
        ]
    )


def _named_of(all_: Iterable[Repository], *batches: int) -> set[str]:
    return {each.name for each in all_ if each.batch in batches}


def said_today(rows: Iterable[Judged], all_: Iterable[Repository]) -> Iterator[Judged]:
    """What the rules as they are say, of repositories that they were run on."""
    again = {each.name for each in all_ if each.again}
    return (row for row in rows if row.repository in again and row.when != THEN)


def share(part: int, whole: int) -> str:
    """In percent, rounded down: a goal that is missed by a little is missed."""
    return f"{part * 100 // whole} %" if whole else "–"


def _cells(rows: Sequence[Judged]) -> str:
    found = count(rows)
    whole = found.total()
    shown = [str(found[word]) for word in WORDS]
    return " | ".join([str(whole), *shown, share(found[TRUE], whole)])


def _totals(rows: Sequence[Judged]) -> Iterator[str]:
    own = [row for row in rows if row.counts]
    for severity in SEVERITIES:
        yield f"| {severity} | {_cells([row for row in own if row.severity == severity])} |\n"
    yield f"| **all** | {_cells(own)} |\n"
    yield f"| in samples, apart | {_cells([row for row in rows if row.sample])} |\n"
    choices = [row for row in rows if row.choice and not row.sample]
    yield f"| choices, apart | {_cells(choices)} |\n"


def _first_looks(all_: Sequence[Repository], rows: Sequence[Judged]) -> Iterator[str]:
    for batch, told in BATCHES.items():
        new = [each for each in all_ if each.batch == batch]
        names = {each.name for each in new}
        own = [
            row
            for row in rows
            if row.repository in names and row.counts and row.when in {THEN, BOTH}
        ]
        refused = count(row for row in own if row.severity == "refuse")
        found = count(own)
        cells: tuple[object, ...] = (
            batch,
            len(new),
            f"{sum(each.files for each in new):,}",
            refused.total(),
            share(refused[TRUE], refused.total()),
            found.total(),
            share(found[TRUE], found.total()),
            share(found[FALSE], found.total()),
            told,
        )
        yield f"| {' | '.join(map(str, cells))} |\n"


def _strictly(new: Collection[str], now: Sequence[Judged]) -> Iterator[str]:
    lax = {row.repository for row in now if row.counts and not row.strict}
    strict = [row for row in now if row.strict and row.repository not in lax]
    sampled = {row.repository for row in strict} - set(new)
    repositories = len(new) + len(sampled)
    yield STRICT_HEAD.format(new=len(new), sampled=len(sampled), repositories=repositories)
    yield from _totals(strict)


def _today(
    all_: Sequence[Repository], rows: Sequence[Judged], now: Sequence[Judged]
) -> Iterator[str]:
    again = [each for each in all_ if each.again]
    true, kept, apart = still_said(rows, all_)
    yield TODAY_HEAD.format(
        again=len(again),
        all=len(all_),
        files=sum(each.files for each in again),
        resources=sum(each.resources for each in again),
        true=true,
        kept=kept,
        apart=apart,
        lost=true - kept - apart,
        why=LOST,
    )
    yield from _totals(now)


def still_said(rows: Iterable[Judged], all_: Iterable[Repository]) -> tuple[int, int, int]:
    """Of the true findings of first looks: how many, how many the rules say today, and say apart.

    By rule, file and line: words may be better today.
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


def second_reading(rows: Iterable[Judged], unclear: Collection[str]) -> str:
    """How far it agrees: since the words are clear, at the first look that was judged by some, and before."""
    drawn = [row for row in rows if row.drawn]
    at_first = [
        row for row in drawn if row.strict and row.repository in unclear and row.when != TODAY
    ]
    since = [row for row in drawn if row.strict and row not in at_first]
    before = [row for row in drawn if not row.strict]
    return (
        "Somebody else reads half of the rows again, which a fixed seed draws, without knowing the"
        f" verdicts: {_alike(since)}. At the seventeenth look, by which the words were made clearer:"
        f" {_alike(at_first)}. Before it was written down how one judges, it was a tenth of them:"
        f" {_alike(before)}"
    )


def _alike(drawn: Sequence[Judged]) -> str:
    read = [row for row in drawn if row.second != DRAWN]
    if not read:
        return f"{len(drawn)} rows are drawn, none has been read yet"
    other = [row for row in read if row.second != row.verdict]
    alike = len(read) - len(other)
    falsely = sum(FALSE in {row.second, row.verdict} for row in other)
    return (
        f"of {len(drawn)} rows {len(read)} are read, {alike} with the same verdict,"
        f" {share(alike, len(read))}; {len(other) - falsely} differ on whether it can be argued about,"
        f" {falsely} on whether it is false"
    )


def _by_rule(own: Sequence[Judged], samples: Sequence[Judged]) -> Iterator[str]:
    for rule in sorted({row.rule for row in (*own, *samples)}):
        there = count(row for row in samples if row.rule == rule)
        shown = [there.total(), *(there[word] for word in WORDS)]
        mine = _cells([row for row in own if row.rule == rule])
        yield f"| {rule} | {mine} | {' | '.join(map(str, shown))} |\n"


def _lines(rows: Iterable[Judged]) -> Iterator[str]:
    of = {each.name: each for each in repositories()}
    for row in sorted(rows, key=lambda row: (row.verdict, row.rule, row.repository.lower())):
        file, _, line = row.places[0].rpartition(":")
        link = f"https://github.com/{row.repository}/blob/{of[row.repository].commit}/{quote(file)}#L{line}"
        more = f" and {len(row.places) - 1} more" if len(row.places) > 1 else ""
        word = "" if row.verdict == TRUE else f"{row.verdict}, "
        said = row.problem.replace("<", "&lt;").replace("|", "\\|")
        yield f"- {row.rule} [{row.repository}]({link}){more}: “{said}” — {word}{row.why}\n"


def _costs(all_: Sequence[Repository]) -> Iterator[str]:
    again = [each for each in all_ if each.again]
    large = [each for each in again if each.files >= LARGE]
    over = [each for each in large if _rate(each) > PER_THOUSAND]
    most = max(again, key=lambda each: each.mebibytes)
    yield COSTS.format(
        large=len(large),
        least=LARGE,
        rate=1000 * sum(each.seconds for each in large) / sum(each.files for each in large),
        most_rate=max(_rate(each) for each in large if each not in over),
        over=_named(over),
        start=START,
        thousand=PER_THOUSAND,
        slow=_named([each for each in again if each.slow]),
        largest=most.mebibytes,
        largest_name=most.name,
        most=MOST_MEBIBYTES,
    )


def _rate(each: Repository) -> float:
    return 1000 * each.seconds / each.files


def _named(some: Iterable[Repository]) -> str:
    told = [f"{each.name} ({each.seconds:g} s, {each.files:,} files)" for each in some]
    return " and ".join(told) or "none"


def _each(all_: Sequence[Repository], rows: Sequence[Judged]) -> Iterator[str]:
    for each in all_:
        said = THEN if each.again else TODAY
        own = [row for row in rows if row.repository == each.name and row.when != said]
        here = [row for row in own if row.counts]
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
            count(row for row in own if row.sample).total(),
            f"{each.seconds} + {each.programs}" if each.again else "",
            each.mebibytes if each.again else "",
        )
        yield f"| {' | '.join(map(str, cells))} |\n"


def _slashed(numbers: Iterable[int]) -> str:
    return " / ".join(map(str, numbers))
