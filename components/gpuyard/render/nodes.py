"""Nodes: what a cloud would make of a pool, as fake nodes that a controller keeps alive; labels of yours.

Only what the cloud and the kubelet's start-up flags decide is set here. Capacity, GPU labels and MIG state
come from the fakes of the node agents, which see this object and never the plan.
"""

from gpuyard.names import (
    ARCH_LABEL,
    EXISTING_ANNOTATION,
    HOSTNAME_LABEL,
    INSTANCE_TYPE_LABEL,
    OS_LABEL,
    ZONE_LABEL,
    node_name,
)
from gpuyard.plan.pools.flavor_topology import zone_of
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.render.objects import Object, managed_object, taint_object

FAKE_NODE = {"kwok.x-k8s.io/node": "fake"}
NODE_UID = "gpuyard.dev/node-uid"
PATCH_MANAGER = "pulumi.com/patchFieldManager"
"""What the provider's fields of an object of somebody else are owned by; else by a name made up anew."""


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
    taints = [taint_object(t) for t in plan.initial_taints(pool)]
    return managed_object(
        plan.name, "v1", "Node", name, labels=labels, annotations=notes, spec={"taints": taints}
    )


def node_labels(plan: PlatformPlan, pool: PoolPlan, node: str, uid: str) -> Object:
    """The labels that the plan lists for a pool, on a node that exists already."""
    owner = label_field_manager(plan.name, pool.stable_name)
    # one that was made anew under its name has lost its labels: it is another to the engine too
    notes = {EXISTING_ANNOTATION: "true", NODE_UID: uid, PATCH_MANAGER: owner}
    metadata = {"name": node, "labels": dict(pool.labels), "annotations": notes}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata}


def label_field_manager(platform: str, pool: str = "") -> str:
    """Who owns the labels that we put on nodes of a pool; without one, how all owners of a platform begin."""
    # by pool: a node that goes over to another pool loses to one owner what the other gives up
    return f"gpuyard.dev/{platform}/{pool}"
