"""Nodes: fake nodes of a simulated pool, kept alive by a controller; labels of your own nodes.

Only what the cloud and the kubelet's start-up flags determine is set here. Capacity, GPU labels and
MIG state come from the fakes of the node agents, which read this object and never the plan.
"""

from gpuyard.plan.pools.topology import zone_of
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.render.objects import Object, managed_object, taint_object
from gpuyard_core.names import (
    ARCH_LABEL,
    EXISTING_ANNOTATION,
    HOSTNAME_LABEL,
    INSTANCE_TYPE_LABEL,
    OS_LABEL,
    ZONE_LABEL,
    simulated_node_name,
)

FAKE_NODE = {"kwok.x-k8s.io/node": "fake"}
NODE_UID = "gpuyard.dev/node-uid"
PATCH_MANAGER = "pulumi.com/patchFieldManager"
"""Sets the owner of the provider's fields in an unmanaged object; without it the name is random."""


def fake_node_objects(plan: PlatformPlan, pool: PoolPlan) -> list[Object]:
    """Every initial node, assigned to the zones in turn; none if worker clusters have them."""
    if plan.queueing.dispatch:
        return []
    return [_node(plan, pool, index) for index in range(pool.start_nodes)]


def _node(plan: PlatformPlan, pool: PoolPlan, index: int) -> Object:
    name = simulated_node_name(pool.stable_name, index)
    labels = {
        **pool.labels,
        ARCH_LABEL: pool.machine.arch,
        HOSTNAME_LABEL: name,
        INSTANCE_TYPE_LABEL: pool.machine.name,
        OS_LABEL: "linux",
    }
    if pool.zones:
        labels[ZONE_LABEL] = zone_of(pool.zones, index)
    # Changes of its taints by programs in the cluster are overwritten.
    notes = {**FAKE_NODE, "pulumi.com/patchForce": "true"}
    taints = [taint_object(t) for t in plan.initial_taints(pool)]
    return managed_object(
        plan.name, "v1", "Node", name, labels=labels, annotations=notes, spec={"taints": taints}
    )


def node_labels(plan: PlatformPlan, pool: PoolPlan, node: str, uid: str) -> Object:
    """The labels that the plan lists for a pool, on an existing node."""
    owner = label_field_manager(plan.name, pool.stable_name)
    # a node re-created under its name has lost its labels, so the engine must treat it as another
    # one
    notes = {EXISTING_ANNOTATION: "true", NODE_UID: uid, PATCH_MANAGER: owner}
    metadata = {"name": node, "labels": dict(pool.labels), "annotations": notes}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata}


def label_field_manager(platform: str, pool: str = "") -> str:
    """The owner of gpuyard's labels on a pool's nodes; without a pool, the prefix of all owners."""
    # by pool: when a node moves to another pool, the new owner takes over what the old one gives up
    return f"gpuyard.dev/{platform}/{pool}"
