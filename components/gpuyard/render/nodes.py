"""Simulated nodes: what a cloud would make of a pool, as fake nodes that a controller keeps alive.

Only what the cloud and the kubelet's start-up flags decide is set here. Capacity, GPU labels and MIG state
come from the fakes of the node agents, which see this object and never the plan.
"""

from gpuyard.names import (
    ARCH_LABEL,
    HOSTNAME_LABEL,
    INSTANCE_TYPE_LABEL,
    OS_LABEL,
    ZONE_LABEL,
    node_name,
)
from gpuyard.plan.pools.flavor_topology import zone_of
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.render.objects import Object, made, taint_object

FAKE_NODE = {"kwok.x-k8s.io/node": "fake"}


def node_objects(plan: PlatformPlan, pool: PoolPlan) -> list[Object]:
    """Every node that runs from the beginning, dealt over the zones in turn; none where others have them."""
    if plan.queueing.dispatch:
        return []
    return [_node(plan, pool, index) for index in range(pool.start_nodes)]


def _node(plan: PlatformPlan, pool: PoolPlan, index: int) -> Object:
    name = node_name(pool.stable_name, index)
    labels = {
        **pool.labels,
        ARCH_LABEL: pool.machine.arch,
        HOSTNAME_LABEL: name,
        INSTANCE_TYPE_LABEL: pool.machine.name,
        OS_LABEL: "linux",
    }
    if pool.zones:
        labels[ZONE_LABEL] = zone_of(pool.zones, index)
    # What programs in the cluster have done to its taints is no reason to leave them as they are.
    notes = {**FAKE_NODE, "pulumi.com/patchForce": "true"}
    taints = [taint_object(t) for t in plan.starts_with(pool)]
    return made(
        plan.name, "v1", "Node", name, labels=labels, annotations=notes, spec={"taints": taints}
    )
