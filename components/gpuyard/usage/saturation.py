"""When a pool is full, and what the next node costs."""

from dataclasses import dataclass
from math import ceil

from gpuyard.plan.records import PlatformPlan
from gpuyard.spec.platform import HOURS_PER_MONTH
from gpuyard.usage.forecast import DAY, WEEK, Forecast

MAX_WEEKS = 52
"""Weeks ahead in which growth is followed: beyond them a line is no forecast."""


@dataclass(frozen=True, slots=True)
class PoolCapacity:
    """The GPUs of a pool at its maximum, and the price of one more node."""

    pool: str
    gpus: int
    gpus_per_node: int
    usd_per_node: float | None
    """Per hour, in the most expensive capacity option; None if the price is unknown."""


@dataclass(frozen=True, slots=True)
class Saturation:
    """The first hours above the capacity; None: not within the forecast."""

    expected: int | None
    """The first hour whose median is above the capacity."""
    possible: int | None
    """The first hour whose upper bound is."""
    by_growth: int | None
    """The day on which the peak of the week reaches the capacity if the growth continues."""
    nodes: int
    """Nodes more than the maximum that the highest bound of the seven days needs, at least one."""
    usd_per_hour: float | None
    usd_per_month: float | None


def pool_capacities(plan: PlatformPlan) -> dict[str, PoolCapacity]:
    """The capacity of each pool of a plan."""
    prices = {line.pool: line.usd_per_node for line in plan.bill.lines}
    return {
        p.name: PoolCapacity(
            p.name, p.nodes.high * p.machine.gpus, p.machine.gpus, prices.get(p.name)
        )
        for p in plan.pools
    }


def saturation(forecast: Forecast, capacity: PoolCapacity) -> Saturation:
    """When the forecast exceeds the capacity, and what the nodes beyond it cost."""
    tops = [
        (each.hour, each.median if each.upper is None else each.upper) for each in forecast.hours
    ]
    above = max(top for _, top in tops) - capacity.gpus
    nodes = max(1, ceil(above / capacity.gpus_per_node))
    price = capacity.usd_per_node
    return Saturation(
        expected=next((h.hour for h in forecast.hours if h.median > capacity.gpus), None),
        possible=next((hour for hour, top in tops if top > capacity.gpus), None),
        by_growth=_by_growth(forecast, capacity.gpus),
        nodes=nodes,
        usd_per_hour=None if price is None else price * nodes,
        usd_per_month=None if price is None else price * nodes * HOURS_PER_MONTH,
    )


def _by_growth(forecast: Forecast, gpus: int) -> int | None:
    """The start of the day after which the weekly peak is above the capacity."""
    level = forecast.level + forecast.growth_per_week
    peak = max(forecast.hours, key=lambda h: h.median)
    if forecast.growth_per_week <= 0 or level <= 0 or peak.median > gpus:
        return None
    weeks = ceil((gpus / (peak.median / level) - level) / forecast.growth_per_week + 1e-9)
    hour = peak.hour + weeks * WEEK
    return hour - hour % DAY if weeks <= MAX_WEEKS else None
