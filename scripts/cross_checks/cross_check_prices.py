"""Writes `tests/catalogue/second/price_second_source.csv`: other price lists for the catalogue's machines.

Run manually, when the catalogue changes; the lists themselves are too large to be checked in:

    git -C google-cloud-pricing-cost-calculator show fd66b26:pricing.yml >pricing.yml
    scripts/cross_checks/cross_check_prices.py pricing.yml aws-gpu/data

The first is one YAML file of Google's prices, the second a folder of JavaScript files of EC2's.
"""

import csv
import io
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from gpuyard.catalogue.machines import MACHINES

TARGET = Path(__file__).resolve().parents[2] / "tests/catalogue/second/price_second_source.csv"
COLUMNS = ("type", "vcpus", "gib", "on_demand", "spot", "reserved_1y", "cud_1y", "cud_3y")
HOURS = 730
"""Hours of a month in the list of Google's prices."""


def google_rows(listed: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """Machines of `compute.instance`, with the prices of us-central1 by the hour."""
    for name, entry in listed["compute"]["instance"].items():
        cost = entry["cost"].get("us-central1") if name in MACHINES else None
        if cost:
            yield {
                "type": name,
                "vcpus": entry["cpu"],
                "gib": f"{entry['ram']:g}",
                "on_demand": _shown(cost.get("hour")),
                "spot": _shown(cost.get("hour_spot")),
                "reserved_1y": "-",
                "cud_1y": _shown(cost.get("month_1y"), HOURS),
                "cud_3y": _shown(cost.get("month_3y"), HOURS),
            }


def amazon_rows(scripts: Iterator[str]) -> Iterator[dict[str, object]]:
    """Machines of the JavaScript arrays, with the prices of us-east-1; spot prices are of one moment."""
    for text in scripts:
        for entry in _entries(text):
            name = entry.get("apiName") or entry["name"]
            prices = entry["pricing"].get("us-east-1")
            if name in MACHINES and prices:
                yield {
                    "type": name,
                    "vcpus": entry["vcpu"],
                    "gib": str(entry["memory"]).partition(" ")[0],
                    "on_demand": _shown(prices.get("onDemand")),
                    "spot": "-",
                    "reserved_1y": _shown(prices.get("reserved")),
                    "cud_1y": "-",
                    "cud_3y": "-",
                }


def _entries(text: str) -> list[dict[str, Any]]:
    """The array of one file; a file without one, such as that of inf2, has no entries."""
    try:
        results: list[dict[str, Any]] = json.loads(text[text.index("[") : text.rindex("]") + 1])
    except ValueError:
        return []
    return results


def _shown(price: float | None, hours: int = 1) -> str:
    return "-" if price is None else f"{price / hours:.4f}"


def table(rows: Iterator[dict[str, object]]) -> str:
    """One line for each machine, in catalogue order."""
    results = {str(row["type"]): row for row in rows}
    out = io.StringIO()
    columns: list[str] = list(COLUMNS)
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(results[name] for name in MACHINES if name in results)
    return out.getvalue()


def main() -> None:
    """Write the file."""
    google, amazon = sys.argv[1:3]
    listed = yaml.load(Path(google).read_text(encoding="utf-8"), yaml.CSafeLoader)
    scripts = (
        path.read_text(encoding="utf-8") for path in sorted(Path(amazon).glob("*_instances.js"))
    )

    def rows() -> Iterator[dict[str, object]]:
        yield from amazon_rows(scripts)
        yield from google_rows(listed)

    TARGET.write_text(table(rows()), encoding="utf-8")
    print(f"wrote {TARGET}")


if __name__ == "__main__":
    main()
