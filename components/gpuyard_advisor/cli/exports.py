"""Reads the user's Prometheus exports in chunks, or the same samples from a Prometheus."""

import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from gpuyard_advisor.cli.prometheus import Prometheus
from gpuyard_advisor.usage.forecast import DAY, SEASON_WEEKS, WEEK
from gpuyard_advisor.usage.hours import HOUR, HourlyExport, hourly_export
from gpuyard_advisor.usage.samples import Labels, Sample, read_samples
from gpuyard_core.errors import UsageError
from gpuyard_core.local_files import shown_path

_CHUNK = 256 * 1024
_STEP = 300
"""Seconds between two samples of a month that is queried."""
Period = tuple[float, float]
"""Start and end in seconds since 1970."""


def read_export(
    name: str, period: Period | None = None, metrics: Collection[str] = ()
) -> HourlyExport:
    """The hourly series of an export; UsageError with the file and the reason if it is none.

    With a period (start, end) its samples alone are used; with metrics, the series of these names alone.
    """
    path = Path(name)
    try:
        return hourly_export(_of_metrics(read_samples(_chunks(path)), metrics), period)
    except UsageError as error:
        raise UsageError(f"{shown_path(path)}: {error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{shown_path(path)}: not UTF-8") from None
    except OSError as error:
        reason = (error.strerror or "it can't be read").lower()
        raise UsageError(f"{shown_path(path)}: can't be read: {reason}") from None


def query_export(address: str, expression: str) -> HourlyExport:
    """The hourly values of an expression in the weeks that a forecast uses."""
    end = time.time() // HOUR * HOUR
    start = end - (SEASON_WEEKS + 1) * WEEK * HOUR
    return hourly_export(Prometheus(address).query_range(expression, start, end, HOUR))


def query_metrics(address: str, period: Period, metrics: Collection[str]) -> HourlyExport:
    """The series of these names in the period, queried day by day."""
    prometheus = Prometheus(address)
    names = "|".join(sorted(metrics))
    return hourly_export(_daily(prometheus, f'{{__name__=~"{names}"}}', period), period)


def _daily(prometheus: Prometheus, expression: str, period: Period) -> Iterator[Sample]:
    start, end = period
    while start < end:
        stop = min(start + DAY * HOUR, end)
        yield from prometheus.query_range(expression, start, stop - _STEP, _STEP)
        start = stop


def _of_metrics(samples: Iterable[Sample], metrics: Collection[str]) -> Iterator[Sample]:
    """The samples of series with one of these names; all without names."""
    used: dict[Labels, bool] = {}
    for sample in samples:
        labels = sample[0]
        if labels not in used:
            used[labels] = not metrics or dict(labels).get("__name__") in metrics
        if used[labels]:
            yield sample


def _chunks(path: Path) -> Iterator[str]:
    # checked before it is opened, because opening a FIFO blocks
    if path.exists() and not path.is_file():
        raise UsageError("not a file. Give the path of a Prometheus export.")
    with path.open(encoding="utf-8") as file:
        while chunk := file.read(_CHUNK):
            yield chunk
