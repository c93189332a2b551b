"""Before the engine changes nodes: whether GPUs are repartitioned, the approval, and the parallelism."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pulumi

from gpuyard.changes.planned_changes import repartition_digests
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.render.nodes import PATCH_MANAGER, label_field_manager
from gpuyard.resources.diagnosis.kubectl import Kubectl
from gpuyard.resources.gpu_operator.mig_reconfiguration import (
    Labels,
    MigReconfigureError,
    Write,
    gpu_pods,
    pod_name,
    reconfigure_node,
    relabel,
)
from gpuyard.resources.gpu_operator.node_labels import owners_of
from gpuyard_core.names import (
    INSTANCE_TYPE_LABEL,
    MIG_CONFIG_LABEL,
    MIG_OFF,
    MIG_STATE_LABEL,
    PLUGIN_CONFIG_LABEL,
    POOL_LABEL,
)

_NODE, _OWN_NODE = ":Node", ":NodePatch"
_AT_ONCE = 4
"""At most one fourth of a pool's nodes is cordoned at a time, as for driver upgrades."""
PROPAGATION_SECONDS = 120.0
"""A kubelet propagates a changed ConfigMap about once a minute. For a layout that is missing from
its file the MIG manager reports a failure and does not retry.
"""


def mig_reconfigure_hook(
    name: str, kubectl: Kubectl, plan: PlatformPlan, pool: PoolPlan
) -> pulumi.ResourceHook:
    """The hook that runs before the engine changes a node of this pool."""
    turns = asyncio.Semaphore(max(1, pool.start_nodes // _AT_ONCE))

    async def before(args: pulumi.ResourceHookArgs) -> None:
        new = _labels(args.new_inputs)
        first = args.type.endswith(_OWN_NODE) and not args.old_inputs
        old = await _current_layout(kubectl, plan, args) if first else _labels(args.old_inputs)
        if not is_repartitioned(old, new):
            return
        expected = {MIG_CONFIG_LABEL: new.get(MIG_CONFIG_LABEL, MIG_OFF)}
        if not first and _is_one(args) and await _is_as_wanted(kubectl, _name(args), expected):
            return  # for nodes of an interrupted deployment the last state is incomplete
        digests = repartition_digests(plan, pool)
        if first and not set(digests) & set(plan.spec.approved_changes):
            await _refuse_users(kubectl, _name(args), digests[0])
        elif not set(digests) & set(plan.spec.approved_changes):
            raise MigReconfigureError(
                f"the GPUs of {args.name} would be repartitioned, which is not approved; nothing "
                f"was changed\n  fix: if jobs on pool {pool.name} may be evicted, add "
                f"{digests[0]} to `approved_changes`"
            )
        nodes = await _nodes(kubectl, pool, args)
        if not plan.simulated:
            await asyncio.sleep(PROPAGATION_SECONDS)
        expected[PLUGIN_CONFIG_LABEL] = new[PLUGIN_CONFIG_LABEL]
        for node in nodes:
            async with turns:
                await reconfigure_node(kubectl, node, expected, _write(kubectl, args, expected))

    return pulumi.ResourceHook(f"gpuyard:{name}:recut", before)


async def _nodes(kubectl: Kubectl, pool: PoolPlan, args: pulumi.ResourceHookArgs) -> list[str]:
    """The node itself; for a node group or node pool all nodes of the pool, one after the other."""
    if _is_one(args):
        return [_name(args)]
    result = await kubectl.get("nodes", "-l", f"{POOL_LABEL}={pool.stable_name}")
    if result is None:
        raise MigReconfigureError(
            f"gpuyard cannot list the nodes of pool {pool.name}, so no job was evicted and no GPU "
            "repartitioned\n  fix: deploy from where kubectl reaches the cluster"
        )
    return sorted(each["metadata"]["name"] for each in result["items"])


def _is_one(args: pulumi.ResourceHookArgs) -> bool:
    return args.type.endswith((_NODE, _OWN_NODE))


async def _current_layout(
    kubectl: Kubectl, plan: PlatformPlan, args: pulumi.ResourceHookArgs
) -> dict[str, str]:
    """The layout of a node that is labelled for the first time; the expected one if it needs no change."""
    node, expected = _name(args), _labels(args.new_inputs)
    result = await kubectl.get("node", node)
    if result is None:
        raise MigReconfigureError(f"gpuyard cannot read node {node}: nothing on it was changed")
    if MIG_CONFIG_LABEL not in expected:
        return {}  # a pool without MIG sets no layout
    labels = result["metadata"].get("labels") or {}
    layout = str(labels.get(MIG_CONFIG_LABEL, MIG_OFF))
    owners = owners_of(result, MIG_CONFIG_LABEL)
    begun = any(each.startswith(label_field_manager(plan.name)) for each in owners)
    if layout == expected[MIG_CONFIG_LABEL] and (_is_done(result) or not begun):
        return {MIG_CONFIG_LABEL: layout}
    return {} if layout == MIG_OFF or begun else {MIG_CONFIG_LABEL: layout}


async def _refuse_users(kubectl: Kubectl, node: str, digest: str) -> None:
    """Reject an unapproved layout change of a newly labelled node if pods use its GPUs."""
    if users := [pod_name(pod) for pod in await gpu_pods(kubectl, node)]:
        raise MigReconfigureError(
            f"the GPUs of node {node} would be repartitioned while {', '.join(users)} use them, "
            "which is not approved; nothing was changed\n  fix: if jobs on it may be evicted, add "
            f"{digest} to `approved_changes`; or wait until they end"
        )


def _write(
    kubectl: Kubectl, args: pulumi.ResourceHookArgs, expected: Mapping[str, str]
) -> Write | None:
    """Writes labels of an existing node, always all that gpuyard owns, so that a destroy removes all of them."""
    if not args.type.endswith(_OWN_NODE):
        return None
    metadata = (args.new_inputs or {})["metadata"]
    name, before = metadata["name"], _labels(args.old_inputs)

    async def write(labels: Labels) -> str:
        """Remove the state of the previous layout first: the MIG manager acts when its label changes."""
        forward = labels[MIG_CONFIG_LABEL] == expected[MIG_CONFIG_LABEL]
        ours = {**(metadata["labels"] if forward else before), **labels}
        set_labels = {key: value for key, value in ours.items() if value is not None}
        obj = {"apiVersion": "v1", "kind": "Node", "metadata": {**metadata, "labels": set_labels}}
        problem = await relabel(kubectl, name, {MIG_STATE_LABEL: None})
        return problem or await kubectl.apply(obj, metadata["annotations"][PATCH_MANAGER])

    return write


def _name(args: pulumi.ResourceHookArgs) -> str:
    return str((args.new_inputs or {})["metadata"]["name"])


async def _is_as_wanted(kubectl: Kubectl, node: str, expected: Mapping[str, str]) -> bool:
    """Whether a node has the layout and is schedulable; a cordoned node is still being repartitioned."""
    result = await kubectl.get("node", node) or {}
    layout = (result.get("metadata", {}).get("labels") or {}).get(MIG_CONFIG_LABEL, MIG_OFF)
    return bool(result) and layout == expected[MIG_CONFIG_LABEL] and _is_done(result)


def _is_done(node: Mapping[str, Any]) -> bool:
    labels = node.get("metadata", {}).get("labels") or {}
    closed = node.get("spec", {}).get("unschedulable", False)
    return labels.get(MIG_STATE_LABEL) in {None, "success"} and not closed


def is_repartitioned(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether the layout changes on the same machine; a replaced machine has no workloads yet."""
    if old.get(INSTANCE_TYPE_LABEL) != new.get(INSTANCE_TYPE_LABEL):
        return False
    return bool(old.get(MIG_CONFIG_LABEL) != new.get(MIG_CONFIG_LABEL))


def _labels(properties: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The labels of a node, an EKS node group or a GKE node pool."""
    for at in ("metadata", "nodeConfig"):
        if at in (properties or {}):
            return (properties or {})[at].get("labels") or {}
    return (properties or {}).get("labels") or {}
