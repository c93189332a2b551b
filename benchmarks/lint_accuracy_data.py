"""Stored results of `gpuyard lint` on public repositories: its findings and their verdicts.

lint-repositories.csv has the repositories, their commits, and the cost of linting each.
lint-verdicts.csv has every finding, equal ones of a repository in one row, with its verdict.
No content of the repositories is stored.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

REPOSITORIES = Path(__file__).with_name("lint-repositories.csv")
VERDICTS = Path(__file__).with_name("lint-verdicts.csv")

TRUE, DEBATABLE, FALSE = WORDS = ("true", "debatable", "false")
SEVERITIES = ("error", "warning", "info")
THEN, TODAY, BOTH = WHEN = ("then", "today", "both")
"""The run that reported it: the first run on the repository, the run with today's rules, or both."""
SEED = "a second reading of the mended rules"
ONE_IN = 10
ONE_IN_STRICT = 2
"""Mark of rows judged by the criteria of lint-verdicts.md."""
DRAWN = "drawn"
"""Mark of a row that needs a second reviewer, until that verdict replaces it."""
JOINT = " | "
START, PER_THOUSAND, MOST_MEBIBYTES = 1.2, 2.0, 300
"""Limits of the cost of linting: CPU seconds, and those of a thousand files."""


@dataclass(frozen=True)
class Repository:
    """A public repository at a commit, and the cost of linting it."""

    name: str
    commit: str
    files: int = 0
    resources: int = 0
    known: int = 0
    seconds: float = 0.0
    """CPU, user and system, the start included."""
    programs: float = 0.0
    """Additional CPU seconds of helm and kustomize."""
    mebibytes: int = 0
    batch: int = 0
    """0: used while the rules were written. Above: new repositories, in the order of their download."""
    again: bool = False
    """Whether it was linted with today's rules; else no copy was available any more."""

    @property
    def slow(self) -> bool:
        """Whether it exceeds the limit for its files; repositories that were not linted again are exempt."""
        return self.again and self.seconds > START + PER_THOUSAND * self.files / 1000


@dataclass(frozen=True)
class Judged:
    """Equal findings of one repository, and their verdict."""

    repository: str
    rule: str
    severity: str
    sample: bool
    verdict: str
    why: str
    problem: str
    places: tuple[str, ...]
    second: str = ""
    """Whether a second reviewer must judge it, or the second verdict."""
    choice: bool = False
    """Whether lint itself reports it as advisory, separately."""
    when: str = BOTH
    strict: bool = False
    """Whether it was judged by the criteria of lint-verdicts.md, and not before they existed."""

    @property
    def counts(self) -> bool:
        """Whether it is reported as a finding, not as advisory."""
        return not self.sample and not self.choice

    @property
    def id(self) -> str:
        """Its id for a second reviewer, derived from the finding, not from its verdict."""
        key = "\0".join((SEED, self.repository, self.rule, self.problem, str(self.sample)))
        return hashlib.sha256(key.encode()).hexdigest()

    @property
    def drawn(self) -> bool:
        """Whether it is selected for a second review; the same in every run.

        Findings of later runs could not be selected; advisory ones were not judged by the strict criteria.
        """
        there = self.counts if self.strict else self.when != TODAY
        return there and int(self.id, 16) % (ONE_IN_STRICT if self.strict else ONE_IN) == 0


def repositories() -> list[Repository]:
    """Every repository, by name."""
    with REPOSITORIES.open(encoding="utf-8", newline="") as file:
        return [_repository(each) for each in csv.DictReader(file)]


def _repository(cells: dict[str, str]) -> Repository:
    whole = {
        name: int(cells[name]) for name in ("files", "resources", "known", "mebibytes", "batch")
    }
    return Repository(
        cells["name"],
        cells["commit"],
        **whole,
        seconds=float(cells["seconds"]),
        programs=float(cells["programs"]),
        again=cells["again"] == "yes",
    )


def judged() -> list[Judged]:
    """Every row of the verdicts."""
    with VERDICTS.open(encoding="utf-8", newline="") as file:
        return [
            Judged(
                **{
                    **each,
                    "sample": each["sample"] == "yes",
                    "choice": each["choice"] == "yes",
                    "strict": each.get("strict") == "yes",
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
            yes = ("sample", "choice", "strict")
            said = {name: "yes" if vars(each)[name] else "no" for name in yes}
            cells = {**vars(each), **said, "second": second}
            writer.writerow({**cells, "places": JOINT.join(each.places)})
    with REPOSITORIES.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(Repository.__dataclass_fields__), lineterminator="\n")
        writer.writeheader()
        for cost in sorted(costs, key=lambda r: r.name.lower()):
            writer.writerow({**vars(cost), "again": "yes" if cost.again else "no"})


def take_second(file: Path) -> None:
    """Store a second reviewer's verdicts of selected rows, by their ids or prefixes of these.

    Rows that report the same for two reasons, or at two severities, have one id and are judged as one.
    """
    said = json.loads(file.read_text(encoding="utf-8"))
    rows, costs = judged(), repositories()
    drawn = {row.id for row in rows if row.drawn}
    for key, word in said.items():
        if word not in WORDS or sum(each.startswith(key) for each in drawn) != 1:
            raise SystemExit(f"{file}: {key}: {word}: not a selected row, or not a verdict")
    read = {each: word for each in drawn for key, word in said.items() if each.startswith(key)}
    keep([replace(row, second=read.get(row.id, row.second)) for row in rows], costs)


def count(rows: Iterable[Judged]) -> Counter[str]:
    """Findings by verdict."""
    found: Counter[str] = Counter()
    for each in rows:
        found[each.verdict] += len(each.places)
    return found
