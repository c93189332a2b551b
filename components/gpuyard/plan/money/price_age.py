"""How old the prices in the bill are: list prices change, and a catalogue grows old with its release."""

from collections.abc import Iterator
from datetime import date, timedelta

from gpuyard.findings import Finding, Fix, listed, warn
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import Bill

OLD = timedelta(days=180)
"""Both clouds have changed prices of GPU machines by a third within a year."""


def check_price_age(draft: Draft) -> list[Finding]:
    """Warn of prices older than that; without a day nothing is old, and nobody bills simulated nodes."""
    if draft.today is None or draft.bill.simulated:
        return []
    found = [(what, of) for what, of in _days(draft.bill) if of and draft.today - of > OLD]
    if not found:
        return []
    oldest = min(of for _, of in found)
    what = listed(dict.fromkeys(named for named, _ in found))
    return [
        warn(
            "prices.old",
            ("prices",),
            f"prices of {what} are {(draft.today - oldest).days} days old:"
            " what they cost now may differ",
            given=f"prices of {oldest}",
            allowed=f"prices of the last {OLD.days} days, or your own",
            fix=Fix(says="write what you pay under `prices`, or take a newer release"),
        )
    ]


def _days(bill: Bill) -> Iterator[tuple[str, date | None]]:
    """Everything that the sums are made of, and of what day its price is."""
    for line in bill.lines:
        for price in line.prices:
            yield line.machine, price.as_of
    for promised in bill.commitments:
        years = f"{promised.years} year{'' if promised.years == 1 else 's'}"
        yield f"{promised.machine} for {years}", promised.as_of
    for fee in bill.fees:
        yield f"the {fee.service} cluster", fee.as_of
