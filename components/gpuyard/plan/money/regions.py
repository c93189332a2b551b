"""Whether the prices in the bill are those of the platform's region."""

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import Bill
from gpuyard_core.findings import Diagnostic, Fix, format_list, warning


def check_price_regions(draft: Draft) -> list[Diagnostic]:
    """Warn of prices of another region: they differ by a fifth or more."""
    bill, region = draft.bill, draft.region
    if region is None or not bill.elsewhere:
        return []
    where = " and ".join(bill.elsewhere)
    return [
        warning(
            "prices.region",
            ("cloud",),
            f"the platform is in {region.name} ({region.source}), but gpuyard uses prices of {where} for"
            f" {format_list(_machines(bill))}",
            given=f"prices of {where}",
            allowed=f"prices of {region.name}, which the catalogue does not have",
            fix=Fix(
                message="write what you pay under `prices.machines`; `gpuyard check --live` checks whether the"
                " region sells them"
            ),
        )
    ]


def _machines(bill: Bill) -> list[str]:
    """Machines and commitments with a price of another region, each once."""
    elsewhere = set(bill.elsewhere)
    named = [
        line.machine
        for line in bill.lines
        if any(elsewhere.intersection(price.regions) for price in line.prices)
    ]
    named += [c.display_name for c in bill.commitments if c.region in elsewhere]
    return list(dict.fromkeys(named))
