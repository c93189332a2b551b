"""What a query is checked against: pools, the list of counters, recording rules and scrape settings."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.render.observability.series import Series
from gpuyard_core.catalogue.metrics import Measured, Metric, dcgm_default, exporters
from gpuyard_core.catalogue.sharing import SharingMethod

_PROFILED_FROM = (7, 0)
"""The compute capability from which DCGM has profiling metrics (the exporter's default-counters.csv: Volta)."""
MIG, SHARED, DRA = "mig", "shared", "dra"
PROFILING = "profiling"


@dataclass(frozen=True, slots=True)
class MeteredPool:
    """A pool of GPUs as its metrics show it."""

    name: str
    sharing: SharingMethod
    products: frozenset[str] = frozenset({"profiling", "nvlink", "ecc"})
    """What its GPUs have of that which some metrics need."""

    @property
    def modes(self) -> frozenset[str]:
        """The modes of its GPUs that add labels or remove metrics."""
        partitioned = {SharingMethod.MIG, SharingMethod.MIG_TIME_SLICING}
        shared = self.sharing.shares_whole_gpus or self.sharing.is_time_sliced
        found = {
            MIG: self.sharing in partitioned,
            SHARED: shared,
            DRA: self.sharing is SharingMethod.DRA,
        }
        return frozenset(mode for mode, holds in found.items() if holds)

    def lacks(self, metric: Metric) -> bool:
        """Whether its GPUs do not have this metric."""
        return self.lacks_by_mode(metric) or not self.products.issuperset(metric.products.split())

    def lacks_by_mode(self, metric: Metric) -> bool:
        """Whether its GPUs do not have this metric because of their sharing mode."""
        return MIG in self.modes and metric.mig is Measured.NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryScope:
    """What a query is checked against."""

    pools: tuple[MeteredPool, ...]
    counters: frozenset[str] = field(default_factory=lambda: frozenset(dcgm_default()))
    """The list of counters of the DCGM exporter."""
    recorded: Mapping[str, Series] = field(default_factory=dict)
    """The series of recording rules by name."""
    settings: frozenset[str] = frozenset()
    """Settings of exporters that are on, such as enableClusterQueueResources: they enable more metrics."""
    honors_labels: frozenset[str] = field(
        default_factory=lambda: frozenset(
            n for n, each in exporters().items() if each.honors_labels
        )
    )
    """Exporters that are scraped with honorLabels."""
    target_labels: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Labels that relabelings add to the series of each exporter, such as that of the pool."""
    pool_label: str = "pool"
    """The label that relabelings set to the name of the pool."""
    has_virtual_gpus: bool = True
    """Whether the DCGM exporter has one series for each pod on a shared GPU (KUBERNETES_VIRTUAL_GPUS)."""
    replicated: frozenset[str] = frozenset({"kueue"})
    """Exporters of which several replicas report the same gauges (render/kueue/chart.py runs two)."""


def textfile(plan: PlatformPlan) -> str:
    """The folder of nodes in which the validator writes its metrics; empty if it writes none."""
    return plan.validation.textfile if plan.validation is not None else ""


def metered_pools(pools: Iterable[PoolPlan]) -> tuple[MeteredPool, ...]:
    """The pools of a plan that have GPUs."""
    return tuple(
        MeteredPool(pool.name, pool.sharing, _products(pool)) for pool in pools if pool.machine.gpu
    )


def _products(pool: PoolPlan) -> frozenset[str]:
    gpu = pool.machine.gpu
    found = {
        PROFILING: gpu is not None and gpu.compute_capability >= _PROFILED_FROM,
        "nvlink": gpu is not None and gpu.nvlink_gbps > 0,
        "ecc": True,
    }
    return frozenset(name for name, holds in found.items() if holds)
