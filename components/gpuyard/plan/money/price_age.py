"""How old the prices in the bill are: list prices change, and a catalogue grows old with its release."""

from datetime import timedelta

from gpuyard.findings import Finding, Fix, listed, warn
from gpuyard.plan.draft import Draft

OLD = timedelta(days=180)
"""Both clouds have changed prices of GPU machines by a third within a year."""


def check_price_age(draft: Draft) -> list[Finding]:
    """Warn of prices older than that; without a day nothing is old, and nobody bills simulated nodes."""
    if draft.today is None or draft.bill.simulated:
        return []
    found = {
        line.machine: price.as_of
        for line in draft.bill.lines
        for price in line.prices
        if price.as_of and draft.today - price.as_of > OLD
    }
    if not found:
        return []
    oldest = min(found.values())
    return [
        warn(
            "prices.old",
            ("prices",),
            f"prices of {listed(found)} are {(draft.today - oldest).days} days old:"
            " what they cost now may differ",
            given=f"prices of {oldest}",
            allowed=f"prices of the last {OLD.days} days, or your own",
            fix=Fix(says="write what you pay under `prices.machines`, or take a newer release"),
        )
    ]
