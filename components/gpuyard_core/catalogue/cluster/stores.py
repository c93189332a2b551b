"""File systems of the clouds: sizes, tiers and throughputs on sale; and valid bucket names."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard_core.catalogue.purchasing import ID_FORMATS
from gpuyard_core.catalogue.sources import Source, find_source
from gpuyard_core.catalogue.tables import read_keyed


@dataclass(frozen=True, slots=True)
class SizeBand:
    """Sizes in GiB from `low` to `high`, in steps of `step`."""

    low: int
    high: int
    step: int

    @staticmethod
    def from_cell(cell: str) -> "SizeBand":
        """`1024-9984/256`, for tables."""
        return SizeBand(*map(int, re.split("[-/]", cell)))

    def nearest(self, size: int) -> int:
        """The smallest of these sizes that is large enough, else the largest."""
        if size <= self.low:
            return self.low
        return min(self.low + -(-(size - self.low) // self.step) * self.step, self.high)

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.low}"
        return f"{self.low} to {self.high} in steps of {self.step}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOffer:
    """One offer of a file system."""

    bands: tuple[SizeBand, ...]
    single_zone: bool = True
    name: str = ""
    """The cloud's name for it."""
    source: Source

    def nearest(self, size: int) -> int:
        """The smallest size on sale that is large enough, else the largest."""
        sizes = [band.nearest(size) for band in self.bands]
        return min((each for each in sizes if each >= size), default=max(sizes))

    def __str__(self) -> str:
        return ", or ".join(str(band) for band in self.bands) + " GiB"


@dataclass(frozen=True, slots=True)
class StorePrice:
    """The price of a file system for each purchased GiB, used or not."""

    usd_per_gib_month: float
    source: Source


def _offers(store: str) -> dict[str, StoreOffer]:
    """The offers of one kind of file system, by tier or throughput."""
    rows = read_keyed("store_offers", StoreOffer)
    return {key.partition(".")[2]: offer for key, offer in rows if key.startswith(f"{store}.")}


FSX_LUSTRE: Mapping[str, StoreOffer] = _offers("fsx-lustre")
"""By tier."""
MANAGED_LUSTRE: Mapping[int, StoreOffer] = {
    int(throughput): offer for throughput, offer in _offers("managed-lustre").items()
}
"""Offers by throughput, in MB/s for each TiB; the first and smallest is the default."""
FILESTORE: Mapping[str, StoreOffer] = _offers("filestore")
"""By tier."""
_LUSTRE_USD: Mapping[tuple[str, int | None], float] = {
    ("persistent", 125): 0.145,
    ("scratch", None): 0.140,
}
"""Prices of a GB-month in us-east-1."""


def lustre_price(tier: str, throughput: int | None, region: str | None) -> StorePrice | None:
    """The price of FSx for Lustre; None if no published price was found."""
    usd = _LUSTRE_USD.get((tier, throughput)) if region == "us-east-1" else None
    return None if usd is None else StorePrice(usd, find_source("stores.lustre-price"))


FSX_THROUGHPUTS = (125, 250, 500, 1000)
"""Throughputs of the persistent tier."""

S3_BUCKETS, GCS_BUCKETS = ID_FORMATS["aws.bucket"], ID_FORMATS["gcp.bucket"]
EFS_FILE_SYSTEMS = ID_FORMATS["aws.file-system"]
