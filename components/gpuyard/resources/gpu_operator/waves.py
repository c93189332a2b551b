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
from gpuyard.resources.diagnosis.kubectl import Kubectl
from gpuyard.resources.gpu_operator.recutting import NotCut, recut

_NODE = ":Node"
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
        old, new = _labels(args.old_inputs), _labels(args.new_inputs)
        if not cut_anew(old, new):
            return
        wanted = {MIG_CONFIG_LABEL: new.get(MIG_CONFIG_LABEL, MIG_OFF)}
        if args.type.endswith(_NODE) and await _is_as_wanted(kubectl, _name(args), wanted):
            return  # the last state says less of a node that a killed deployment has made
        if not set(digests := recut_digests(plan, pool)) & set(plan.spec.consent):
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
                await recut(kubectl, node, wanted)

    return pulumi.ResourceHook(f"gpuyard:{name}:recut", before)


async def _nodes(kubectl: Kubectl, pool: PoolPlan, args: pulumi.ResourceHookArgs) -> list[str]:
    """The node itself; of a node group or node pool all that the pool has, one after the other."""
    if args.type.endswith(_NODE):
        return [_name(args)]
    found = await kubectl.get("nodes", "-l", f"{POOL_LABEL}={pool.stable_name}")
    if found is None:
        raise NotCut(
            f"the nodes of pool {pool.name} cannot be looked at, so no job was put out and no GPU cut anew\n"
            "  fix: deploy where kubectl reaches the cluster"
        )
    return sorted(each["metadata"]["name"] for each in found["items"])


def _name(args: pulumi.ResourceHookArgs) -> str:
    return str((args.new_inputs or {})["metadata"]["name"])


async def _is_as_wanted(kubectl: Kubectl, node: str, wanted: Mapping[str, str]) -> bool:
    """Whether a node has the layout already, and takes jobs: one that is closed is in the middle of it."""
    found = await kubectl.get("node", node) or {}
    labels = found.get("metadata", {}).get("labels") or {}
    layout = labels.get(MIG_CONFIG_LABEL, MIG_OFF)
    done = labels.get(MIG_STATE_LABEL) in {None, "success"}
    closed = found.get("spec", {}).get("unschedulable", False)
    return bool(found) and layout == wanted[MIG_CONFIG_LABEL] and done and not closed


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
