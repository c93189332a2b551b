"""Shapes and inference services in a plan: where they start, and the maximum of replicas."""

from dataclasses import dataclass

from gpuyard.plan.records.pools import PoolPlan
from gpuyard.plan.records.queues import Quota
from gpuyard.spec.sections import Framework, Service, ServiceKind
from gpuyard_core.models.values import Range


@dataclass(frozen=True, slots=True)
class ShapePlan:
    """The pool in which a shape can start, and how many nodes it needs."""

    name: str
    pool: str
    resource: str
    per_node: int
    nodes: int
    scales_from_zero: bool
    pods_per_node: int = 1
    """How many of its pods fit on one node of the pool."""
    bound_by: str = ""
    """CPU or memory, if it limits the pods per node before the GPUs do."""
    needs: str = ""
    """The requirement for which the resource was chosen, as text; empty if the shape names the resource."""
    teams: tuple[str, ...] = ()
    """Teams with enough quota for it in that pool; empty without teams."""
    guaranteed: tuple[str, ...] = ()
    """Those of these teams whose guarantee alone is enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A pool for the replicas of a group, and how many of them it and the team's quota hold."""

    pool: PoolPlan
    shape: ShapePlan
    quota: Quota | None
    """The team's quota in the pool; None if it has none."""
    units: int
    """Units of the quota that one replica needs."""

    @property
    def fit_pool(self) -> int:
        """Replicas that fit in the pool with all its nodes."""
        nodes, each = self.pool.nodes.high, self.shape.nodes
        return nodes // each if each > 1 else nodes * self.shape.pods_per_node

    @property
    def fit_guarantee(self) -> int:
        """Replicas that the guarantee covers."""
        return self.quota.nominal // self.units if self.quota else 0

    @property
    def fit_quota(self) -> int:
        """Replicas that guarantee and borrowing limit cover."""
        return (self.quota.nominal + self.quota.borrow) // self.units if self.quota else 0

    @property
    def fit(self) -> int:
        """Replicas that can run at the same time."""
        return min(self.fit_pool, self.fit_quota)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaGroup:
    """Replicas of a service that are equal and scale together."""

    name: str
    """The name of its objects."""
    shape: ShapePlan
    """The shape of a replica, in the pool of this service."""
    kind: ServiceKind
    replicas: Range
    args: tuple[str, ...]
    """The arguments of the container."""
    has_room_for_surge: bool
    """Whether the team's guarantee has room for one more replica during a rollout."""

    @property
    def is_fixed(self) -> bool:
        """Whether it does not scale."""
        return self.replicas.low == self.replicas.high


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicePlan:
    """An inference service."""

    spec: Service
    namespace: str
    priority: str
    """The priority of its pods in the queue."""
    groups: tuple[ReplicaGroup, ...]
    """The service itself; with disaggregated serving, also the replicas for prompts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimePlan:
    """A ClusterTrainingRuntime: one framework on the nodes of one pool."""

    name: str
    """Its name in the cluster, which TrainJobs refer to."""
    framework: Framework
    pool: str
    image: str | None
    """The image of the stack file; None: that of the framework."""
    teams: tuple[str, ...]
    """Teams with quota of the pool's whole GPUs; empty without teams."""
    shape: str | None = None
    """The shape whose claims its pods make; None if they request extended resources."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotDisruption:
    """The work that one interruption costs a job, if the stack file has a checkpoint interval."""

    expected_minutes: float
    """Lost work: half an interval and the checkpoint in progress; 0 if jobs write one at the notice."""
    worst_minutes: float
    gpus: int
    """GPUs of the largest known job of the pool: a shape, else the maximum of the spot capacity option."""

    @property
    def expected_gpu_hours(self) -> float:
        """Expected lost work of all its GPUs, in GPU hours."""
        return self.expected_minutes / 60 * self.gpus


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolInterruption:
    """A pool whose nodes may be interrupted."""

    pool: str
    capacity_options: tuple[str, ...]
    """Its capacity options whose nodes may be interrupted."""
    notice_seconds: int | None
    """Seconds between a spot notice and the end; None without spot, and for machines that no cloud sells."""
    loss: SpotDisruption | None
    """None without spot, and without a checkpoint interval in the stack file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptionPlan:
    """The program that requeues interrupted gangs as a whole and reports nodes of fallback capacity options."""

    image: str
    pools: tuple[PoolInterruption, ...]
    fallback_pools: tuple[str, ...] = ()
    """Pools with several capacity options, whether their nodes may be interrupted or not."""
