"""The day that findings about support are judged on. The only clock of a judgement is here."""

import os
from datetime import UTC, date, datetime

from gpuyard.errors import UsageError

TODAY = "GPUYARD_TODAY"
"""A day to judge on instead of today: to repeat a result, or to see what is due by then."""


def today() -> date:
    """The day in GPUYARD_TODAY, else today in UTC; UsageError when it is no day."""
    value = os.environ.get(TODAY)
    if not value:
        return datetime.now(UTC).date()
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise UsageError(
            f"{TODAY}={value} is no day. Write YEAR-MONTH-DAY, as in 2027-03-31."
        ) from None
