"""Node groups of a plan: one for each capacity option of a pool, and one for system nodes.

Karpenter creates the nodes of its pools itself: with a node group they would exist twice.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gpuyard.plan.capacity.capacity_options import ec2_purchases
from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import CapacityOption, PlatformPlan, PoolPlan
from gpuyard.render.aws.launch import (
    DISK_GIB,
    NodeBootSettings,
    block_purchase,
    launch_template,
    placement_group,
    purchase_options,
)
from gpuyard.render.aws.place import EksNodeInputs, aws_tags
from gpuyard.render.aws.user_data import pool_user_data, system_user_data
from gpuyard.render.cloud.graph import CloudCall, CloudResource, Joined
from gpuyard.render.cloud.spelling import EFFECTS, fit_name
from gpuyard.render.scaling.priority_expander import option_text
from gpuyard.spec.pools import Scaling
from gpuyard_core.catalogue.kubernetes.autoscalers import TEMPLATE_TAG
from gpuyard_core.catalogue.kubernetes.eks_nodes import (
    AL2023_RELEASES,
    CUSTOM,
    GPU_CONDITION,
    GPU_REPAIRS,
    GROUP_OF_NODE,
    UBUNTU_PARAMETER,
    arch_of,
)
from gpuyard_core.catalogue.kubernetes.karpenter import POOL_OF_NODE
from gpuyard_core.catalogue.machines import MACHINES, Capacity, Machine, find_machine
from gpuyard_core.names import EFA, PLATFORM_LABEL, POOL_LABEL, SYSTEM_POOL

_AUTO_SCALING_GROUP = "resources.0.autoscalingGroups.0.name"
"""The output of a node group with the name of the Auto Scaling group that EKS creates for it."""
_STANDARD = {"amd64": "AL2023_x86_64_STANDARD", "arm64": "AL2023_ARM_64_STANDARD"}
_SYSTEM_DISK_GIB = 100
_DESIRED = "scalingConfig.desiredSize"
_ANY_MACHINE = "m7i.xlarge"


def node_groups(plan: PlatformPlan, foundation: EksNodeInputs) -> tuple[CloudResource, ...]:
    """The node groups of all pools and of the system, each after the resources it needs."""
    results = [*_system(plan, foundation)]
    for pool in node_group_pools(plan):
        results += _pool(plan, pool, foundation)
    return tuple(results)


def node_group_pools(plan: PlatformPlan) -> tuple[PoolPlan, ...]:
    """The pools whose nodes are in node groups."""
    return tuple(pool for pool in plan.pools if pool.scaling is not Scaling.KARPENTER)


def image_calls(plan: PlatformPlan) -> tuple[CloudCall, ...]:
    """Queries for ids of images that EKS does not choose itself, one for each architecture."""
    arches = sorted({p.machine.arch for p in node_group_pools(plan) if _variant(p) == CUSTOM})
    return tuple(_image_call(plan, arch) for arch in arches)


def _image_call(plan: PlatformPlan, arch: str) -> CloudCall:
    return CloudCall(
        kind="aws:ssm/getParameter:getParameter",
        name=f"ubuntu-{arch}",
        args={"name": UBUNTU_PARAMETER.format(minor=plan.kubernetes, arch=arch)},
        outputs=("insecureValue",),
    )


# ── sizes ─────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class GroupSize:
    """Sizes of one group."""

    option: CapacityOption
    low: int
    initial_nodes: int
    """The initial size; afterwards the autoscaler sets it."""
    high: int


def group_sizes(pool: PoolPlan) -> list[GroupSize]:
    """Each capacity option once, in the order in which they are filled.

    The minimum goes to the first options. The maximum of a group is that of its option: a job that
    finds no spot node must find as many on demand. The queues keep the whole pool within its
    maximum. A block has its own start and end: EKS drains its group before the end, and its minimum
    is 0.
    """
    sizes: list[GroupSize] = []
    low, start = pool.nodes.low, pool.start_nodes
    for option in ec2_purchases(pool):
        here_low, here_start = min(low, option.max_nodes), min(start, option.max_nodes)
        low, start = low - here_low, start - here_start
        if option.mode == Capacity.BLOCK.value:
            here_low = here_start = 0
        sizes.append(GroupSize(option, here_low, here_start, option.max_nodes))
    return sizes


def group_name(pool: PoolPlan, option: CapacityOption) -> str:
    """A name that is unique in the cluster and independent of other capacity options."""
    suffix = f"-{option.reservation}" if option.reservation else ""
    return f"{pool.stable_name}-{option.mode}{suffix}"


# ── pools ─────────────────────────────────────────────────────────────────────────────────────────
def _pool(plan: PlatformPlan, pool: PoolPlan, foundation: EksNodeInputs) -> Iterator[CloudResource]:
    tags = aws_tags(plan, pool.stable_name, " ".join(pool.owners))
    close = placement_group(pool, tags)
    if close is not None:
        yield close
    boot = _boot(plan, pool, foundation)
    for size in group_sizes(pool):
        name = group_name(pool, size.option)
        block = block_purchase(pool, size.option, tags, foundation.after)
        if block is not None:
            yield block
        bought = purchase_options(pool, size.option, close, block)
        template = launch_template(name, pool.stable_name, boot, bought, foundation, tags)
        group = _gpu_group(plan, pool, size, boot, template, foundation, tags)
        yield template
        yield group
        yield from _autoscaler_tags(pool, group, template)


def _boot(plan: PlatformPlan, pool: PoolPlan, foundation: EksNodeInputs) -> NodeBootSettings:
    variant = _variant(pool)
    machines = tuple(MACHINES[name] for name in pool.machines)
    return NodeBootSettings(
        machines=machines,
        variant=variant,
        disk_gib=disk_gib(plan, pool),
        user_data=pool_user_data(plan, pool, machines, variant, foundation),
        image=_image_call(plan, pool.machine.arch).get("insecureValue")
        if variant == CUSTOM
        else None,
    )


def disk_gib(plan: PlatformPlan, pool: PoolPlan) -> int:
    """The size of the disk for container images."""
    written = next(each for each in plan.spec.pools if each.name == pool.name)
    return written.disk_gib or DISK_GIB


def _variant(pool: PoolPlan) -> str:
    if pool.node_software is None:
        raise ValueError(f"{pool.name} has no node image")
    return pool.node_software.variant


def _gpu_group(
    plan: PlatformPlan,
    pool: PoolPlan,
    size: GroupSize,
    boot: NodeBootSettings,
    template: CloudResource,
    foundation: EksNodeInputs,
    tags: Mapping[str, str],
) -> CloudResource:
    """GPU machines are scarce: a replacement or an update of nodes removes the old ones first."""
    name = group_name(pool, size.option)
    capacity = size.option.aws.capacity_type if size.option.aws else ""
    in_template = "instanceType" in template.inputs
    scaled = pool.scaling is Scaling.AUTOSCALER or size.option.mode == Capacity.BLOCK.value
    return CloudResource(
        kind="aws:eks/nodeGroup:NodeGroup",
        name=name,
        inputs={
            "nodeGroupName": fit_name(name),
            **_where(foundation, foundation.subnets_in(pool.zones), template),
            **_image(plan, boot.variant),
            "capacityType": capacity,
            **({} if in_template else {"instanceTypes": [m.type_name for m in boot.machines]}),
            "scalingConfig": {
                "minSize": size.low,
                "desiredSize": size.initial_nodes,
                "maxSize": size.high,
            },
            "labels": dict(pool.labels),
            "taints": [
                {"key": t.key, "value": t.value, "effect": EFFECTS[t.effect]}
                for t in plan.initial_taints(pool)
            ],
            "updateConfig": _update(pool),
            "nodeRepairConfig": {"enabled": True, "nodeRepairConfigOverrides": _repairs()},
            "forceUpdateVersion": pool.upgrade is not None and pool.upgrade.force,
            "tags": dict(tags),
        },
        part=pool.stable_name,
        outputs=("resources",),
        after=foundation.after,
        protect=cluster_spec(plan.spec).protect,
        ignores=(_DESIRED,) if scaled else (),
        delete_first=True,
    )


def _update(pool: PoolPlan) -> dict[str, Any]:
    """MINIMAL removes old nodes first, since GPUs are scarce, unless a surge is configured."""
    upgrade = pool.upgrade
    at_once = upgrade.max_unavailable if upgrade else None
    return {
        **({"maxUnavailable": at_once} if at_once else {"maxUnavailablePercentage": 10}),
        "updateStrategy": "DEFAULT" if upgrade and upgrade.max_surge else "MINIMAL",
    }


def _where(
    foundation: EksNodeInputs, subnets: list[Any], template: CloudResource
) -> dict[str, Any]:
    return {
        "clusterName": foundation.cluster,
        "nodeRoleArn": foundation.node_role,
        "subnetIds": subnets,
        "launchTemplate": {
            "id": template.get("id"),
            "version": Joined(template.get("latestVersion")),
        },
    }


def _image(plan: PlatformPlan, variant: str) -> dict[str, Any]:
    """Empty if the launch template has the image: EKS rejects both."""
    if variant == CUSTOM:
        return {}
    release = AL2023_RELEASES.get(plan.kubernetes) if variant.startswith("AL2023") else None
    return {
        "amiType": variant,
        "version": plan.kubernetes,
        **({"releaseVersion": release} if release else {}),
    }


def _repairs() -> list[dict[str, Any]]:
    return [
        {
            "nodeMonitoringCondition": GPU_CONDITION,
            "nodeUnhealthyReason": each.reason,
            "minRepairWaitTimeMins": each.minutes,
            "repairAction": each.action,
        }
        for each in GPU_REPAIRS
    ]


def _autoscaler_tags(
    pool: PoolPlan, group: CloudResource, template: CloudResource
) -> Iterator[CloudResource]:
    """Tags by which Cluster Autoscaler knows a group without nodes; EKS does not copy them to it.

    A pod that requests EFA and GPUs starts a node only if the autoscaler knows both resources.
    """
    tags = dict(pool.autoscaler_hints.tags)
    cards = template.inputs.get("networkInterfaces", ())
    if tags and cards:
        adapters = sum(card["interfaceType"] != "interface" for card in cards)
        tags[f"{TEMPLATE_TAG}/resources/{EFA}"] = str(adapters)
    for key, value in tags.items():
        yield CloudResource(
            kind="aws:autoscaling/tag:Tag",
            name=f"{group.name}/{key.removeprefix(f'{TEMPLATE_TAG}/')}",
            inputs={
                "autoscalingGroupName": group.get(_AUTO_SCALING_GROUP),
                "tag": {"key": key, "value": value, "propagateAtLaunch": False},
            },
            part=pool.stable_name,
        )


# ── system nodes ──────────────────────────────────────────────────────────────────────────────────
def _system(plan: PlatformPlan, foundation: EksNodeInputs) -> Iterator[CloudResource]:
    """Nodes for controllers, in every zone; new nodes are ready before old ones are removed."""
    system = plan.system
    if system is None:
        return
    machine = _system_machine(system.machine)
    tags = aws_tags(plan, SYSTEM_POOL)
    boot = NodeBootSettings(
        machines=(machine,),
        variant=_STANDARD[machine.arch],
        disk_gib=_SYSTEM_DISK_GIB,
        user_data=system_user_data(plan),
    )
    template = launch_template(SYSTEM_POOL, SYSTEM_POOL, boot, {}, foundation, tags)
    low, high = system.nodes.low, system.nodes.high
    yield template
    yield CloudResource(
        kind="aws:eks/nodeGroup:NodeGroup",
        name=SYSTEM_POOL,
        inputs={
            **_where(foundation, foundation.subnets_in(()), template),
            **_image(plan, boot.variant),
            "capacityType": "ON_DEMAND",
            "instanceTypes": [machine.type_name],
            "scalingConfig": {"minSize": low, "desiredSize": low, "maxSize": max(high, 1)},
            "labels": {PLATFORM_LABEL: plan.name, POOL_LABEL: SYSTEM_POOL},
            "updateConfig": {"maxUnavailable": 1},
            "nodeRepairConfig": {"enabled": True},
            "forceUpdateVersion": False,
            "tags": dict(tags),
        },
        part=SYSTEM_POOL,
        after=foundation.after,
        protect=cluster_spec(plan.spec).protect,
        ignores=(_DESIRED,) if low < high else (),
    )


def _system_machine(name: str) -> Machine:
    """The machine that the plan chose; one missing in the catalogue has only its name."""
    unknown = replace(MACHINES[_ANY_MACHINE], name=name, arch=arch_of(name))
    return find_machine(name) or unknown


def nodes_by_option(pool: PoolPlan) -> tuple[str, list[dict[str, Any]]]:
    """The label that names a node's group, and the groups of each capacity option."""
    label = POOL_OF_NODE if pool.scaling is Scaling.KARPENTER else GROUP_OF_NODE
    return label, [
        {
            "description": option_text(size.option),
            "names": [fit_name(group_name(pool, size.option))],
            "max_nodes": size.high,
        }
        for size in group_sizes(pool)
    ]
