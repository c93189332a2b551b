"""Nodes that exist already: the labels that the plan lists for their pool, put on them and given back.

Each preview and each `up` looks for the nodes that a pool selects. What a label says is another's as long as
another's field manager owns it: nothing is overwritten but what is ours, and the GPU Operator's default.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pulumi
from pulumi.runtime.sync_await import (
    _sync_await,  # pyright: ignore[reportPrivateUsage]  # generated SDKs use it too
)

from gpuyard.names import MIG_CONFIG_LABEL, MIG_OFF
from gpuyard.plan.pools.own_nodes import labels_nodes
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.render.nodes import label_field_manager, node_labels
from gpuyard.render.objects import Object
from gpuyard.resources.clusters.change_preview import last_known_state
from gpuyard.resources.diagnosis.kubectl import Kubectl, label_selector

_NODE_PATCH = "kubernetes:core/v1:NodePatch"


class NodeLabelError(pulumi.RunError):
    """Nodes that get no labels, and why; nothing was changed."""


def labelled_pools(plan: PlatformPlan) -> list[str]:
    """Pools whose nodes exist already, and get their labels from us."""
    return [pool.name for pool in plan.spec.pools if labels_nodes(plan.spec, pool)]


def labelled(kubectl: Kubectl | None, plan: PlatformPlan, pool: PoolPlan) -> list[Object]:
    """The labels of each node that the pool selects; none where its nodes are not selected.

    Raises:
        NodeLabelError: nobody can look, or a label is another's.
    """
    if pool.name not in labelled_pools(plan):
        return []
    if kubectl is None:
        pulumi.log.warn(
            f"nobody looks for the nodes of pool {pool.name}, so no labels are put on them\n"
            "  fix: give the provider of `provider_of` or a ClusterProvider; or label them by hand, as"
            " `gpuyard plan -v` says"
        )
        return []
    chosen = label_selector(pool.node_selector)
    result = _sync_await(kubectl.get("nodes", "-l", chosen))
    if result is None:
        raise NodeLabelError(
            f"the nodes of pool {pool.name} get their labels from this platform, and nobody can look for"
            " them; nothing was changed\n"
            "  fix: deploy where kubectl is on PATH and reaches the cluster:"
            f" {kubectl.command('get', 'nodes', '-l', chosen)}"
        )
    nodes = sorted(result["items"], key=lambda node: str(node["metadata"]["name"]))
    if problems := [each for node in nodes for each in conflicts(plan, pool, node)]:
        raise NodeLabelError("\n".join(problems))
    if len(nodes) != pool.nodes.high:
        pulumi.log.warn(
            f"pool {pool.name} counts {pool.nodes.high} nodes, and the cluster has {len(nodes)} with"
            f" {chosen}: quotas are of what the pool counts\n"
            f"  fix: write `nodes: {len(nodes)}`, or label the nodes that are meant"
        )
    return [
        node_labels(plan, pool, node["metadata"]["name"], node["metadata"]["uid"]) for node in nodes
    ]


def conflicts(plan: PlatformPlan, pool: PoolPlan, node: Mapping[str, Any]) -> Iterator[str]:
    """What others say of a node with a label of ours."""
    name, ours = node["metadata"]["name"], label_field_manager(plan.name)
    current = node["metadata"].get("labels") or {}
    for key, value in pool.labels.items():
        if current.get(key, value) == value or (key, current[key]) == (MIG_CONFIG_LABEL, MIG_OFF):
            continue  # the GPU Operator says of each node that can be cut that it is not
        owners = [each for each in owners_of(node, key) if not each.startswith(ours)]
        if owners or not owners_of(node, key):
            yield (
                f"label {key} of node {name} is {current[key]}, and pool {pool.name} needs {value};"
                f" it belongs to {', '.join(owners) or 'nobody who says so'} (managedFields)."
                " Nothing was changed\n"
                f"  fix: where its owner agrees, take it off: kubectl label node {name} {key}-"
            )


def owners_of(node: Mapping[str, Any], label: str) -> list[str]:
    """The field managers that own a label."""
    return [
        str(each.get("manager"))
        for each in node["metadata"].get("managedFields") or []
        if f"f:{label}"
        in ((each.get("fieldsV1") or {}).get("f:metadata") or {}).get("f:labels", {})
    ]


def removed_nodes(kubectl: Kubectl, component: str) -> list[Object]:
    """What the state still has of nodes that are in the cluster no more.

    The provider gives labels back by an apply, and an apply makes a node that is not there: so what the state
    has of such a one stays there, to be left alone when it leaves, until a refresh takes it out.
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
