"""The resources of each pod of a workload: those of a shape, or a whole node of a pool."""

from dataclasses import dataclass

from gpuyard.plan.records import PlatformPlan, PoolPlan, ShapePlan
from gpuyard_core.names import CHANNEL_SUFFIX, GPU


@dataclass(frozen=True, slots=True, kw_only=True)
class PodResources:
    """What each pod of a workload has."""

    pool: PoolPlan
    resource: str
    """The extended resource; ignored with a claim."""
    count: int
    cpu: int
    memory_gib: int
    pods: int = 1
    """Pods that communicate."""
    claim: str = ""
    """The ResourceClaimTemplate of its GPUs."""
    channel: str = ""
    """The ResourceClaimTemplate of its NVLink domain."""

    @property
    def is_whole_node(self) -> bool:
        """Whether a pod has all GPUs of its node."""
        return self.resource == GPU and self.count == self.pool.machine.gpus


def shape_resources(plan: PlatformPlan, shape: ShapePlan) -> PodResources:
    """The resources of each pod of a shape, in the pool where it starts."""
    pool = plan.pool(shape.pool)
    per_pod = next(each for each in plan.spec.shapes if each.name == shape.name).per_pod
    claimed = pool.dra is not None
    spans = pool.dra is not None and pool.dra.compute_domains and shape.nodes > 1
    return PodResources(
        pool=pool,
        resource=shape.resource,
        count=shape.per_node,
        cpu=per_pod.cpu if per_pod else pool.cpu_per_gpu * shape.per_node,
        memory_gib=per_pod.memory_gib if per_pod else pool.memory_gib_per_gpu * shape.per_node,
        pods=shape.nodes,
        claim=shape.name if claimed else "",
        channel=f"{shape.name}{CHANNEL_SUFFIX}" if spans else "",
    )


def node_resources(pool: PoolPlan, pods: int = 2) -> PodResources:
    """The resources of a pod that takes a whole node of a pool with whole GPUs."""
    return PodResources(
        pool=pool,
        resource=GPU,
        count=pool.machine.gpus,
        cpu=pool.allocatable.cpu,
        memory_gib=pool.allocatable.memory_gib,
        pods=pods,
    )
