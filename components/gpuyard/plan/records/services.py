"""Shapes and inference services in a plan: where they start, and the maximum of replicas."""

from dataclasses import dataclass

from gpuyard.spec.sections import Service, ServiceKind
from gpuyard.spec.values import Range


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
    """Whether the team's quota has room for one more replica during a rollout."""

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
