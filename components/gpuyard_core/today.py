"""The date on which calendar findings are evaluated; the only clock of a check."""

import os
from datetime import UTC, date, datetime

from gpuyard_core.errors import UsageError

TODAY = "GPUYARD_TODAY"
"""Environment variable with another date: to repeat a result, or to see what is due by then."""


def today() -> date:
    """The date in GPUYARD_TODAY, otherwise today in UTC; UsageError if it is not a date."""
    value = os.environ.get(TODAY)
    if not value:
        return datetime.now(UTC).date()
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise UsageError(
            f"{TODAY}={value} is not a date. Write YEAR-MONTH-DAY, for example 2027-03-31."
        ) from None
