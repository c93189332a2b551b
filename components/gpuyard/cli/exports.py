"""Reads the user's Prometheus exports in chunks, or the same samples from a Prometheus."""

import time
from collections.abc import Iterator
from pathlib import Path

from gpuyard.cli.prometheus import Prometheus
from gpuyard.errors import UsageError
from gpuyard.local_files import shown_path
from gpuyard.usage.forecast import SEASON_WEEKS, WEEK
from gpuyard.usage.hours import HOUR, HourlyExport, hourly_export
from gpuyard.usage.samples import read_samples

_CHUNK = 256 * 1024


def read_export(name: str) -> HourlyExport:
    """The hourly series of an export; UsageError with the file and the reason if it is none."""
    path = Path(name)
    try:
        return hourly_export(read_samples(_chunks(path)))
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


def _chunks(path: Path) -> Iterator[str]:
    # checked before it is opened, because opening a FIFO blocks
    if path.exists() and not path.is_file():
        raise UsageError("not a file. Give the path of a Prometheus export.")
    with path.open(encoding="utf-8") as file:
        while chunk := file.read(_CHUNK):
            yield chunk
