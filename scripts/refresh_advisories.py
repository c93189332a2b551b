"""Writes `advisories.csv` and `bulletins.csv` of the catalogue from NVIDIA's security bulletins.

    scripts/refresh_advisories.py [FOLDER]      default: $GPUYARD_UPSTREAM/advisories

The bulletins are CSAF 2.0 files: FOLDER is a clone of https://github.com/NVIDIA/product-security, or has
the files alone. Each CVE lists products that are affected and products that fix it; a product is a platform,
a name and a range as text. Only software of a GPU node in a data centre is kept. What cannot be parsed with
certainty is listed with the reason.
"""

import csv
import io
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from gpuyard_core.catalogue.software.versions import parse_version

TABLES = Path(__file__).resolve().parent.parent / "components/gpuyard_core/catalogue/tables"

COMPONENTS = {
    "Tesla": "driver",
    "NVIDIA Container Toolkit": "container-toolkit",
    "NVIDIA GPU Operator": "gpu-operator",
    "NVIDIA Kubernetes Device Plugin": "device-plugin",
    "NVIDIA MIG Manager": "mig-manager",
    "DCGM": "dcgm",
    "DCGM Exporter": "dcgm-exporter",
    "NVIDIA KAI Scheduler": "kai-scheduler",
}
"""Product names of the bulletins, and gpuyard's names. `Tesla` is the data-centre driver."""

STRICTER = {
    ("5599", "container-toolkit"): (
        "1.17.3",
        (
            "the bulletin names 1.17.1 as fixed, but says that the unsafe default goes away in 1.17.3,"
            " and the GPU Operator's table of CVEs names 1.17.3: the later one is taken"
        ),
    ),
}
"""Where a second source of NVIDIA names a later fix than the bulletin: the later one is taken."""

Products = dict[str, tuple[str, str, str] | None]

_PLATFORM = re.compile(r"^(?:Linux|All)(?:\(R?([\d.]+)\))?$")
_RANGE = re.compile(
    r"^(?:all(?: drivers?)? versions? (?P<how>prior to|up to and including)|0\.0 +(?P<to>to)) "
    r"v?(?P<version>\d+(?:\.\d+)+)(?: \((?P<only>.+)\))?$",
    re.IGNORECASE,
)


@dataclass(frozen=True, order=True)
class Range:
    """One branch of one component that a CVE affects, and the release that fixes it."""

    branch: str
    """A driver branch, or `*` where the component has one line of releases."""
    bound: str
    """`<` before, or `<=` up to and including, then the version."""
    fixed: str

    def __str__(self) -> str:
        same = self.bound == f"<{self.fixed}"
        return f"{self.branch}{self.bound}" if same else f"{self.branch}{self.bound}:{self.fixed}"


@dataclass(frozen=True, order=True)
class Row:
    """One CVE in one component, in every branch of it."""

    date: str
    bulletin: str
    cve: str
    component: str
    score: str
    ranges: tuple[Range, ...]

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of its line."""
        score, ranges = self.score.replace("-", ""), " ".join(map(str, self.ranges))
        return (self.bulletin, self.date, self.cve, score, self.component, ranges)


@dataclass(frozen=True, order=True)
class Remark:
    """A note on a bulletin's data for a component."""

    bulletin: str
    component: str
    text: str


def csaf_files(folder: Path) -> list[Path]:
    """The bulletins by number: `ID.json` in the folder, or `YEAR/ID/ID.json` as in NVIDIA's repository."""
    results = (path for path in folder.rglob("*.json") if path.stem.isdigit())
    return sorted(results, key=lambda path: int(path.stem))


class Tables:
    """The data of all bulletins of a folder."""

    def __init__(self, folder: Path) -> None:
        self.rows: list[Row] = []
        self.conditions: set[Remark] = set()
        self.doubts: set[Remark] = set()
        self.bulletins: list[str] = []
        for path in csaf_files(folder):
            self._bulletin(json.loads(path.read_text(encoding="utf-8")))

    def _bulletin(self, document: dict[str, Any]) -> None:
        tracking = document["document"]["tracking"]
        bulletin, date = str(tracking["id"]), str(tracking["current_release_date"])[:10]
        products = dict(_products(document["product_tree"]["branches"], ""))
        if not any(products.values()):
            return
        self.bulletins.append(bulletin)
        self._unknown(bulletin, products, document["vulnerabilities"])
        for entry in document["vulnerabilities"]:
            status = entry["product_status"]
            affected = _by_place(products, status.get("known_affected", []))
            fixed = _by_place(products, status.get("fixed", []))
            ranges: dict[str, list[Range]] = {}
            for place in sorted(affected.keys() | fixed.keys()):
                result = self._range(bulletin, place, affected.get(place, []), fixed.get(place, []))
                if result is not None:
                    ranges.setdefault(place[0], []).append(result)
            for component, parts in sorted(ranges.items()):
                self.rows.append(
                    Row(date, bulletin, entry["cve"], component, _score(entry), tuple(parts))
                )

    def _unknown(self, bulletin: str, products: Products, entries: list[dict[str, Any]]) -> None:
        """A product that the bulletin's tree lacks may be a relevant one: never skip it silently."""
        for entry in entries:
            for each in chain.from_iterable(entry["product_status"].values()):
                if each not in products:
                    message = (
                        f"{entry['cve']}: product `{each}` is not in the bulletin's product tree"
                    )
                    self.doubts.add(Remark(bulletin, "?", f"{message}; left out"))

    def _range(
        self, bulletin: str, place: tuple[str, str], affected: list[str], fixed: list[str]
    ) -> Range | None:
        component, branch = place
        read = _RANGE.match(affected[0]) if len(affected) == 1 else None
        fix = _one_version(fixed)
        if read is None or fix is None:
            message = f"affected {_quoted(affected)}, fixed {_quoted(fixed)}"
            self.doubts.add(
                Remark(bulletin, component, f"{message}: not one range and one fix; left out")
            )
            return None
        if read["only"]:
            self.conditions.add(Remark(bulletin, component, read["only"]))
        if (bulletin, component) in STRICTER:
            fix, reason = STRICTER[bulletin, component]
            self.doubts.add(Remark(bulletin, component, reason))
        last, including = read["version"], (read["how"] or "up to").lower() != "prior to"
        if including and parse_version(component, last) >= parse_version(component, fix):
            message = f"`{affected[0]}` is affected and {fix} is fixed: {last} is taken as affected"
            self.doubts.add(Remark(bulletin, component, message))
        return Range(branch, f"{'<=' if including else '<'}{last}", fix)

    def texts(self) -> dict[str, str]:
        """The content of both tables, by file."""
        return {
            "advisories.csv": _csv(
                ("bulletin", "published", "cve", "score", "component", "branches"),
                (row.cells for row in sorted(self.rows)),
            ),
            "bulletins.csv": _csv(("bulletin", "component", "condition", "doubt"), self._remarks()),
        }

    def _remarks(self) -> Iterator[tuple[str, ...]]:
        conditions, doubts = (
            {(each.bulletin, each.component): each.text for each in sorted(remarks)}
            for remarks in (self.conditions, self.doubts)
        )
        for bulletin in self.bulletins:
            keys = sorted({key for key in (*conditions, *doubts) if key[0] == bulletin})
            for key in keys or [(bulletin, "")]:
                yield (*key, conditions.get(key, ""), doubts.get(key, ""))


def _csv(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([columns, *rows])
    return out.getvalue()


def _products(
    branches: list[dict[str, Any]], platform: str
) -> Iterator[tuple[str, tuple[str, str, str] | None]]:
    """Product id to (component, branch, range as text); None for products that are not kept."""
    for branch in branches:
        here = branch["name"] if branch["category"] == "architecture" else platform
        if branch["category"] == "product_version":
            known = _PLATFORM.match(here)
            component = COMPONENTS.get(branch["name"])
            product = branch["product"]
            retained = None
            if known and component:
                line = known[1] if component == "driver" and known[1] else "*"
                retained = (component, line, " ".join(product["name"].split()))
            yield product["product_id"], retained
        yield from _products(branch.get("branches", []), here)


def _by_place(products: Products, ids: list[str]) -> dict[tuple[str, str], list[str]]:
    """The ranges as text by (component, branch); products that are not kept are left out."""
    results: dict[tuple[str, str], list[str]] = {}
    for each in ids:
        if retained := products.get(each):
            component, branch, words = retained
            results.setdefault((component, branch), []).append(words)
    return results


def _quoted(words: list[str]) -> str:
    return ", ".join(f"`{each}`" for each in words) or "nothing"


def _one_version(fixed: list[str]) -> str | None:
    words = fixed[0].removeprefix("v") if len(fixed) == 1 else ""
    return words if re.fullmatch(r"\d+(\.\d+)+", words) else None


def _score(entry: dict[str, Any]) -> str:
    scores = [s["cvss_v3"]["baseScore"] for s in entry.get("scores", []) if "cvss_v3" in s]
    return f"{max(scores):.1f}" if scores else "-"


def generate(name: str, folder: Path) -> str:
    """The content of one of the tables."""
    return Tables(folder).texts()[name]


def main() -> None:
    """Write the tables; print new and doubtful rows."""
    upstream = Path(os.environ.get("GPUYARD_UPSTREAM", "."))
    folder = Path(sys.argv[1]) if sys.argv[1:] else upstream / "advisories"
    if not csaf_files(folder):
        sys.exit(f"no CSAF files in {folder}; give their folder, or set GPUYARD_UPSTREAM")
    tables = Tables(folder)
    for name, text in tables.texts().items():
        (TABLES / name).write_text(text, encoding="utf-8")
    print(f"wrote {TABLES}: {len(tables.rows)} rows of {len(tables.bulletins)} bulletins")
    for doubt in sorted(tables.doubts):
        print(f"in doubt: {doubt.bulletin} {doubt.component}: {doubt.text}")


if __name__ == "__main__":
    main()
