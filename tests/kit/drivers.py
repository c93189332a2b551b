"""GPU nodes and the upgrade controller of the GPU Operator, step by step, without a server."""

from collections.abc import Mapping, MutableMapping
from typing import Any

from gpuyard.render.gpu_operator.objects import policy_upgrades
from gpuyard_core.names import UPGRADE_LABEL
from gpuyard_simulate.drivers.upgrading import POD, Policy, UpgradeStep, read_policy, steps

OLD, NEW = "580.178.04", "595.91.07"
OURS = read_policy({"driver": {"upgradePolicy": policy_upgrades()}})
"""As in gpuyard's ClusterPolicy."""
Node = dict[str, Any]
Pods = MutableMapping[str, list[dict[str, Any]]]
"""The driver pod of each node."""


def gpu_node(state: str = "upgrade-done", pod: str = OLD, **more: Any) -> Node:
    """A node in this state, with a driver pod of this version, and further fields."""
    labels = {UPGRADE_LABEL: state} if state else {}
    return {
        "metadata": {
            "labels": labels | more.get("labels", {}),
            "annotations": {POD: pod} | more.get("notes", {}),
        },
        "spec": {"unschedulable": True} if more.get("closed") else {},
        "status": {"conditions": [{"type": "Ready", "status": more.get("ready", "True")}]},
    }


def look(
    nodes: Mapping[str, Node], policy: Policy, version: str, pods: Pods
) -> dict[str, UpgradeStep]:
    """One reconcile of the controller and its effects: labels on the nodes, deleted pods."""
    result = steps(nodes, policy, version, lambda name: pods.get(name, []))
    for name, step in result.items():
        _write(nodes[name], step)
        for pod in step.evicts:
            pods[name].remove(dict(pod))
    return result


def _write(node: Node, step: UpgradeStep) -> None:
    for part, new in (("labels", {UPGRADE_LABEL: step.state}), ("annotations", step.annotations)):
        merged = {**node["metadata"][part], **new}
        node["metadata"][part] = {key: each for key, each in merged.items() if each is not None}
    if step.is_cordoned is not None:
        node["spec"]["unschedulable"] = step.is_cordoned
