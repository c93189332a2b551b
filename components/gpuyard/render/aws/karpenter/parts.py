"""Karpenter's AWS resources: its identity, that of its nodes, and its queue of instance events."""

from collections.abc import Iterator
from typing import Any

from gpuyard.plan.capacity.scaling import installs_karpenter
from gpuyard.plan.records import CapacityOption, PlatformPlan, PoolPlan
from gpuyard.plan.records.late import UnresolvedOutput, unresolved_output_names
from gpuyard.render.aws.disk_key import disk_key_rights
from gpuyard.render.aws.karpenter.charts import karpenter_values
from gpuyard.render.aws.karpenter.nodes import PROFILE, QUEUE, karpenter_objects, karpenter_pools
from gpuyard.render.aws.karpenter.rights import controller_rights
from gpuyard.render.aws.place import (
    AwsLocation,
    document,
    pod_identity_association,
    policy_attachment,
    role,
    statement,
    tags_of,
)
from gpuyard.render.aws.placement import block_purchase, placement_group
from gpuyard.render.aws.roles import TAKEN_BY_PODS
from gpuyard.render.aws.tags import aws_tags
from gpuyard.render.cloud.graph import CloudResource, Json
from gpuyard_core.catalogue.cluster.eks import NODE_POLICIES
from gpuyard_core.catalogue.kubernetes.karpenter import EVENTS, QUEUE_SECONDS, SENDERS
from gpuyard_core.names import KARPENTER, KUBE_SYSTEM


def karpenter_parts(
    plan: PlatformPlan, place: AwsLocation, cluster: CloudResource, ready: tuple[str, ...]
) -> list[CloudResource]:
    """All resources in order; none if Karpenter is not installed."""
    if not installs_karpenter(plan.spec):
        return []
    queue = _queue(plan)
    nodes = _nodes(plan, place, cluster)
    close = (_placed(plan, pool) for pool in karpenter_pools(plan))
    blocks = (
        _block(plan, pool, option)
        for pool in karpenter_pools(plan)
        for option in pool.capacity_options
    )
    return [
        *nodes,
        *queue,
        *_controller(plan, place, cluster, (nodes[0], queue[0]), ready),
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


def _nodes(
    plan: PlatformPlan, place: AwsLocation, cluster: CloudResource
) -> tuple[CloudResource, ...]:
    """The role of nodes, their instance profile, and their access entry in the cluster.

    EKS creates and deletes an entry for the role of a node group, so these nodes have their own
    role.
    """
    node_role = role(plan, "karpenter-node-role", "ec2.amazonaws.com")
    rights = [policy_attachment(place, node_role, policy) for policy in NODE_POLICIES]
    profile = CloudResource(
        kind="aws:iam/instanceProfile:InstanceProfile",
        name=PROFILE,
        inputs={"role": node_role.get("name"), "tags": tags_of(plan)},
        outputs=("name",),
        after=tuple(each.name for each in rights),
    )
    entry = CloudResource(
        kind="aws:eks/accessEntry:AccessEntry",
        name="karpenter-nodes-enter",
        inputs={
            "clusterName": cluster.get("name"),
            "principalArn": node_role.get("arn"),
            "type": "EC2_LINUX",
            "tags": tags_of(plan),
        },
    )
    return (node_role, *rights, profile, entry)


def _controller(
    plan: PlatformPlan,
    place: AwsLocation,
    cluster: CloudResource,
    nodes_and_queue: tuple[CloudResource, CloudResource],
    ready: tuple[str, ...],
) -> Iterator[CloudResource]:
    """The controller's role, a policy for each task, and the service account that assumes it."""
    nodes, queue = nodes_and_queue
    controller_role = role(plan, "karpenter-role", "pods.eks.amazonaws.com", TAKEN_BY_PODS)
    yield controller_role
    rights = {
        **controller_rights(plan.name, place, role=nodes.get("arn"), queue=queue.get("arn")),
        **({"disks": disks} if (disks := disk_key_rights(plan, place)) else {}),
    }
    for what, statements in rights.items():
        yield CloudResource(
            kind="aws:iam/rolePolicy:RolePolicy",
            name=f"karpenter-rights-{what}",
            inputs={"role": controller_role.get("name"), "policy": document(*statements)},
        )
    yield pod_identity_association(
        plan,
        "karpenter-identity",
        cluster.get("name"),
        (KUBE_SYSTEM, KARPENTER),
        controller_role,
        (*(f"karpenter-rights-{what}" for what in rights), *ready),
    )


def _queue(plan: PlatformPlan) -> list[CloudResource]:
    """A queue for instance events: only EventBridge may send to it, Karpenter receives."""
    queue = CloudResource(
        kind="aws:sqs/queue:Queue",
        name=QUEUE,
        inputs={
            "messageRetentionSeconds": QUEUE_SECONDS,
            "sqsManagedSseEnabled": True,
            "tags": tags_of(plan),
        },
        outputs=("arn", "name"),
    )
    unsafe = {"Bool": {"aws:SecureTransport": "false"}}
    policy = CloudResource(
        kind="aws:sqs/queuePolicy:QueuePolicy",
        name=f"{QUEUE}-policy",
        inputs={
            "queueUrl": queue.get("id"),
            "policy": _queue_policy(queue, unsafe),
        },
    )
    results = [queue, policy]
    for word, (source, what) in EVENTS.items():
        rule = CloudResource(
            kind="aws:cloudwatch/eventRule:EventRule",
            name=f"{QUEUE}-{word}",
            inputs={
                "description": f"{what}, for Karpenter of {plan.name}",
                "eventPattern": Json({"source": [source], "detail-type": [what]}),
                "tags": tags_of(plan),
            },
            outputs=("name",),
        )
        target = CloudResource(
            kind="aws:cloudwatch/eventTarget:EventTarget",
            name=f"{QUEUE}-{word}-target",
            inputs={"rule": rule.get("name"), "targetId": KARPENTER, "arn": queue.get("arn")},
            after=(policy.name,),
        )
        results += [rule, target]
    return results


def _queue_policy(queue: CloudResource, unsafe: dict[str, Any]) -> Json:
    arn = queue.get("arn")
    return document(
        statement("sqs:SendMessage", arn, Principal={"Service": list(SENDERS)}),
        {
            **statement("sqs:*", arn, Principal="*", Condition=unsafe),
            "Effect": "Deny",
        },
    )
