"""The platform in a plan: frozen records of plain values. Everything above renders or registers these."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from gpuyard.plan.records.idle import IdlePlan
from gpuyard.plan.records.interruption import InterruptionPlan
from gpuyard.plan.records.late import Late
from gpuyard.plan.records.money import Bill, BillLine
from gpuyard.plan.records.pools import PoolPlan, Taint
from gpuyard.plan.records.queues import QueueingPlan
from gpuyard.plan.records.storage import NO_STORAGE, DatasetPlan, StoragePlan
from gpuyard.plan.records.teams import TeamPlan
from gpuyard.plan.records.validation import STARTS_WITH, ValidationPlan
from gpuyard.spec.platform import Cloud, PlatformSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorParts:
    """What the GPU Operator is told for all nodes of the cluster."""

    enabled: Mapping[str, bool]
    """By part: driver, toolkit, devicePlugin, migManager."""
    driver: str | None
    """The driver it brings; None when it brings none."""
    settings: Mapping[str, str]
    """Further values of its chart, by path."""
    install: bool
    """Whether its chart is ours to install: nobody else brings it, and some node needs a part of it."""
    namespace: str
    """Where it runs, and reads our configurations."""
    kernel_modules: str
    """Those of its driver: open, proprietary, or auto where its GPUs need both."""
    gdrcopy: bool
    """Whether its driver brings GDRCopy: nodes that talk past the kernel read small messages with it."""
    claims: bool = False
    """Whether it answers claims, by a GPUCluster, in the place of counting GPUs by a ClusterPolicy."""


@dataclass(frozen=True, slots=True)
class ShapePlan:
    """Where a shape can start, and how many nodes that takes."""

    name: str
    pool: str
    resource: str
    per_node: int
    nodes: int
    scales_from_zero: bool
    pods_per_node: int = 1
    """How many such pods one node of the pool holds."""
    bound_by: str = ""
    """CPU or memory, when one of them is used up before the GPUs are."""
    needs: str = ""
    """What the resource was picked for, in words; empty when the shape names it."""
    teams: tuple[str, ...] = ()
    """Who has quota enough for it in that pool; nobody where there are no teams."""
    guaranteed: tuple[str, ...] = ()
    """Of these, whose guarantee alone holds it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformPlan:
    """The derived platform."""

    name: str
    cloud: Cloud
    region: str | None = None
    """Where it is, as the stack file or a zone says; None where neither does."""
    kubernetes: str
    spec: PlatformSpec = field(repr=False)
    cluster_name: str | Late
    system: BillLine | None
    pools: tuple[PoolPlan, ...]
    teams: tuple[TeamPlan, ...]
    queueing: QueueingPlan
    shapes: tuple[ShapePlan, ...]
    bill: Bill
    validation: ValidationPlan | None
    """What becomes of the hardware check; None when none is asked for."""
    operator: OperatorParts | None = None
    """What the GPU Operator is told; None on simulated nodes."""
    idle: IdlePlan | None = None
    """What becomes of idle jobs; None when no team asks for it."""
    interruption: InterruptionPlan | None = None
    """What becomes of gangs whose nodes go; None where none do."""
    storage: StoragePlan = NO_STORAGE
    """Data and checkpoints."""
    software: Mapping[str, str] = field(default_factory=dict)
    """The version of every component: the pinned one, or what the stack file picks."""

    @property
    def simulated(self) -> bool:
        """True when its nodes are fake: nothing is billed, and no program runs on them."""
        return self.cloud is Cloud.SIMULATED

    def pool(self, name: str) -> PoolPlan:
        """The pool of that name; KeyError names those there are."""
        return _named(self.pools, name)

    def startup_taints(self, pool: PoolPlan) -> tuple[Taint, ...]:
        """Those that a node of the pool loses when it is ready for jobs: that of the check, or none."""
        checks = self.validation.pools if self.validation else ()
        waits = any(each.pool == pool.name and each.gate == "taint" for each in checks)
        return (STARTS_WITH,) if waits else ()

    def initial_taints(self, pool: PoolPlan) -> tuple[Taint, ...]:
        """All taints that a node of the pool is made with."""
        return (*pool.taints, *self.startup_taints(pool))

    @property
    def read_by_check(self) -> tuple[DatasetPlan, ...]:
        """Datasets that a node of each pool reads before a deployment ends."""
        floors = self.validation.readings if self.validation else ()
        names = {each.name for each in floors}
        return tuple(each for each in self.storage.datasets if each.name in names)

    def team(self, name: str) -> TeamPlan:
        """The team of that name; KeyError names those there are."""
        return _named(self.teams, name)


_Named = TypeVar("_Named", PoolPlan, TeamPlan)


def _named(items: tuple[_Named, ...], name: str) -> _Named:
    for item in items:
        if item.name == name:
            return item
    raise KeyError(f"{name!r}; there are: {', '.join(i.name for i in items)}")
