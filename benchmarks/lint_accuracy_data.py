"""What is kept of `gpuyard lint` on public repositories: what it said, and what is to be thought of that.

lint-repositories.csv says which repositories at which commits, and what linting each cost.
lint-verdicts.csv has every finding, equal ones of a repository in one row, with its verdict.
Nothing of the repositories themselves is kept.
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
"""When lint said it: as the repository was first looked at, with the rules as they are, or both."""
SEED = "a second reading of the mended rules"
ONE_IN = 10
ONE_IN_STRICT = 2
"""Of what was judged by the words of lint-verdicts.md."""
DRAWN = "drawn"
"""Of a row that somebody else shall read as well, until their verdict stands there."""
JOINT = " | "
START, PER_THOUSAND, MOST_MEBIBYTES = 1.2, 2.0, 300
"""What linting may cost: CPU seconds, and those of a thousand files."""


@dataclass(frozen=True)
class Repository:
    """A public repository at a commit, and what linting it cost."""

    name: str
    commit: str
    files: int = 0
    resources: int = 0
    known: int = 0
    seconds: float = 0.0
    """CPU, user and system, the start included."""
    programs: float = 0.0
    """What helm and kustomize cost besides."""
    mebibytes: int = 0
    batch: int = 0
    """0: looked at while the rules were written. Above: never seen before, in the order of fetching."""
    again: bool = False
    """Whether it was linted with the rules as they are; else no copy was to be had any more."""

    @property
    def slow(self) -> bool:
        """Whether it took longer than its files let one expect; what was not run again is not held to it."""
        return self.again and self.seconds > START + PER_THOUSAND * self.files / 1000


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
    when: str = BOTH
    strict: bool = False
    """Whether it was judged by the words of lint-verdicts.md, and not before these were written."""

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
        """Whether it is among those for a second reading; the same on every run.

        What lint said only later was not there to be drawn from; what stands apart was not judged strictly.
        """
        there = self.counts if self.strict else self.when != TODAY
        return there and int(self.id, 16) % (ONE_IN_STRICT if self.strict else ONE_IN) == 0


def repositories() -> list[Repository]:
    """Every one, by name."""
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
    """Keep what a second reader said of the rows that are drawn, by their ids or the beginnings of these.

    Rows that say the same for two reasons, or at two severities, have one id and are read as one.
    """
    said = json.loads(file.read_text(encoding="utf-8"))
    rows, costs = judged(), repositories()
    drawn = {row.id for row in rows if row.drawn}
    for key, word in said.items():
        if word not in WORDS or sum(each.startswith(key) for each in drawn) != 1:
            raise SystemExit(f"{file}: {key}: {word}: no row that is drawn, or no verdict")
    read = {each: word for each in drawn for key, word in said.items() if each.startswith(key)}
    keep([replace(row, second=read.get(row.id, row.second)) for row in rows], costs)


def count(rows: Iterable[Judged]) -> Counter[str]:
    """Findings by verdict."""
    found: Counter[str] = Counter()
    for each in rows:
        found[each.verdict] += len(each.places)
    return found
