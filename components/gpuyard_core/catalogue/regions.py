"""Prices outside the region of a machine's row; regions without a source have no prices."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from gpuyard_core.catalogue.lists import find_list
from gpuyard_core.catalogue.machines import Machine, Price
from gpuyard_core.catalogue.sources import Source, find_source
from gpuyard_core.catalogue.tables import read_rows

EC2_REGION_LIST = find_source("regions.ec2-region-list")
GCE_REGION_LIST = find_source("regions.gce-region-list")
_LISTS: Mapping[str, Source] = {"aws": EC2_REGION_LIST, "gcp": GCE_REGION_LIST}
ListedPrices = tuple[Price | None, Price | None]
"""The on-demand and the spot price."""


@dataclass(frozen=True, slots=True)
class _Row:
    """Prices of one machine in one region; a machine without a row is not sold there, or no source lists it."""

    cloud: str
    region: str
    machine: str
    on_demand: float | None
    spot: float | None


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
    source = _LISTS[cloud]
    return {
        row.machine: (_price(row.on_demand, source), _price(row.spot, source))
        for row in _rows()
        if (row.cloud, row.region) == (cloud, region)
    }


def _price(usd: float | None, source: Source) -> Price | None:
    return None if usd is None else Price(usd, usd, source)


@cache
def _rows() -> tuple[_Row, ...]:
    return tuple(read_rows("region_prices", _Row))


def listed_regions(cloud: str) -> tuple[str, ...]:
    """Regions with listed prices, in alphabetical order; empty for a cloud without a list."""
    return tuple(sorted({row.region for row in _rows() if row.cloud == cloud}))


_ROW_OF_GCP = "us-central1"
"""The region of the machine rows, which is not in the list of other regions (places.gcp-regions)."""


@cache
def region_names(cloud: str) -> frozenset[str]:
    """All regions of a cloud, including those of other partitions."""
    return frozenset(
        find_list("aws-regions") if cloud == "aws" else {*listed_regions("gcp"), _ROW_OF_GCP}
    )
