"""The time until the GPUs of a new node are usable, if the cloud has machines."""

from collections.abc import Iterable
from dataclasses import dataclass

from gpuyard.plan.records import PoolPlan
from gpuyard_core.catalogue.cluster.times import startup_durations
from gpuyard_core.catalogue.software.images import ComponentOwner, SoftwarePart

_MINUTE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class StartupTime:
    """Whole minutes: the minimum rounded down, the maximum rounded up."""

    min_minutes: int
    max_minutes: int

    def __str__(self) -> str:
        """The range, such as `4 to 9 minutes`."""
        return f"{self.min_minutes} to {self.max_minutes} minutes"


def startup_time(pool: PoolPlan) -> StartupTime | None:
    """The startup time of a node; None if it is unknown, or if no cloud sells the node."""
    software = pool.node_software
    if software is None or pool.upgrade is None:  # no cloud creates and replaces the node
        return None
    driver = ComponentOwner(software.owners[SoftwarePart.DRIVER])
    steps = startup_durations(pool.machine.cloud, pool.machine.gpus, driver)
    if not steps:
        return None
    least, most = sum(each.least for each in steps), sum(each.most for each in steps)
    return StartupTime(min_minutes=least // _MINUTE, max_minutes=-(-most // _MINUTE))


def startup_time_range(pools: Iterable[PoolPlan]) -> StartupTime | None:
    """The range over all of these pools; None if one of them is unknown."""
    results = [startup_time(pool) for pool in pools]
    known = [each for each in results if each is not None]
    if not known or len(known) < len(results):
        return None
    return StartupTime(
        min_minutes=min(each.min_minutes for each in known),
        max_minutes=max(each.max_minutes for each in known),
    )
