"""When the engine is about to change nodes: whether GPUs are cut anew, who agreed, and how many at once."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pulumi

from gpuyard.changes.announced import recut_digests
from gpuyard.names import (
    INSTANCE_TYPE_LABEL,
    MIG_CONFIG_LABEL,
    MIG_OFF,
    MIG_STATE_LABEL,
    PLUGIN_CONFIG_LABEL,
    POOL_LABEL,
)
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.render.nodes import PATCH_MANAGER, label_owner
from gpuyard.resources.diagnosis.kubectl import Kubectl
from gpuyard.resources.gpu_operator.labelling import owners_of
from gpuyard.resources.gpu_operator.recutting import (
    Labels,
    NotCut,
    Write,
    holders,
    named,
    recut,
    relabel,
)

_NODE, _OWN_NODE = ":Node", ":NodePatch"
_AT_ONCE = 4
"""A fourth of a pool's nodes is closed at most, as for another driver."""
HANDED_ON_SECONDS = 120.0
"""A kubelet hands a changed ConfigMap on when it next looks at the pod, about once a minute; of a name that
is not in its file the MIG manager says that it failed, and looks no second time."""


def recutting_hook(
    name: str, kubectl: Kubectl, plan: PlatformPlan, pool: PoolPlan
) -> pulumi.ResourceHook:
    """What runs before the engine changes a node of this pool."""
    turns = asyncio.Semaphore(max(1, pool.start_nodes // _AT_ONCE))

    async def before(args: pulumi.ResourceHookArgs) -> None:
        new = _labels(args.new_inputs)
        first = args.type.endswith(_OWN_NODE) and not args.old_inputs
        old = await _found(kubectl, plan, args) if first else _labels(args.old_inputs)
        if not cut_anew(old, new):
            return
        wanted = {MIG_CONFIG_LABEL: new.get(MIG_CONFIG_LABEL, MIG_OFF)}
        if not first and _is_one(args) and await _is_as_wanted(kubectl, _name(args), wanted):
            return  # the last state says less of a node that a killed deployment has made
        digests = recut_digests(plan, pool)
        if first and not set(digests) & set(plan.spec.consent):
            await _refuse_users(kubectl, _name(args), digests[0])
        elif not set(digests) & set(plan.spec.consent):
            raise NotCut(
                f"the GPUs of {args.name} would be cut anew, and nobody consented; nothing was changed\n"
                f"  fix: when jobs on pool {pool.name} may be put out, write {digests[0]} under `consent`"
            )
        nodes = await _nodes(kubectl, pool, args)
        if not plan.simulated:
            await asyncio.sleep(HANDED_ON_SECONDS)
        wanted[PLUGIN_CONFIG_LABEL] = new[PLUGIN_CONFIG_LABEL]
        for node in nodes:
            async with turns:
                await recut(kubectl, node, wanted, _write(kubectl, args, wanted))

    return pulumi.ResourceHook(f"gpuyard:{name}:recut", before)


async def _nodes(kubectl: Kubectl, pool: PoolPlan, args: pulumi.ResourceHookArgs) -> list[str]:
    """The node itself; of a node group or node pool all that the pool has, one after the other."""
    if _is_one(args):
        return [_name(args)]
    found = await kubectl.get("nodes", "-l", f"{POOL_LABEL}={pool.stable_name}")
    if found is None:
        raise NotCut(
            f"the nodes of pool {pool.name} cannot be looked at, so no job was put out and no GPU cut anew\n"
            "  fix: deploy where kubectl reaches the cluster"
        )
    return sorted(each["metadata"]["name"] for each in found["items"])


def _is_one(args: pulumi.ResourceHookArgs) -> bool:
    return args.type.endswith((_NODE, _OWN_NODE))


async def _found(
    kubectl: Kubectl, plan: PlatformPlan, args: pulumi.ResourceHookArgs
) -> dict[str, str]:
    """The layout of a node that gets its first labels from us; the wanted one where nothing is to be cut."""
    node, wanted = _name(args), _labels(args.new_inputs)
    found = await kubectl.get("node", node)
    if found is None:
        raise NotCut(f"node {node} cannot be looked at: nothing on it was changed")
    if MIG_CONFIG_LABEL not in wanted:
        return {}  # a pool that cuts nothing says nothing of a layout
    labels = found["metadata"].get("labels") or {}
    layout = str(labels.get(MIG_CONFIG_LABEL, MIG_OFF))
    owners = owners_of(found, MIG_CONFIG_LABEL)
    begun = any(each.startswith(label_owner(plan.name)) for each in owners)
    if layout == wanted[MIG_CONFIG_LABEL] and (_is_done(found) or not begun):
        return {MIG_CONFIG_LABEL: layout}
    return {} if layout == MIG_OFF or begun else {MIG_CONFIG_LABEL: layout}


async def _refuse_users(kubectl: Kubectl, node: str, digest: str) -> None:
    """Nobody is put out of a node that had no labels yet, either."""
    if users := [named(pod) for pod in await holders(kubectl, node)]:
        raise NotCut(
            f"the GPUs of node {node} would be cut under {', '.join(users)}, and nobody consented;"
            " nothing was changed\n"
            f"  fix: when jobs on it may be put out, write {digest} under `consent`; or let them end"
        )


def _write(
    kubectl: Kubectl, args: pulumi.ResourceHookArgs, wanted: Mapping[str, str]
) -> Write | None:
    """Labels of a node that is not ours: all that we own there at once, so that a destroy gives all back."""
    if not args.type.endswith(_OWN_NODE):
        return None
    metadata = (args.new_inputs or {})["metadata"]
    name, before = metadata["name"], _labels(args.old_inputs)

    async def write(labels: Labels) -> str:
        """The manager looks when its label changes: what it said of the layout before is taken off first."""
        forward = labels[MIG_CONFIG_LABEL] == wanted[MIG_CONFIG_LABEL]
        ours = {**(metadata["labels"] if forward else before), **labels}
        said = {key: value for key, value in ours.items() if value is not None}
        obj = {"apiVersion": "v1", "kind": "Node", "metadata": {**metadata, "labels": said}}
        problem = await relabel(kubectl, name, {MIG_STATE_LABEL: None})
        return problem or await kubectl.apply(obj, metadata["annotations"][PATCH_MANAGER])

    return write


def _name(args: pulumi.ResourceHookArgs) -> str:
    return str((args.new_inputs or {})["metadata"]["name"])


async def _is_as_wanted(kubectl: Kubectl, node: str, wanted: Mapping[str, str]) -> bool:
    """Whether a node has the layout already, and takes jobs: one that is closed is in the middle of it."""
    found = await kubectl.get("node", node) or {}
    layout = (found.get("metadata", {}).get("labels") or {}).get(MIG_CONFIG_LABEL, MIG_OFF)
    return bool(found) and layout == wanted[MIG_CONFIG_LABEL] and _is_done(found)


def _is_done(node: Mapping[str, Any]) -> bool:
    labels = node.get("metadata", {}).get("labels") or {}
    closed = node.get("spec", {}).get("unschedulable", False)
    return labels.get(MIG_STATE_LABEL) in {None, "success"} and not closed


def cut_anew(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Another layout on the machine that it is; another machine has nothing on it yet."""
    if old.get(INSTANCE_TYPE_LABEL) != new.get(INSTANCE_TYPE_LABEL):
        return False
    return bool(old.get(MIG_CONFIG_LABEL) != new.get(MIG_CONFIG_LABEL))


def _labels(inputs: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Of a node, a node group of EKS, a node pool of GKE."""
    for at in ("metadata", "nodeConfig"):
        if at in (inputs or {}):
            return (inputs or {})[at].get("labels") or {}
    return (inputs or {}).get("labels") or {}
