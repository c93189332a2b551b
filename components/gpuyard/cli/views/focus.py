"""The charges of a statement as rows with the columns of FOCUS 1.2, the FinOps Open Cost and Usage Specification.

The platform charges its teams, so it is the issuer: a team is a sub-account. All 21 mandatory columns are there; columns of
our own start with `x_`, as the specification demands.
"""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

from gpuyard.cli.views.documents import iso_time
from gpuyard.plan.records import PlatformPlan
from gpuyard.usage.hours import HOUR
from gpuyard.usage.statement import TEAM_PARTS, UNCOVERED, Charge, Statement

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
_PROVIDERS = {"aws": "AWS", "gcp": "Google Cloud"}
_FORMULA = ("=", "+", "-", "@")


def focus_rows(made: Statement, plan: PlatformPlan) -> list[dict[str, Any]]:
    """One row for each charge; the columns in the order of their names."""
    scale = float(made.cents / 100 / made.plan_usd) if made.plan_usd else 1.0
    return [dict(sorted(_row(charge, made, plan, scale))) for charge in made.charges]


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


def _row(
    charge: Charge, made: Statement, plan: PlatformPlan, scale: float
) -> Iterator[tuple[str, Any]]:
    start, end = (iso_time(hour * HOUR) for hour in (made.month.start, made.month.end))
    provider = _PROVIDERS.get(plan.cloud, plan.name)
    cost, listed = charge.cents / 100, round(float(charge.usd), 6)
    yield from {
        "BillingAccountId": plan.name,
        "BillingAccountName": plan.name,
        "BillingCurrency": "USD",
        "BillingPeriodStart": start,
        "BillingPeriodEnd": end,
        "ChargePeriodStart": start,
        "ChargePeriodEnd": end,
        "ChargeCategory": "Usage" if charge.part in _DESCRIPTIONS_OF_USE else "Adjustment",
        "ChargeClass": None,
        "ChargeDescription": _DESCRIPTIONS.get(charge.part, charge.part),
        "BilledCost": cost,
        "EffectiveCost": cost,
        "ContractedCost": listed,
        "ListCost": listed,
        "PricingQuantity": _quantity(charge),
        "PricingUnit": "GPU-Hours" if charge.gpu_hours is not None else None,
        "ConsumedQuantity": _quantity(charge),
        "ConsumedUnit": "GPU-Hours" if charge.gpu_hours is not None else None,
        "InvoiceIssuerName": plan.name,
        "ProviderName": provider,
        "PublisherName": provider,
        "ServiceCategory": "Compute",
        "ServiceName": "GPU platform",
        "ResourceId": charge.pool or None,
        "ResourceName": charge.pool or None,
        "ResourceType": "GPU pool" if charge.pool in {p.name for p in plan.pools} else None,
        "SubAccountId": charge.team or None,
        "SubAccountName": charge.team or None,
        "Tags": _tags(charge),
        "x_Part": charge.part,
        "x_PriceFactor": round(scale, 9),
    }.items()


_DESCRIPTIONS_OF_USE = _DESCRIPTIONS.keys() - {"remainder", UNCOVERED}


def _quantity(charge: Charge) -> float | None:
    return None if charge.gpu_hours is None else round(charge.gpu_hours, 6)


def _tags(charge: Charge) -> dict[str, str]:
    labels = {"pool": charge.pool, "team": charge.team, "class": charge.workload_class}
    is_of_team = charge.part in TEAM_PARTS
    return {
        f"gpuyard.dev/{name}": value
        for name, value in labels.items()
        if value and (is_of_team or name == "pool")
    }
