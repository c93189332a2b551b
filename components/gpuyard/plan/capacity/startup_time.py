"""How long a node of a pool takes from nothing until its GPUs can be used, where the cloud has machines."""

from collections.abc import Iterable
from dataclasses import dataclass

from gpuyard.catalogue.cluster.times import startup_durations
from gpuyard.catalogue.software.images import ComponentOwner, SoftwarePart
from gpuyard.plan.records import PoolPlan

_MINUTE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class StartupTime:
    """Whole minutes, the least rounded down and the most up."""

    least: int
    most: int

    def __str__(self) -> str:
        """As people say it."""
        return f"{self.least} to {self.most} minutes"


def startup_time(pool: PoolPlan) -> StartupTime | None:
    """None where nobody has said how long, and of nodes that no cloud sells."""
    software = pool.node_software
    if software is None or not any(option.aws or option.gcp for option in pool.capacity_options):
        return None
    driver = ComponentOwner(software.owners[SoftwarePart.DRIVER])
    steps = startup_durations(pool.machine.cloud, pool.machine.gpus, driver)
    if not steps:
        return None
    least, most = sum(each.least for each in steps), sum(each.most for each in steps)
    return StartupTime(least=least // _MINUTE, most=-(-most // _MINUTE))


def slowest(pools: Iterable[PoolPlan]) -> StartupTime | None:
    """From the first node of any of these to the last; None where of one nobody has said it."""
    results = [startup_time(pool) for pool in pools]
    known = [each for each in results if each is not None]
    if not known or len(known) < len(results):
        return None
    return StartupTime(
        least=min(each.least for each in known), most=max(each.most for each in known)
    )
