"""The charges of a statement as rows with the columns of FOCUS 1.2, the FinOps Open Cost and Usage Specification.

The platform charges its teams, so it is an internal service: provider, publisher and issuer. A team is a sub-account, and
GPU-hours of teams are the usage. What belongs to no team has no quantity, so it is an adjustment. Columns of our own
start with `x_` and come last.
"""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard_advisor.cli.views.times import iso_time
from gpuyard_advisor.usage.hours import HOUR
from gpuyard_advisor.usage.statement import (
    COMMITMENT,
    NO_POOL,
    SYSTEM,
    TEAM_PARTS,
    Charge,
    Statement,
)

_DESCRIPTIONS = {
    "used": "GPU-hours that were used",
    "allocated_idle": "GPU-hours that were allocated and not used",
    "unallocated": "GPUs that no pod held",
    "overhead": "GPUs that were billed and unavailable",
    "system": "system nodes",
    "commitment": "committed nodes that did not run",
    "remainder": "part of the bill that no cost series explains",
    "uncovered": "part of the invoice for hours without a sample",
}
_WITH_REGIONS = frozenset({"aws", "gcp"})
_UNIT = "GPU-Hours"
_FORMULA = ("=", "+", "-", "@")


def focus_rows(made: Statement, plan: PlatformPlan) -> list[dict[str, Any]]:
    """One row for each charge; the columns in the order of their names."""
    return [dict(sorted(_row(charge, made, plan))) for charge in made.charges]


def focus_csv(made: Statement, plan: PlatformPlan) -> str:
    """The rows as CSV."""
    rows = focus_rows(made, plan)
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    """A value that no spreadsheet takes for a formula."""
    if isinstance(value, dict):
        return json.dumps(value, sort_keys=True)
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _row(charge: Charge, made: Statement, plan: PlatformPlan) -> Iterator[tuple[str, Any]]:
    start, end = (iso_time(hour * HOUR) for hour in (made.month.start, made.month.end))
    region = plan.region if plan.cloud in _WITH_REGIONS else None
    resource = charge.pool if charge.pool not in (NO_POOL, COMMITMENT) else None
    yield from {
        "BillingAccountId": plan.name,
        "BillingAccountName": plan.name,
        "BillingCurrency": "USD",
        "BillingPeriodStart": start,
        "BillingPeriodEnd": end,
        "ChargePeriodStart": start,
        "ChargePeriodEnd": end,
        "ChargeClass": None,
        "ChargeDescription": _DESCRIPTIONS.get(charge.part, charge.part),
        "InvoiceId": f"{plan.name}/{made.month.name}",
        "InvoiceIssuerName": plan.name,
        "ProviderName": plan.name,
        "PublisherName": plan.name,
        "RegionId": region,
        "RegionName": region,
        "ServiceCategory": "Compute",
        "ServiceSubcategory": "Containers",
        "ServiceName": "GPU platform",
        "ResourceId": resource and f"{plan.name}/{resource}",
        "ResourceName": resource,
        "ResourceType": resource and ("node pool" if resource == SYSTEM else "GPU pool"),
        "SubAccountId": charge.team or None,
        "SubAccountName": charge.team or None,
        "Tags": _tags(charge),
        "x_Part": charge.part,
        **_amounts(charge),
    }.items()


def _amounts(charge: Charge) -> dict[str, Any]:
    """The category, the costs, and of usage the quantity and the price that give the listed cost."""
    billed = charge.cents / 100
    listed = max(0.0, round(float(charge.usd), 6))
    hours = None if charge.gpu_hours is None else round(charge.gpu_hours, 6)
    is_usage = hours is not None and (hours > 0 or not listed)
    price = (listed / hours if hours else 0.0) if is_usage else None
    cost = listed if is_usage else billed  # FOCUS: a charge without a unit price
    return {
        "ChargeCategory": "Usage" if is_usage else "Adjustment",
        "ChargeFrequency": "Usage-Based" if is_usage else "Recurring",
        "BilledCost": billed,
        "EffectiveCost": billed,
        "ContractedCost": cost,
        "ContractedUnitPrice": price,
        "ListCost": cost,
        "ListUnitPrice": price,
        "PricingQuantity": hours if is_usage else None,
        "PricingUnit": _UNIT if is_usage else None,
        "ConsumedQuantity": hours if is_usage else None,
        "ConsumedUnit": _UNIT if is_usage else None,
    }


def _tags(charge: Charge) -> dict[str, str]:
    labels = {"pool": charge.pool, "team": charge.team, "class": charge.workload_class}
    is_of_team = charge.part in TEAM_PARTS
    return {
        f"gpuyard.dev/{name}": value
        for name, value in labels.items()
        if value and (is_of_team or name == "pool")
    }
