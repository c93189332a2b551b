"""Cost: targets, spot and commitments, and cost allocation."""

from collections.abc import Iterator, Mapping

from gpuyard.plan.records import BillLine
from gpuyard_advisor.readiness.autoscaling import not_applicable_without_spot, spot_pools
from gpuyard_advisor.readiness.evidence import (
    Observation,
    failing,
    not_applicable,
    observe,
    passing,
    unknown,
)
from gpuyard_advisor.readiness.inputs import (
    ClusterCheck,
    ClusterObjects,
    Subject,
    not_applicable_without_teams,
)
from gpuyard_advisor.readiness.monitoring import alerts_with, in_service

_TARGETS = ("utilisation_percent", "memory_percent", "idle_percent", "wait_p95_minutes")


def _targets(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    for name in _TARGETS:
        value = getattr(subject.plan.spec.targets, name, None)
        wrong = "" if value else "no target is set"
        yield observe(f"plan.spec.targets.{name}", value or "none", wrong)


def _nothing_billed(subject: Subject) -> Iterator[Observation]:
    if subject.plan.simulated:
        yield not_applicable("simulated nodes cost nothing")


def _spot_written(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    yield from not_applicable_without_spot(subject)
    for pool in spot_pools(subject):
        below = [option.mode for option in pool.capacity_options if option.mode != "spot"]
        wrong = "" if below else "there is no fallback"
        yield observe(
            f"plan.pools.{pool.name}.capacity_options", ", ".join(below) or "spot alone", wrong
        )
        yield from _expected_loss(subject, pool.name)


def _expected_loss(subject: Subject, pool: str) -> Iterator[Observation]:
    """Work that an interruption in this pool is expected to lose."""
    where = f"plan.interruption.pools.{pool}.loss"
    planned = subject.plan.interruption
    losses = {each.pool: each.loss for each in planned.pools} if planned else {}
    interruption = subject.plan.spec.queueing.interruption
    if interruption is None or (loss := losses.get(pool)) is None:
        yield unknown("the loss of a team's job is unknown (set queueing.interruption)", where)
        return
    over = loss.expected_minutes > interruption.max_lost_minutes
    wrong = f"it is more than {interruption.max_lost_minutes} minutes" if over else ""
    yield observe(where, f"{loss.expected_minutes:g} minutes expected", wrong)


def _committed(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    yield from _nothing_billed(subject)
    lines = [line for line in subject.plan.bill.lines if line.minimum.usd != 0]
    if subject.plan.cloud.value == "none" or not lines:
        yield not_applicable("no node is billed regardless of use")
    yield from (_covered(line) for line in lines)
    for each in subject.plan.bill.commitments:
        even = each.break_even_percent
        wrong = "" if even is not None else "its price is unknown"
        value = "none" if even is None else f"{even:.0f} % of the time"
        yield observe(f"plan.bill.commitments.{each.machine}: break even", value, wrong)


def _covered(line: BillLine) -> Observation:
    value = f"{line.open_minimum:g} of {line.nodes.low} nodes at on-demand price"
    wrong = "these nodes always run without a commitment" if line.open_minimum else ""
    return observe(f"plan.bill.lines.{line.pool}", value, wrong)


def _showback(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    yield from _nothing_billed(subject)
    yield from not_applicable_without_teams(subject)
    for team in subject.plan.teams:
        value = team.guarantee_usd_per_month
        if value is None:
            yield failing(f"plan.teams.{team.name}", "unknown", "a price is unknown")
        else:
            yield passing(f"plan.teams.{team.name}", f"{value:,.0f} $ a month for its guarantee")
    yield unknown("gpuyard does not measure the usage of each team")


def _budgets(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    yield from _nothing_billed(subject)
    budget = subject.plan.spec.budget
    value = f"{budget.max_usd_per_hour:g} $ an hour" if budget else "none"
    yield observe("plan.spec.budget", value, "" if budget else "the platform has no budget")
    for team in subject.plan.teams:
        usd = team.budget_usd_per_month
        where = f"plan.teams.{team.name}.budget_usd_per_month"
        yield observe(
            where, "none" if usd is None else f"{usd:,.0f} $", "" if usd else "it has no budget"
        )
    yield unknown("budget alerts require the cluster: add --live")


def _burning(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    names = alerts_with(cluster, "budget")
    yield from in_service(subject) or [_alerted(names, "no alert covers a budget")]


def _idle_cost(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    names = alerts_with(cluster, "idle", "cost|dollars")
    yield from in_service(subject) or [_alerted(names, "no alert covers the cost of idle GPUs")]


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
