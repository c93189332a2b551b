"""Labels of existing nodes: set as the plan lists them for each pool, and removed with the pool.

Each preview and each `up` looks for the nodes that a pool selects. A label belongs to its field
manager: gpuyard overwrites only its own labels and the GPU Operator's default.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pulumi
from pulumi.runtime.sync_await import (
    _sync_await,  # generated SDKs use it too
)

from gpuyard.plan.pools.own_nodes import labels_nodes
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.render.nodes import label_field_manager, node_labels
from gpuyard.render.objects import Object
from gpuyard.resources.clusters.change_preview import last_known_state
from gpuyard.resources.diagnosis.kubectl import Kubectl, label_selector
from gpuyard_core.names import MIG_CONFIG_LABEL, MIG_OFF

_NODE_PATCH = "kubernetes:core/v1:NodePatch"


class NodeLabelError(pulumi.RunError):
    """Nodes could not be labelled; nothing was changed."""


def labelled_pools(plan: PlatformPlan) -> list[str]:
    """Pools on existing nodes, which gpuyard labels."""
    return [pool.name for pool in plan.spec.pools if labels_nodes(plan.spec, pool)]


def node_label_patches(kubectl: Kubectl | None, plan: PlatformPlan, pool: PoolPlan) -> list[Object]:
    """The labels of each node that the pool selects; none if gpuyard does not label its nodes.

    Raises:
        NodeLabelError: kubectl cannot list them, or a label has another owner.
    """
    if pool.name not in labelled_pools(plan):
        return []
    if kubectl is None:
        pulumi.log.warn(
            f"gpuyard cannot query the nodes of pool {pool.name} with this provider, so it sets "
            "no labels on them\n  fix: pass the provider of `provider_of` or a ClusterProvider; "
            "or set the labels that `gpuyard plan -v` lists"
        )
        return []
    chosen = label_selector(pool.node_selector)
    result = _sync_await(kubectl.get("nodes", "-l", chosen))
    if result is None:
        raise NodeLabelError(
            f"gpuyard labels the nodes of pool {pool.name}, but cannot list them; nothing was "
            "changed\n  fix: deploy from where kubectl is on PATH and reaches the cluster: "
            f"{kubectl.command('get', 'nodes', '-l', chosen)}"
        )
    nodes = sorted(result["items"], key=lambda node: str(node["metadata"]["name"]))
    if problems := [each for node in nodes for each in label_conflicts(plan, pool, node)]:
        raise NodeLabelError("\n".join(problems))
    if len(nodes) != pool.nodes.high:
        pulumi.log.warn(
            f"pool {pool.name} sets {pool.nodes.high} nodes, but the cluster has {len(nodes)} "
            f"with {chosen}: quotas use the number of the pool\n  fix: set `nodes: {len(nodes)}`, "
            "or label the right nodes"
        )
    return [
        node_labels(plan, pool, node["metadata"]["name"], node["metadata"]["uid"]) for node in nodes
    ]


def label_conflicts(plan: PlatformPlan, pool: PoolPlan, node: Mapping[str, Any]) -> Iterator[str]:
    """Labels of gpuyard that other field managers set to other values."""
    name, ours = node["metadata"]["name"], label_field_manager(plan.name)
    current = node["metadata"].get("labels") or {}
    for key, value in pool.labels.items():
        if current.get(key, value) == value or (key, current[key]) == (MIG_CONFIG_LABEL, MIG_OFF):
            continue  # the GPU Operator labels each MIG-capable node as unpartitioned
        owners = [each for each in owners_of(node, key) if not each.startswith(ours)]
        if owners or not owners_of(node, key):
            yield (
                f"label {key} of node {name} is {current[key]}, but pool {pool.name} needs "
                f"{value}; its owner is {', '.join(owners) or 'unknown'} (managedFields). Nothing "
                f"was changed\n  fix: if its owner agrees, remove it: kubectl label node {name} "
                f"{key}-"
            )


def owners_of(node: Mapping[str, Any], label: str) -> list[str]:
    """The field managers that own a label."""
    return [
        str(each.get("manager"))
        for each in node["metadata"].get("managedFields") or []
        if f"f:{label}"
        in ((each.get("fieldsV1") or {}).get("f:metadata") or {}).get("f:labels", {})
    ]


def stale_node_patches(kubectl: Kubectl, component: str) -> list[Object]:
    """Nodes of the state that are no longer in the cluster.

    The provider removes labels with an apply, which would create a missing node. So the entries of
    such nodes stay untouched in the state until a refresh removes them.
    """
    state = last_known_state()
    begins = f"{component}:Node:"
    known = {
        each.name.removeprefix(begins)
        for each in (state.resources if state else ())
        if each.kind == _NODE_PATCH and each.name.startswith(begins)
    }
    names = _sync_await(kubectl.names("nodes")) if known else None
    node_names = {each.partition("/")[2] for each in names or []}
    return [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}}
        for node in sorted(known)
        if names is not None and node not in node_names
    ]
