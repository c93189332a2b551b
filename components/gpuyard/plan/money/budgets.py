"""Limits that the stack file sets itself: on the worst hour, and on every team's guarantees."""

from collections.abc import Mapping
from math import ceil

from gpuyard.findings import Finding, Fix, refuse, warn
from gpuyard.plan.records import Bill
from gpuyard.spec.platform import PlatformSpec

_ROUNDING_USD = 1e-6
"""Sums of prices carry the noise of binary fractions; a limit is broken by more than that."""


def check_budgets(
    spec: PlatformSpec, bill: Bill, monthly: Mapping[int, float | None]
) -> list[Finding]:
    """Limits that the bill breaks, and those that an unknown price may break."""
    findings: list[Finding] = []
    if spec.budget:
        findings += _check_worst(spec.budget.worst_usd_per_hour, bill)
    for index, team in enumerate(spec.teams):
        limit, cost = team.budget_usd_per_month, monthly.get(index)
        path = ("teams", index, "budget_usd_per_month")
        if limit is None:
            continue
        if cost is None:
            findings.append(
                warn(
                    "budget.unproved",
                    path,
                    f"a price that the guarantees of {team.name} need is unknown",
                )
            )
        elif cost - limit > _ROUNDING_USD:
            findings.append(
                refuse(
                    "budget.team",
                    path,
                    f"the guarantees of {team.name} cost {cost:,.0f} $/month at full use",
                    given=f"{limit:,.0f} $/month",
                    allowed=f"at least {_up(cost):,} $/month, or smaller guarantees",
                    fix=Fix(says=f"write {_up(cost)}", at=path, value=_up(cost)),
                )
            )
    return findings


def _check_worst(limit: float, bill: Bill) -> list[Finding]:
    path = ("budget", "worst_usd_per_hour")
    if bill.worst_usd - limit > _ROUNDING_USD:
        dearest = max(bill.lines, key=lambda line: line.worst_usd or 0.0)
        return [
            refuse(
                "budget.worst",
                path,
                f"with every node running the platform costs {bill.worst_usd:,.2f} $/hour;"
                f" the most of it is {dearest.pool}: {dearest.nodes.high} × {dearest.machine}",
                given=f"{limit:,.2f} $/hour",
                allowed=f"at least {bill.worst_usd:,.2f} $/hour, or fewer nodes",
                fix=Fix(says=f"write {_up(bill.worst_usd)}", at=path, value=_up(bill.worst_usd)),
            )
        ]
    if bill.worst.unknown:
        names = ", ".join(bill.worst.unknown)
        return [warn("budget.unproved", path, f"prices are unknown and not in the sum: {names}")]
    return []


def _up(amount: float) -> int:
    """The next whole dollar."""
    return ceil(amount - _ROUNDING_USD)
