"""Summary after `make up`: nodes, teams, and commands to try."""

import shlex
from collections import defaultdict

from gpuyard.plan.records import PlatformPlan, Quota, TeamPlan
from gpuyard.spec.platform import Cloud
from testbed.yard.engine import STACK, make


def summary(
    plan: PlatformPlan,
    kubeconfig: str,
    changed: bool,  # noqa: FBT001
    seconds: float,
    *,
    stack: str = STACK,
) -> str:
    """The last screen of `make up`, in 80 columns."""
    done = "is up" if changed else "was already up; nothing changed"
    lines = ["", f"The platform {plan.name} {done} ({seconds:.0f} s).", ""]
    lines += ["Pools", *_rows(_pools(plan)), ""]
    lines += ["Teams", *_rows(_teams(plan)), ""]
    unassigned = ", ".join(_amount(plan, q) for q in plan.queueing.unassigned)
    if unassigned:
        lines += [f"Unassigned, all teams may borrow: {unassigned}", ""]
    lines += [_bill(plan), f"kubeconfig: {shlex.quote(kubeconfig)}", ""]
    lines += (
        _of_a_stack(stack)
        if stack != "local"
        else [
            f"A shell with gpuyard and pulumi on PATH:  {make('shell', 'local')}",
            "Three things to try:",
            f"  {make('demo', 'local'):<43}  watch jobs queue, and a GPU break",
            f"  edit stacks/Pulumi.local.yaml, {make('up', 'local'):<12}  move a guarantee: only it changes",
            "  gpuyard mig A100-40 3g.20gb:2,1g.5gb:1       in that shell: is it valid?",
            "",
        ]
    )
    return "\n".join(lines) + "\n"


def _of_a_stack(stack: str) -> list[str]:
    return [
        f"A shell with gpuyard, pulumi and the kubeconfig:  {make('shell', stack)}",
        f"To remove all of it:                              {make('down', stack)}",
        "",
    ]


def _rows(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))] if rows else []
    return [
        "  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _pools(plan: PlatformPlan) -> list[tuple[str, ...]]:
    return [
        (
            pool.name,
            f"{pool.start_nodes} × {pool.machine.name}",
            ", ".join(
                f"{a.per_node * pool.start_nodes} {a.unit or 'GPUs'}" for a in pool.advertised
            ),
        )
        for pool in plan.pools
    ]


def _teams(plan: PlatformPlan) -> list[tuple[str, ...]]:
    # One below the other: they do not fit next to each other.
    return [
        row
        for team in plan.teams
        for row in (
            (team.name, f"guaranteed {_amounts(plan, team, borrowed=False)}"),
            ("", f"may borrow {_amounts(plan, team, borrowed=True)}"),
        )
    ]


def _amounts(plan: PlatformPlan, team: TeamPlan, *, borrowed: bool) -> str:
    amounts: dict[str, list[str]] = defaultdict(list)
    for quota in team.quotas:
        if count := quota.borrow if borrowed else quota.nominal:
            amounts[quota.pool].append(f"{count} {_unit(plan, quota)}".rstrip())
    return ", ".join(f"{pool} {' + '.join(parts)}" for pool, parts in amounts.items()) or "nothing"


def _amount(plan: PlatformPlan, quota: Quota) -> str:
    return f"{quota.pool} {quota.nominal} {_unit(plan, quota)}".rstrip()


def _unit(plan: PlatformPlan, quota: Quota) -> str:
    return next(a.unit for a in plan.pool(quota.pool).advertised if a.resource == quota.resource)


def _bill(plan: PlatformPlan) -> str:
    bill = plan.bill
    fake = bill.simulated or plan.cloud in {Cloud.AWS, Cloud.GCP}
    what = "Cost: none, the nodes are fake; the same machines would cost" if fake else "Bill:"
    low, high = bill.minimum.known_usd, bill.maximum.known_usd
    worst = f" to {high:,.2f}" if high != low else ""
    unknown = f" (price unknown: {', '.join(bill.unknown)})" if bill.unknown else ""
    amount = f"{low:,.2f}{worst}" if high or not bill.unknown else "unknown"
    return f"{what} {amount} $/hour{unknown}"
