"""Prices outside the region of a machine's row; regions without a source have no prices."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from functools import cache

from gpuyard_core.catalogue.machines import Machine, Price
from gpuyard_core.catalogue.sources import GCE_OFFERS, Source
from gpuyard_core.catalogue.tables.ec2_regions import EC2_REGIONS
from gpuyard_core.catalogue.tables.gce_regions import GCE_REGIONS

EC2_REGION_LIST = Source(
    "tsaol/aws-gpu at 77fcd9f, read from instances.vantage.sh (2026-01-21); its us-east-1 agrees with this catalogue"
    " for every type that both have",
    date(2026, 11, 22),
    verified=False,
    as_of=date(2026, 1, 21),
)
GCE_REGION_LIST = replace(
    GCE_OFFERS,
    title="karpenter-provider-gcp initial-prices.json (all regions, refreshed 2026-08-03)",
    checked_on=date(2026, 11, 22),
)
_LISTS: Mapping[str, tuple[str, Source]] = {
    "aws": (EC2_REGIONS, EC2_REGION_LIST),
    "gcp": (GCE_REGIONS, GCE_REGION_LIST),
}
ListedPrices = tuple[Price | None, Price | None]
"""The on-demand and the spot price."""


def prices_in_region(machine: Machine, region: str | None) -> Machine:
    """The machine with the prices of a region; with those of its row if the region is not listed.

    Prices of two regions are never mixed: if only the on-demand price is listed, the spot price is unknown.
    """
    if region is None or region == machine.region or machine.cloud not in _LISTS:
        return machine
    result = _prices(machine.cloud, region).get(machine.name)
    if result is None:
        return machine
    return replace(machine, region=region, on_demand=result[0], spot=result[1])


@cache
def _prices(cloud: str, region: str) -> Mapping[str, ListedPrices]:
    """Listed prices by machine type."""
    table, source = _LISTS[cloud]
    return {
        name: (_price(on_demand, source), _price(spot, source))
        for where, name, on_demand, spot in _cells(table)
        if where == region
    }


def _price(cell: str, source: Source) -> Price | None:
    return Price(float(cell), float(cell), source) if cell else None


def _cells(table: str) -> Iterator[tuple[str, str, str, str]]:
    """Region, type, on-demand price, and spot price or an empty text."""
    for line in table.strip().splitlines():
        region, *cells = line.split()
        for cell in cells:
            name, _, usd = cell.partition("=")
            on_demand, _, spot = usd.partition("/")
            yield region, name, on_demand, spot


def listed_regions(cloud: str) -> tuple[str, ...]:
    """Regions with listed prices, in alphabetical order; empty for a cloud without a list."""
    table, _ = _LISTS[cloud]
    return tuple(sorted({region for region, *_ in _cells(table)}))
