"""Cost: targets, spot and commitments, and who pays for what."""

from collections.abc import Iterator, Mapping

from gpuyard.plan.records import BillLine
from gpuyard.readiness.autoscaling import no_spot, spot_pools
from gpuyard.readiness.evidence import (
    Observation,
    failing,
    not_applicable,
    observe,
    passing,
    unknown,
)
from gpuyard.readiness.inputs import ClusterCheck, ClusterObjects, Subject, no_teams
from gpuyard.readiness.monitoring import alerts_with

_TARGETS = ("utilisation_percent", "memory_percent", "idle_percent", "wait_p95_minutes")


def _targets(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    for name in _TARGETS:
        value = getattr(subject.plan.spec.targets, name, None)
        wrong = "" if value else "nobody knows what is good enough"
        yield observe(f"plan.spec.targets.{name}", value or "none", wrong)


def _nothing_billed(subject: Subject) -> Iterator[Observation]:
    if subject.plan.simulated:
        yield not_applicable("nothing is billed for simulated nodes")


def _spot_written(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    yield from no_spot(subject)
    for pool in spot_pools(subject):
        below = [option.mode for option in pool.capacity_options if option.mode != "spot"]
        wrong = "" if below else "there is nothing to fall back on"
        yield observe(f"plan.pools.{pool.name}.ladder", ", ".join(below) or "spot alone", wrong)
        yield from _expected_loss(subject, pool.name)


def _expected_loss(subject: Subject, pool: str) -> Iterator[Observation]:
    """What a notice in this pool is expected to lose."""
    where = f"plan.interruption.pools.{pool}.loss"
    planned = subject.plan.interruption
    losses = {each.pool: each.loss for each in planned.pools} if planned else {}
    interruption = subject.plan.spec.queueing.interruption
    if interruption is None or (loss := losses.get(pool)) is None:
        yield unknown("what a team's job loses is not known (queueing.interruption)", where)
        return
    over = loss.expected_minutes > interruption.max_lost_minutes
    wrong = f"it is more than {interruption.max_lost_minutes} minutes" if over else ""
    yield observe(where, f"{loss.expected_minutes:g} minutes expected", wrong)


def _committed(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    yield from _nothing_billed(subject)
    lines = [line for line in subject.plan.bill.lines if line.floor.usd != 0]
    if subject.plan.cloud.value == "none" or not lines:
        yield not_applicable("no node is paid by the hour whatever it does")
    yield from (_covered(line) for line in lines)
    for each in subject.plan.bill.commitments:
        even = each.break_even_percent
        wrong = "" if even is not None else "its price is unknown"
        value = "none" if even is None else f"{even:.0f} % of the time"
        yield observe(f"plan.bill.commitments.{each.machine}: break even", value, wrong)


def _covered(line: BillLine) -> Observation:
    value = f"{line.open_floor:g} of {line.nodes.low} nodes at the price on demand"
    wrong = "they always run, and no commitment pays for them" if line.open_floor else ""
    return observe(f"plan.bill.lines.{line.pool}", value, wrong)


def _showback(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    yield from _nothing_billed(subject)
    yield from no_teams(subject)
    for team in subject.plan.teams:
        value = team.guarantee_usd_per_month
        if value is None:
            yield failing(f"plan.teams.{team.name}", "unknown", "a price is unknown")
        else:
            yield passing(
                f"plan.teams.{team.name}", f"{value:,.0f} $ a month for what it is guaranteed"
            )
    yield unknown("what each has used, nothing of this release measures")


def _budgets(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    yield from _nothing_billed(subject)
    budget = subject.plan.spec.budget
    value = f"{budget.max_usd_per_hour:g} $ an hour" if budget else "none"
    yield observe("plan.spec.budget", value, "" if budget else "the platform has none")
    for team in subject.plan.teams:
        usd = team.budget_usd_per_month
        where = f"plan.teams.{team.name}.budget_usd_per_month"
        yield observe(
            where, "none" if usd is None else f"{usd:,.0f} $", "" if usd else "it has none"
        )
    yield unknown("whether an alert says when one burns: add --live")


def _burning(_: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    yield _alerted(alerts_with(cluster, "budget"), "no alert is about a budget")


def _idle_cost(_: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    yield _alerted(alerts_with(cluster, "idle", "cost"), "no alert is about the cost of idle GPUs")


def _alerted(names: list[str], wrong: str) -> Observation:
    return observe("prometheusrules", ", ".join(names) or "none", "" if names else wrong)


PLANNED: Mapping[str, ClusterCheck] = {
    "CST-01": _targets,
    "CST-03": _spot_written,
    "CST-04": _committed,
    "CST-05": _showback,
    "CST-06": _budgets,
}
LIVE: Mapping[str, ClusterCheck] = {"CST-02": _idle_cost, "CST-06": _burning}
