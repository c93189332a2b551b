"""Known vulnerabilities of drivers and components, and the lowest versions without any.

The rows come from NVIDIA's security bulletins through `scripts/refresh_advisories.py`; the table is read on
first use. It contains what was published up to its newest row.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from gpuyard_core.catalogue.software.support import driver_end
from gpuyard_core.catalogue.software.versions import Version, parse_version
from gpuyard_core.catalogue.sources import find_source
from gpuyard_core.catalogue.tables import read_rows

ADVISORIES = find_source("cves.advisories")

_CELL = re.compile(r"(?P<branch>[\d.]+|\*)(?P<how><=?)(?P<bound>[\d.]+)(?::(?P<fixed>[\d.]+))?")


@dataclass(frozen=True, slots=True)
class Advisory:
    """One CVE in one branch of one component."""

    component: str
    branch: str | None
    """The driver's branch; None for a component without branches."""
    cve: str
    score: float | None
    """CVSS 3 base score; None if the bulletin has none."""
    bulletin: str
    published: date
    """The date of the last change of the bulletin."""
    bound: str
    including: bool
    """True if the bound itself is affected, False if only earlier versions are."""
    fixed_in: str
    condition: str | None
    """The condition in the bulletin; gpuyard counts the CVE anyway, because settings change."""
    doubt: str | None
    """A contradiction in the bulletin or with another source; the stricter reading applies."""
    introduced: tuple[str, str] | None = None
    """The first version with the vulnerable code, and the text for earlier versions."""

    def precedes(self, version: Version) -> bool:
        """Whether a version is in the bulletin's range, but precedes the vulnerable code."""
        return self.introduced is not None and version < parse_version(
            self.component, self.introduced[0]
        )

    def affects(self, version: Version) -> bool:
        """Whether a version is before the fix, or is the bound itself if that is affected."""
        bound = parse_version(self.component, self.bound)
        up_to_bound = version <= bound if self.including else version < bound
        return up_to_bound or version < parse_version(self.component, self.fixed_in)


@dataclass(frozen=True, slots=True)
class _Row:
    """One CVE in one component.

    Of its branches, `580<580.95.05` is in branch 580 what is before 580.95.05, the fix; `*<=1.19.0:1.19.1` is of any
    branch up to and including 1.19.0, fixed in 1.19.1.
    """

    bulletin: str
    published: date
    cve: str
    score: float | None
    component: str
    branches: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BulletinRemark:
    """A bulletin that lists a component of a GPU node, and what is to know of its data for one component."""

    bulletin: str
    component: str = ""
    condition: str | None = None
    """Affected only then; the minimum versions do not rely on it."""
    doubt: str | None = None
    """A contradiction to itself or another source, and its resolution."""
    introduced: str = ""
    """The first version with the vulnerable code, read tag by tag in NVIDIA/dcgm-exporter, where no tag up to
    4.4.2-4.7.1 contains pprof, and in NVIDIA/DCGM, where no tag up to 4.6.0 has a server for it. Minimum fixed
    versions do not depend on it."""
    introduced_reason: str = ""


@dataclass(frozen=True, slots=True)
class FixedVersion:
    """The first version without a known vulnerability."""

    component: str
    version: str
    unaffected_above: bool = False
    """True if `version` itself is in doubt: only later versions have no known CVE."""

    def is_fixed(self, version: str) -> bool:
        """Whether a version is at or above the minimum fixed version."""
        given, lowest = (parse_version(self.component, v) for v in (version, self.version))
        return given > lowest if self.unaffected_above else given >= lowest

    def __str__(self) -> str:
        return f"above {self.version}" if self.unaffected_above else self.version


@lru_cache(maxsize=1)
def advisories() -> tuple[Advisory, ...]:
    """Every row of the table."""
    remarks = {(row.bulletin, row.component): row for row in bulletins()}
    return tuple(
        each
        for row in read_rows("advisories", _Row)
        for each in _advisories(row, remarks.get((row.bulletin, row.component)))
    )


def bulletins() -> Iterator[BulletinRemark]:
    """Every bulletin that lists a component of a GPU node, once or once for each remark."""
    return read_rows("bulletins", BulletinRemark)


def _advisories(row: _Row, remark: BulletinRemark | None) -> Iterator[Advisory]:
    for cell in row.branches:
        read = _CELL.fullmatch(cell)
        if read is None:
            raise ValueError(f"{cell!r} in the table of advisories is not a range")
        yield Advisory(
            component=row.component,
            branch=None if read["branch"] == "*" else read["branch"],
            cve=row.cve,
            score=row.score,
            bulletin=row.bulletin,
            published=row.published,
            bound=read["bound"],
            including=read["how"] == "<=",
            fixed_in=read["fixed"] or read["bound"],
            condition=remark.condition if remark else None,
            doubt=remark.doubt if remark else None,
            introduced=(remark.introduced, remark.introduced_reason)
            if remark and remark.introduced
            else None,
        )


def branch_of(component: str, version: str) -> str | None:
    """The branch of a version: 580 for the driver 580.159.03, None for other components."""
    return str(parse_version(component, version).numbers[0]) if component == "driver" else None


def known_vulnerabilities(component: str, version: str) -> tuple[Advisory, ...]:
    """The published vulnerabilities of a version, most severe first.

    Nothing is known about a component, or a branch of the driver, that no bulletin lists; see
    `maintained`. ValueError if the text is not a version.
    """
    parsed, branch = parse_version(component, version), branch_of(component, version)
    results = (
        row
        for row in advisories()
        if row.component == component and row.branch == branch and row.affects(parsed)
    )
    return tuple(sorted(results, key=lambda row: (-(row.score or 0), row.cve)))


def minimum_fixed_version(component: str, branch: str | None = None) -> FixedVersion | None:
    """The lowest version of a component (for the driver: of a branch) without a listed CVE.

    None if no bulletin lists it, which does not mean that it is safe.
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
    """The end of a row's affected versions; True if that version is itself affected."""
    bound = parse_version(row.component, row.bound)
    fixed = parse_version(row.component, row.fixed_in)
    return (bound, True) if row.including and bound >= fixed else (fixed, False)


def is_branch_maintained(branch: str, today: date | None = None) -> bool | None:
    """Whether the newest driver bulletin has a fix for a branch; None for a newer branch than it lists.

    A branch with earlier fixes and none in the newest bulletin counts as ended: its last fix covers only what
    was known then. So does a branch whose known end date is past.
    """
    if driver_end(branch, today):
        return False
    rows = [row for row in advisories() if row.component == "driver"]
    last = max(row.published for row in rows)
    listed = [row.branch for row in rows if row.published == last]
    if branch in listed:
        return True
    return None if all(int(branch) > int(each or 0) for each in listed) else False
