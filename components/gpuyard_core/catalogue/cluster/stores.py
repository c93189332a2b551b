"""File systems of the clouds: sizes, tiers and throughputs on sale; and valid bucket names."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard_core.catalogue.purchasing import ID_FORMATS
from gpuyard_core.catalogue.sources import Source, find_source

_LUSTRE = find_source("stores.lustre")
_MANAGED = find_source("stores.managed")
_FILESTORE = find_source("stores.filestore")


_LUSTRE_PRICE = find_source("stores.lustre-price")


@dataclass(frozen=True, slots=True)
class SizeBand:
    """Sizes in GiB from `low` to `high`, in steps of `step`."""

    low: int
    high: int
    step: int

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


def _managed(step: int, until: int, high: int, later: int) -> StoreOffer:
    """An offer with small steps up to a size, and large steps above."""
    more = () if until == high else (SizeBand(-(-until // later) * later, high, later),)
    return StoreOffer(bands=(SizeBand(step, until, step), *more), source=_MANAGED)


_FSX = (SizeBand(1200, 1200, 1200), SizeBand(2400, 2_400_000, 2400))
FSX_LUSTRE: Mapping[str, StoreOffer] = {
    "persistent": StoreOffer(bands=_FSX, name="PERSISTENT_2", source=_LUSTRE),
    "scratch": StoreOffer(bands=_FSX, name="SCRATCH_2", source=_LUSTRE),
}
"""By tier."""
MANAGED_LUSTRE: Mapping[int, StoreOffer] = {
    1000: _managed(9_000, 1_530_000, 10_008_000, 72_000),
    500: _managed(18_000, 3_060_000, 20_016_000, 144_000),
    250: _managed(36_000, 6_120_000, 40_032_000, 288_000),
    125: _managed(72_000, 12_240_000, 12_240_000, 72_000),
}
"""Offers by throughput, in MB/s for each TiB; the first and smallest is the default."""
_BASIC_MOST = 65_433
_GROWING = (SizeBand(1024, 9984, 256), SizeBand(10_240, 102_400, 2560))
FILESTORE: Mapping[str, StoreOffer] = {
    "zonal": StoreOffer(bands=_GROWING, name="ZONAL", source=_FILESTORE),
    "regional": StoreOffer(bands=_GROWING, single_zone=False, name="REGIONAL", source=_FILESTORE),
    "basic-ssd": StoreOffer(
        bands=(SizeBand(2560, _BASIC_MOST, 1),), name="BASIC_SSD", source=_FILESTORE
    ),
    "basic-hdd": StoreOffer(
        bands=(SizeBand(1024, _BASIC_MOST, 1),), name="BASIC_HDD", source=_FILESTORE
    ),
}
"""By tier."""
_LUSTRE_USD: Mapping[tuple[str, int | None], float] = {
    ("persistent", 125): 0.145,
    ("scratch", None): 0.140,
}
"""Prices of a GB-month in us-east-1."""


def lustre_price(tier: str, throughput: int | None, region: str | None) -> StorePrice | None:
    """The price of FSx for Lustre; None if no published price was found."""
    usd = _LUSTRE_USD.get((tier, throughput)) if region == "us-east-1" else None
    return None if usd is None else StorePrice(usd, _LUSTRE_PRICE)


FSX_THROUGHPUTS = (125, 250, 500, 1000)
"""Throughputs of the persistent tier."""

S3_BUCKETS, GCS_BUCKETS = ID_FORMATS["aws.bucket"], ID_FORMATS["gcp.bucket"]
EFS_FILE_SYSTEMS = ID_FORMATS["aws.file-system"]
