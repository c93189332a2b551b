"""The platform in a plan: frozen records of plain values. Higher layers render or register them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.plan.records.money import Bill, BillLine
from gpuyard.plan.records.observability import ObservabilityPlan
from gpuyard.plan.records.pools import PoolPlan
from gpuyard.plan.records.queues import QueueingPlan
from gpuyard.plan.records.services import InterruptionPlan, RuntimePlan, ServicePlan, ShapePlan
from gpuyard.plan.records.storage import NO_STORAGE, DatasetPlan, StoragePlan
from gpuyard.plan.records.teams import IdlePlan, TeamPlan
from gpuyard.plan.records.validation import STARTS_WITH, ValidationPlan
from gpuyard.provider import Provider, provider_of
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard_core.manifests.pods import Taint


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorParts:
    """The GPU Operator's settings for all nodes of the cluster."""

    enabled: Mapping[str, bool]
    """By component: driver, toolkit, devicePlugin, migManager."""
    driver: str | None
    """The driver that it installs; None if it installs none."""
    settings: Mapping[str, str]
    """Other values of its chart, by path."""
    install: bool
    """Whether gpuyard installs its chart: the cluster has none, and a node needs one of its components."""
    namespace: str
    """The namespace in which it runs and reads gpuyard's configurations."""
    kernel_modules: str
    """Kernel modules of its driver: open, proprietary, or auto if the GPUs need both."""
    gdrcopy: bool
    """Whether its driver includes GDRCopy: nodes with an RDMA fabric read small messages with it."""
    claims: bool = False
    """Whether it serves resource claims with a GPUCluster, instead of extended resources with a ClusterPolicy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformPlan:
    """The derived platform."""

    name: str
    cloud: Cloud
    region: str | None = None
    """Its region, from the stack file or a zone; None if neither names it."""
    kubernetes: str
    spec: PlatformSpec = field(repr=False)
    cluster_name: str | UnresolvedOutput
    system: BillLine | None
    pools: tuple[PoolPlan, ...]
    teams: tuple[TeamPlan, ...]
    queueing: QueueingPlan
    shapes: tuple[ShapePlan, ...]
    bill: Bill
    validation: ValidationPlan | None
    """The hardware validation; None without `validation`."""
    operator: OperatorParts | None = None
    """The GPU Operator's settings; None on simulated nodes."""
    idle: IdlePlan | None = None
    """Idle reclaim; None if no team has `idle`."""
    interruption: InterruptionPlan | None = None
    """How interrupted gangs are requeued; None if no node may be interrupted."""
    observability: ObservabilityPlan | None = None
    """Prometheus and its alerts; None without `observability`."""
    storage: StoragePlan = NO_STORAGE
    """Data and checkpoints."""
    runtimes: tuple[RuntimePlan, ...] = ()
    """Training runtimes of `workloads.training`."""
    services: tuple[ServicePlan, ...] = ()
    """Inference services."""
    software: Mapping[str, str] = field(default_factory=dict)
    """The version of every component: the default, or the one that the stack file pins."""

    @property
    def provider(self) -> Provider:
        """The provider of its cloud."""
        return provider_of(self.cloud)

    @property
    def simulated(self) -> bool:
        """Whether its nodes are simulated: nothing is billed, and no program runs on them."""
        return self.cloud is Cloud.SIMULATED

    def has_addon(self, name: str) -> bool:
        """Whether the cluster has an add-on, installed by gpuyard or before."""
        return self.spec.has_addon(name)

    def pool(self, name: str) -> PoolPlan:
        """The pool with that name; the KeyError lists the known names."""
        return _named(self.pools, name)

    def startup_taints(self, pool: PoolPlan) -> tuple[Taint, ...]:
        """Taints that are removed once a node of the pool is ready for jobs: that of the validation gate, or none."""
        checks = self.validation.pools if self.validation else ()
        waits = any(each.pool == pool.name and each.gate == "taint" for each in checks)
        return (STARTS_WITH,) if waits else ()

    def initial_taints(self, pool: PoolPlan) -> tuple[Taint, ...]:
        """All taints of a new node of the pool."""
        return (*pool.taints, *self.startup_taints(pool))

    @property
    def datasets_read_by_validation(self) -> tuple[DatasetPlan, ...]:
        """Datasets that a node of each pool reads before a deployment ends."""
        readings = self.validation.readings if self.validation else ()
        names = {each.name for each in readings}
        return tuple(each for each in self.storage.datasets if each.name in names)

    def team(self, name: str) -> TeamPlan:
        """The team with that name; the KeyError lists the known names."""
        return _named(self.teams, name)


_Named = TypeVar("_Named", PoolPlan, TeamPlan)


def _named(items: tuple[_Named, ...], name: str) -> _Named:
    for item in items:
        if item.name == name:
            return item
    raise KeyError(f"{name!r}; known names: {', '.join(i.name for i in items)}")
