"""When the engine is about to change nodes: whether GPUs are cut anew, who agreed, and how many at once."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pulumi

from gpuyard.changes.planned_changes import repartition_digests
from gpuyard.names import (
    INSTANCE_TYPE_LABEL,
    MIG_CONFIG_LABEL,
    MIG_OFF,
    MIG_STATE_LABEL,
    PLUGIN_CONFIG_LABEL,
    POOL_LABEL,
)
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

_NODE, _OWN_NODE = ":Node", ":NodePatch"
_AT_ONCE = 4
"""A fourth of a pool's nodes is closed at most, as for another driver."""
PROPAGATION_SECONDS = 120.0
"""A kubelet hands a changed ConfigMap on when it next looks at the pod, about once a minute; of a name that
is not in its file the MIG manager says that it failed, and looks no second time."""


def mig_reconfigure_hook(
    name: str, kubectl: Kubectl, plan: PlatformPlan, pool: PoolPlan
) -> pulumi.ResourceHook:
    """What runs before the engine changes a node of this pool."""
    turns = asyncio.Semaphore(max(1, pool.start_nodes // _AT_ONCE))

    async def before(args: pulumi.ResourceHookArgs) -> None:
        new = _labels(args.new_inputs)
        first = args.type.endswith(_OWN_NODE) and not args.old_inputs
        old = await _current_layout(kubectl, plan, args) if first else _labels(args.old_inputs)
        if not is_repartitioned(old, new):
            return
        expected = {MIG_CONFIG_LABEL: new.get(MIG_CONFIG_LABEL, MIG_OFF)}
        if not first and _is_one(args) and await _is_as_wanted(kubectl, _name(args), expected):
            return  # the last state says less of a node that a killed deployment has made
        digests = repartition_digests(plan, pool)
        if first and not set(digests) & set(plan.spec.approved_changes):
            await _refuse_users(kubectl, _name(args), digests[0])
        elif not set(digests) & set(plan.spec.approved_changes):
            raise MigReconfigureError(
                f"the GPUs of {args.name} would be cut anew, and nobody consented; nothing was changed\n"
                f"  fix: when jobs on pool {pool.name} may be put out, write {digests[0]} under `approved_changes`"
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
    """The node itself; of a node group or node pool all that the pool has, one after the other."""
    if _is_one(args):
        return [_name(args)]
    result = await kubectl.get("nodes", "-l", f"{POOL_LABEL}={pool.stable_name}")
    if result is None:
        raise MigReconfigureError(
            f"the nodes of pool {pool.name} cannot be looked at, so no job was put out and no GPU cut anew\n"
            "  fix: deploy where kubectl reaches the cluster"
        )
    return sorted(each["metadata"]["name"] for each in result["items"])


def _is_one(args: pulumi.ResourceHookArgs) -> bool:
    return args.type.endswith((_NODE, _OWN_NODE))


async def _current_layout(
    kubectl: Kubectl, plan: PlatformPlan, args: pulumi.ResourceHookArgs
) -> dict[str, str]:
    """The layout of a node that gets its first labels from us; the wanted one where nothing is to be cut."""
    node, expected = _name(args), _labels(args.new_inputs)
    result = await kubectl.get("node", node)
    if result is None:
        raise MigReconfigureError(f"node {node} cannot be looked at: nothing on it was changed")
    if MIG_CONFIG_LABEL not in expected:
        return {}  # a pool that cuts nothing says nothing of a layout
    labels = result["metadata"].get("labels") or {}
    layout = str(labels.get(MIG_CONFIG_LABEL, MIG_OFF))
    owners = owners_of(result, MIG_CONFIG_LABEL)
    begun = any(each.startswith(label_field_manager(plan.name)) for each in owners)
    if layout == expected[MIG_CONFIG_LABEL] and (_is_done(result) or not begun):
        return {MIG_CONFIG_LABEL: layout}
    return {} if layout == MIG_OFF or begun else {MIG_CONFIG_LABEL: layout}


async def _refuse_users(kubectl: Kubectl, node: str, digest: str) -> None:
    """Nobody is put out of a node that had no labels yet, either."""
    if users := [pod_name(pod) for pod in await gpu_pods(kubectl, node)]:
        raise MigReconfigureError(
            f"the GPUs of node {node} would be cut under {', '.join(users)}, and nobody consented;"
            " nothing was changed\n"
            f"  fix: when jobs on it may be put out, write {digest} under `approved_changes`; or let them end"
        )


def _write(
    kubectl: Kubectl, args: pulumi.ResourceHookArgs, expected: Mapping[str, str]
) -> Write | None:
    """Labels of a node that is not ours: all that we own there at once, so that a destroy gives all back."""
    if not args.type.endswith(_OWN_NODE):
        return None
    metadata = (args.new_inputs or {})["metadata"]
    name, before = metadata["name"], _labels(args.old_inputs)

    async def write(labels: Labels) -> str:
        """The manager looks when its label changes: what it said of the layout before is taken off first."""
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
    """Whether a node has the layout already, and takes jobs: one that is closed is in the middle of it."""
    result = await kubectl.get("node", node) or {}
    layout = (result.get("metadata", {}).get("labels") or {}).get(MIG_CONFIG_LABEL, MIG_OFF)
    return bool(result) and layout == expected[MIG_CONFIG_LABEL] and _is_done(result)


def _is_done(node: Mapping[str, Any]) -> bool:
    labels = node.get("metadata", {}).get("labels") or {}
    closed = node.get("spec", {}).get("unschedulable", False)
    return labels.get(MIG_STATE_LABEL) in {None, "success"} and not closed


def is_repartitioned(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Another layout on the machine that it is; another machine has nothing on it yet."""
    if old.get(INSTANCE_TYPE_LABEL) != new.get(INSTANCE_TYPE_LABEL):
        return False
    return bool(old.get(MIG_CONFIG_LABEL) != new.get(MIG_CONFIG_LABEL))


def _labels(properties: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Of a node, a node group of EKS, a node pool of GKE."""
    for at in ("metadata", "nodeConfig"):
        if at in (properties or {}):
            return (properties or {})[at].get("labels") or {}
    return (properties or {}).get("labels") or {}
