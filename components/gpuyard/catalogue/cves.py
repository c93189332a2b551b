"""Known vulnerabilities of drivers and components, and the lowest versions that have none.

The rows come from NVIDIA's security bulletins through `scripts/refresh_advisories.py`; the table is read
when the first question is asked. It knows what was published up to `newest()`, and nothing later.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from gpuyard.catalogue.software.support import driver_end
from gpuyard.catalogue.software.versions import Version, parse_version
from gpuyard.catalogue.sources import Source

ADVISORIES = Source(
    "NVIDIA/product-security: CSAF files at dbb4ada and, for data-centre drivers on Linux, the tables of bulletin 5861"
    " at 08d1a28, read by scripts/refresh_advisories.py",
    date(2026, 11, 28),
    as_of=date(2026, 9, 30),
)

_BEGINS = {
    ("5857", "dcgm-exporter"): (
        "4.8.0",
        "the bulletin lists all versions, and the endpoints that it is about came with 4.8.0",
    ),
    ("5857", "dcgm"): (
        "4.5.3",
        "the bulletin lists it, and its words are of DCGM Exporter, whose endpoints DCGM itself has not",
    ),
}
"""By bulletin and component: the first version whose code has what the bulletin is about, read tag by tag in
NVIDIA/dcgm-exporter, where no tag up to 4.4.2-4.7.1 says pprof, and in NVIDIA/DCGM, where none up to 4.6.0 has a
server of it. The floors do not count on it."""
_CELL = re.compile(r"(?P<branch>[\d.]+|\*)(?P<how><=?)(?P<bound>[\d.]+)(?::(?P<fixed>[\d.]+))?")


@dataclass(frozen=True, slots=True)
class Advisory:
    """One CVE in one branch of one component."""

    component: str
    branch: str | None
    """The driver's branch; None where a component has one line of releases."""
    cve: str
    score: float | None
    """CVSS 3 base score; None when the bulletin gives none."""
    bulletin: str
    published: date
    """When the bulletin was last changed."""
    bound: str
    including: bool
    """True when the bound itself is affected, False when only what is before it."""
    fixed_in: str
    condition: str | None
    """Affected only then, the bulletin says; it still counts, since settings change."""
    doubt: str | None
    """What the bulletin, or another source, says against itself; the stricter reading counts."""
    introduced: tuple[str, str] | None = None
    """The first version that has in its code what the bulletin is about, and what is said of those before."""

    def precedes(self, version: Version) -> bool:
        """True for a version in the bulletin's range whose code has not yet what the bulletin is about."""
        return self.introduced is not None and version < parse_version(
            self.component, self.introduced[0]
        )

    def affects(self, version: Version) -> bool:
        """True for every version before the fix, and for the bound where that is affected too."""
        bound = parse_version(self.component, self.bound)
        up_to_bound = version <= bound if self.including else version < bound
        return up_to_bound or version < parse_version(self.component, self.fixed_in)


@dataclass(frozen=True, slots=True)
class FixedVersion:
    """Where the versions without a known vulnerability begin."""

    component: str
    version: str
    unaffected_above: bool = False
    """True when `version` itself is in doubt: only what is above it is free of known CVEs."""

    def is_fixed(self, version: str) -> bool:
        """True when a version stands on or above the floor."""
        given, lowest = (parse_version(self.component, v) for v in (version, self.version))
        return given > lowest if self.unaffected_above else given >= lowest

    def __str__(self) -> str:
        return f"above {self.version}" if self.unaffected_above else self.version


@lru_cache(maxsize=1)
def advisories() -> tuple[Advisory, ...]:
    """Every row of the table."""
    from gpuyard.catalogue.tables import advisories as table

    remarks = [
        {(bulletin, component): text for bulletin, component, text in rows}
        for rows in (table.CONDITIONS, table.DOUBTS)
    ]
    lines = (line for line in table.TABLE.strip().splitlines() if not line.startswith("#"))
    return tuple(row for line in lines for row in _rows(line, *remarks))


def _rows(
    line: str, conditions: dict[tuple[str, str], str], doubts: dict[tuple[str, str], str]
) -> Iterator[Advisory]:
    bulletin, published, cve, score, component, *cells = line.split()
    for cell in cells:
        read = _CELL.fullmatch(cell)
        if read is None:
            raise ValueError(f"{cell!r} in the table of advisories is no range")
        yield Advisory(
            component=component,
            branch=None if read["branch"] == "*" else read["branch"],
            cve=cve,
            score=None if score == "-" else float(score),
            bulletin=bulletin,
            published=date.fromisoformat(published),
            bound=read["bound"],
            including=read["how"] == "<=",
            fixed_in=read["fixed"] or read["bound"],
            condition=conditions.get((bulletin, component)),
            doubt=doubts.get((bulletin, component)),
            introduced=_BEGINS.get((bulletin, component)),
        )


def newest() -> date:
    """The date of the newest bulletin in the table."""
    return max(row.published for row in advisories())


def branch_of(component: str, version: str) -> str | None:
    """The branch a version belongs to: 580 for the driver 580.159.03, None for all else."""
    return str(parse_version(component, version).numbers[0]) if component == "driver" else None


def known_vulnerabilities(component: str, version: str) -> tuple[Advisory, ...]:
    """What is published against a version, gravest first.

    Nothing is known about a component, or a branch of the driver, that no bulletin lists; see
    `maintained`. ValueError when the text is no version.
    """
    parsed, branch = parse_version(component, version), branch_of(component, version)
    results = (
        row
        for row in advisories()
        if row.component == component and row.branch == branch and row.affects(parsed)
    )
    return tuple(sorted(results, key=lambda row: (-(row.score or 0), row.cve)))


def minimum_fixed_version(component: str, branch: str | None = None) -> FixedVersion | None:
    """The lowest version of a component (for the driver: of a branch) that no listed CVE affects.

    None when no bulletin lists it, which is not the same as safe.
    """
    rows = [row for row in advisories() if row.component == component and row.branch == branch]
    if not rows:
        return None
    highest = max(rows, key=_end)
    _, above = _end(highest)
    return FixedVersion(
        component, highest.bound if above else highest.fixed_in, unaffected_above=above
    )


def _end(row: Advisory) -> tuple[Version, bool]:
    """Where a row's affected versions end; True with a version that is itself affected."""
    bound = parse_version(row.component, row.bound)
    fixed = parse_version(row.component, row.fixed_in)
    return (bound, True) if row.including and bound >= fixed else (fixed, False)


def maintained(branch: str, today: date | None = None) -> bool | None:
    """Whether the newest driver bulletin still has a fix for a branch; None for a newer branch than it lists.

    A branch that had fixes before and has none in the newest bulletin is taken to have ended: its last
    fix keeps out what was known then, and nothing since. So has one whose day of the end is known and past.
    """
    if driver_end(branch, today):
        return False
    rows = [row for row in advisories() if row.component == "driver"]
    last = max(row.published for row in rows)
    listed = [row.branch for row in rows if row.published == last]
    if branch in listed:
        return True
    return None if all(int(branch) > int(each or 0) for each in listed) else False
