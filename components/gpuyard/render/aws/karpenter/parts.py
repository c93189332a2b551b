"""Karpenter's AWS resources: its identity, that of its nodes, and its queue of instance events."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpuyard.plan.capacity.scaling import installs_karpenter
from gpuyard.plan.records import CapacityOption, PlatformPlan, PoolPlan
from gpuyard.plan.records.late import UnresolvedOutput, unresolved_output_names
from gpuyard.render.aws.karpenter.charts import karpenter_values
from gpuyard.render.aws.karpenter.nodes import PROFILE, QUEUE, karpenter_objects, karpenter_pools
from gpuyard.render.aws.launch import block_purchase, placement_group
from gpuyard.render.aws.place import (
    TAKEN_BY_PODS,
    AwsLocation,
    aws_resource,
    aws_tags,
    pod_identity_association,
    policy_attachment,
    role,
    role_policy,
)
from gpuyard.render.aws.roles import disk_key_rights
from gpuyard.render.cloud.graph import CloudResource
from gpuyard.render.cloud.templates import filled
from gpuyard_core.catalogue.cluster.eks import NODE_POLICIES
from gpuyard_core.catalogue.kubernetes.karpenter import (
    EVENTS,
    QUEUE_SECONDS,
)
from gpuyard_core.names import KARPENTER, KUBE_SYSTEM

_RIGHTS = Path(__file__).parent / "rights.yaml"
_PURPOSES = ("nodes", "role", "cluster", "interruptions", "discovery")
"""The policies of the controller."""


def karpenter_parts(
    plan: PlatformPlan, place: AwsLocation, ready: tuple[str, ...]
) -> list[CloudResource]:
    """All resources in order; none if Karpenter is not installed."""
    if not installs_karpenter(plan.spec):
        return []
    queue = _queue(plan)
    nodes = _nodes(plan, place)
    close = (_placed(plan, pool) for pool in karpenter_pools(plan))
    blocks = (
        _block(plan, pool, option)
        for pool in karpenter_pools(plan)
        for option in pool.capacity_options
    )
    return [
        *nodes,
        *queue,
        *_controller(plan, place, ready),
        *(group for group in close if group is not None),
        *(block for block in blocks if block is not None),
    ]


def karpenter_late_values(plan: PlatformPlan) -> dict[str, Any]:
    """The cloud values in Karpenter's charts and objects, each by its late name."""
    if not installs_karpenter(plan.spec):
        return {}
    named = unresolved_output_names([karpenter_values(plan), karpenter_objects(plan)])
    return {name: UnresolvedOutput(name) for name in sorted(named)}


def _placed(plan: PlatformPlan, pool: Any) -> CloudResource | None:
    """Part of the whole cluster, not of a node group: objects in the cluster refer to it."""
    return placement_group(pool, aws_tags(plan, pool.stable_name, " ".join(pool.owners)), part="")


def _block(plan: PlatformPlan, pool: PoolPlan, option: CapacityOption) -> CloudResource | None:
    """Found by its tag, as Karpenter finds reservations."""
    tags = aws_tags(plan, pool.stable_name, " ".join(pool.owners))
    return block_purchase(
        pool, option, tags, ("karpenter-identity", "karpenter-nodes-enter"), part=""
    )


def _nodes(plan: PlatformPlan, place: AwsLocation) -> tuple[CloudResource, ...]:
    """The role of nodes, their instance profile, and their access entry in the cluster.

    EKS creates and deletes an entry for the role of a node group, so these nodes have their own
    role.
    """
    node_role = role(plan, "karpenter-node-role", "ec2.amazonaws.com")
    rights = [policy_attachment(place, node_role, policy) for policy in NODE_POLICIES]
    profile = aws_resource(plan, PROFILE, after=tuple(each.name for each in rights))
    return (node_role, *rights, profile, aws_resource(plan, "karpenter-nodes-enter"))


def _controller(
    plan: PlatformPlan, place: AwsLocation, ready: tuple[str, ...]
) -> Iterator[CloudResource]:
    """The controller's role, a policy for each task, and the service account that assumes it."""
    controller_role = role(plan, "karpenter-role", "pods.eks.amazonaws.com", TAKEN_BY_PODS)
    yield controller_role
    values = {"platform": plan.name, "partition": place.partition, "region": place.region}
    rights = {what: filled(_RIGHTS, what, **values) for what in _PURPOSES}
    if disks := disk_key_rights(plan, place):
        rights["disks"] = disks
    policies = [
        role_policy(controller_role, f"karpenter-rights-{what}", *statements)
        for what, statements in rights.items()
    ]
    yield from policies
    after = (*(each.name for each in policies), *ready)
    account = (KUBE_SYSTEM, KARPENTER)
    yield pod_identity_association(plan, "karpenter-identity", account, controller_role, after)


def _queue(plan: PlatformPlan) -> list[CloudResource]:
    """A queue for instance events: only EventBridge may send to it, Karpenter receives."""
    queue = aws_resource(plan, QUEUE, seconds=QUEUE_SECONDS)
    results = [queue, aws_resource(plan, f"{QUEUE}-policy")]
    for event, (source, what) in EVENTS.items():
        rule = aws_resource(plan, f"{QUEUE}-rule", event=event, source=source, what=what)
        results += [
            rule,
            aws_resource(plan, f"{QUEUE}-target", event=event, rule=rule.get("name")),
        ]
    return results
