"""Staged driver rollout by the GPU Operator: one pool first, the other pools wait.

The operator selects nodes of all pools by its own policy, and skips a node with the label
`nvidia.com/gpu-driver-upgrade.skip=true`. So before its driver version changes, nodes of waiting
pools get that label together with a label of gpuyard; a manually set label is kept. The first
pool's driver record is written when all its nodes have the new driver, the record of the others
when their label is removed. Since a record changes once, the next deployment continues an
interrupted one.
"""

import time
from asyncio import sleep
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pulumi

from gpuyard.changes.platforms import driver_of
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.resources.diagnosis.kubectl import (
    Kubectl,
    event_messages,
    label_selector,
    last_message,
)
from gpuyard_core.names import (
    DRIVER_VERSION_LABEL,
    DRIVER_WAITS_LABEL,
    PODSET_LABEL,
    SKIP_UPGRADE_LABEL,
    UPGRADE_LABEL,
)

PAUSE_SECONDS = 2.0
STILL_SECONDS = 1800.0
"""The rollout is stalled if no node of the first pool changes for this long: a driver is built and
loaded within it.
"""
BACK_SECONDS = 180.0
"""Time until the operator reconciles a node again: it does so every two minutes."""
TOLD_SECONDS = 30.0
"""Time until Helm's change reaches the operator's DaemonSet."""
AT_ONCE = 200
"""Nodes per labelling command: kubectl labels one after the other, with a timeout of 45 s."""
_OFF = (f"{SKIP_UPGRADE_LABEL}-", f"{DRIVER_WAITS_LABEL}-")
_DRIVER = "nvidia-driver-daemonset"
_EVENT = "GPUDriverUpgrade"
_DONE, _REQUIRED, _FAILED = "upgrade-done", "upgrade-required", "upgrade-failed"
_JOBS = "wait-for-jobs-required"
_REACH = "deploy from where kubectl reaches the cluster"
_Node = Mapping[str, Any]


class DriverRolloutError(pulumi.RunError):
    """Nodes do not have the required driver."""


@dataclass(frozen=True, slots=True)
class DriverRollout:
    """The driver changes of a deployment, by the first names of pools."""

    previous_drivers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Pools whose driver changes, with their current driver."""
    pending_pools: Collection[str] = ()
    """Pools of the second wave."""

    def is_pending(self, pool: PoolPlan) -> bool:
        """Whether the pool's driver changes only after the first pool has the new one."""
        return pool.stable_name in self.previous_drivers and pool.stable_name in self.pending_pools

    def is_awaited(self, pool: PoolPlan) -> bool:
        """Whether the deployment waits for the pool's nodes."""
        return (
            pool.stable_name in self.previous_drivers
            and pool.stable_name not in self.pending_pools
            and pool.start_nodes > 0
        )


def rollout_hooks(
    name: str, kubectl: Kubectl, plan: PlatformPlan, exchange: DriverRollout
) -> pulumi.ResourceHookBinding:
    """Hooks around the change of the operator's driver version."""

    async def before(_: pulumi.ResourceHookArgs) -> None:
        await pause_rollout(kubectl, plan, exchange)

    async def after(_: pulumi.ResourceHookArgs) -> None:
        await release_and_retry_nodes(kubectl, plan, exchange)

    return pulumi.ResourceHookBinding(
        before_update=[pulumi.ResourceHook(f"gpuyard:{name}:drivers:hold", before)],
        after_update=[pulumi.ResourceHook(f"gpuyard:{name}:drivers:back", after)],
    )


def rollout_record_hooks(
    name: str, kubectl: Kubectl, plan: PlatformPlan, pool: PoolPlan, exchange: DriverRollout
) -> pulumi.ResourceHookBinding | None:
    """Hooks before the record of a pool's driver is written; None if its driver does not change."""
    waits, tries = exchange.is_pending(pool), exchange.is_awaited(pool)
    if not waits and not tries:
        return None

    async def before(_: pulumi.ResourceHookArgs) -> None:
        comes = driver_of(plan, pool)
        if waits:
            await finish_rollout(kubectl, plan, pool, comes=comes)
        else:
            had = exchange.previous_drivers[pool.stable_name]
            await wait_for_driver(kubectl, plan, pool, had=had, comes=comes)

    hook = pulumi.ResourceHook(f"gpuyard:{name}:drivers:{pool.stable_name}", before)
    # earlier gpuyard releases wrote no record
    return pulumi.ResourceHookBinding(before_create=[hook], before_update=[hook])


async def pause_rollout(kubectl: Kubectl, plan: PlatformPlan, exchange: DriverRollout) -> None:
    """Exclude the nodes of waiting pools, before the operator's driver version changes.

    Raises:
        DriverRolloutError: labelling failed, and the operator is unchanged.
    """
    marks = (f"{SKIP_UPGRADE_LABEL}=true", f"{DRIVER_WAITS_LABEL}={plan.name}", "--overwrite")
    for pool in filter(exchange.is_pending, plan.pools):
        selector = label_selector(pool.node_selector, f"{SKIP_UPGRADE_LABEL}!=true")
        if problem := await _label_all(kubectl, selector, marks):
            raise DriverRolloutError(
                f"gpuyard cannot label the nodes of pool {pool.name} to wait for the driver "
                f"rollout of another pool, so no driver was changed: {problem}\n  fix: {_REACH}"
            )


async def resume_rollout(kubectl: Kubectl, plan: PlatformPlan, pool: PoolPlan) -> None:
    """Let the operator upgrade the nodes of a pool: remove the label that gpuyard set.

    Raises:
        DriverRolloutError: the label cannot be removed.
    """
    ours = label_selector(pool.node_selector, f"{DRIVER_WAITS_LABEL}={plan.name}")
    if problem := await _label_all(kubectl, ours, _OFF):
        raise DriverRolloutError(
            f"the nodes of pool {pool.name} still wait for the driver rollout of another pool: "
            f"{problem}\n  fix: {kubectl.command('label', 'nodes', '-l', ours, *_OFF)}, or "
            f"{_REACH}"
        )


async def finish_rollout(
    kubectl: Kubectl, plan: PlatformPlan, pool: PoolPlan, *, comes: str
) -> None:
    """Release a pool of the second wave, and report what the operator continues after the deployment.

    Raises:
        DriverRolloutError: its nodes still wait.
    """
    await resume_rollout(kubectl, plan, pool)
    nodes = await _nodes(kubectl, label_selector(pool.node_selector)) or []
    outdated = [_name(node) for node in nodes if not _has(node, comes) and not _is_kept(node)]
    if outdated:
        pulumi.log.info(
            f"pool {pool.name}: the GPU Operator now installs driver {comes} on its nodes, one "
            f"node of the cluster at a time, after the last job on the node ends; {len(outdated)} "
            f"of {len(nodes)} nodes remain. The rollout continues after this deployment without "
            "another `up`. `gpuyard readiness STACK --live` shows its progress (INF-02)"
        )


async def wait_for_driver(
    kubectl: Kubectl, plan: PlatformPlan, pool: PoolPlan, *, had: str, comes: str
) -> None:
    """Wait until each node of the first pool has the new driver.

    Raises:
        DriverRolloutError: a node failed, the rollout is stalled, or kubectl cannot list the nodes.
    """
    await resume_rollout(kubectl, plan, pool)
    await _begin_again(kubectl, await _failed_nodes(kubectl, [pool]))
    seen: dict[str, tuple[str, str]] = {}
    end = time.monotonic() + STILL_SECONDS
    while True:
        nodes = await _nodes(kubectl, label_selector(pool.node_selector))
        if nodes is None:
            raise DriverRolloutError(
                f"gpuyard cannot list the nodes of pool {pool.name}, so their driver is unknown; "
                f"the other pools wait\n  fix: {_REACH}"
            )
        for node in nodes:
            if _label(node, UPGRADE_LABEL) == _FAILED:
                raise DriverRolloutError(await _failed(kubectl, plan, node, pool, had, comes))
        outdated = [node for node in nodes if not _has(node, comes) and not _is_kept(node)]
        if not outdated:
            _report(pool, nodes, comes)
            return
        picture = {_name(node): _picture(node) for node in outdated}
        if picture != seen:
            seen, end = picture, time.monotonic() + STILL_SECONDS
        elif time.monotonic() >= end:
            raise DriverRolloutError(_still(kubectl, pool, outdated, had, comes))
        await sleep(PAUSE_SECONDS)


async def release_and_retry_nodes(
    kubectl: Kubectl, plan: PlatformPlan, exchange: DriverRollout
) -> None:
    """After the operator's version changed: release nodes that need not wait, and retry failed nodes.

    After a rollback the waiting nodes already have the driver, but are marked for an upgrade. The
    operator compares drivers only on nodes without that mark, and would cordon and drain them
    needlessly. So the mark is removed first, and the label after the operator has compared. A
    remaining label is reported and does not fail the deployment.
    """
    compared = await _free(kubectl, plan, exchange)
    failed = await _failed_nodes(kubectl, plan.pools)
    if failed and not compared:
        # a retry before the operator has the new version fails with the old one
        await sleep(TOLD_SECONDS)
    await _begin_again(kubectl, failed)


async def _free(kubectl: Kubectl, plan: PlatformPlan, exchange: DriverRollout) -> bool:
    """Release nodes that need not wait; True if the operator has compared one with the new version."""
    waiting = [pool for pool in plan.pools if exchange.is_pending(pool)]
    driven = [pool for pool in plan.pools if pool.stable_name in exchange.previous_drivers]
    ours, end = f"{DRIVER_WAITS_LABEL}={plan.name}", time.monotonic() + BACK_SECONDS
    compared = False
    unreleased: list[_Node] = []
    while True:
        result = await _nodes(kubectl, ours)
        if result is not None:
            unreleased = [each for each in result if not _is_of(each, waiting)]
        if not unreleased:  # without access to the cluster, no node was labelled
            return compared
        if time.monotonic() >= end:
            pulumi.log.warn(
                f"{', '.join(map(_name, unreleased))} may keep {SKIP_UPGRADE_LABEL}, with which "
                "the GPU Operator skips their driver upgrade\n  fix: "
                f"{kubectl.command('label', 'nodes', '-l', ours, *_OFF)}"
            )
            return compared
        for node in unreleased:
            compared |= await _set_free(kubectl, node, at_once=_is_of(node, driven))
        await sleep(PAUSE_SECONDS)


async def _set_free(kubectl: Kubectl, node: _Node, *, at_once: bool) -> bool:
    """Remove the label after the operator has compared the node, or at once; True if it was compared."""
    state = _label(node, UPGRADE_LABEL)
    if state == _REQUIRED and not at_once:
        await kubectl.run_mutating("label", "node", _name(node), f"{UPGRADE_LABEL}-")
    elif state or at_once:
        await kubectl.run_mutating("label", "node", _name(node), *_OFF)
        return not at_once
    return False


async def _failed_nodes(kubectl: Kubectl, pools: Collection[PoolPlan]) -> list[str]:
    """Failed nodes: the operator does not retry them, and they count towards its limit."""
    result = await _nodes(kubectl, f"{UPGRADE_LABEL}={_FAILED}") or []
    return [_name(node) for node in result if _is_of(node, pools)]


async def _begin_again(kubectl: Kubectl, nodes: Iterable[str]) -> None:
    for node in nodes:
        await kubectl.run_mutating(
            "label", "node", node, f"{UPGRADE_LABEL}={_REQUIRED}", "--overwrite"
        )


async def _failed(
    kubectl: Kubectl, plan: PlatformPlan, node: _Node, pool: PoolPlan, had: str, comes: str
) -> str:
    name = _name(node)
    events = await event_messages(kubectl, name, _EVENT)
    why = await last_message(kubectl, _DRIVER, name) or (
        events[-1] if events else "no reason reported"
    )
    return (
        f"driver {comes} does not start on node {name} of pool {pool.name}: {why}\n  "
        f"{_others(plan, pool)} The GPU Operator has cordoned the node and upgrades no other "
        "node.\n  fix: repair the node and deploy again; or roll back: set `software: {driver: "
        f"{had}}}` and deploy"
    )


def _others(plan: PlatformPlan, pool: PoolPlan) -> str:
    if len(plan.pools) == 1:
        return "No other pool uses it."
    return f"Only pool {pool.name} was started: nodes of other pools keep their driver."


def _still(kubectl: Kubectl, pool: PoolPlan, outdated: list[_Node], had: str, comes: str) -> str:
    """The error of a stalled rollout."""
    progress = ", ".join(
        (f"{_name(node)} ({_picture(node)[0] or 'not started'})") for node in outdated
    )
    busy = [_name(node) for node in outdated if _picture(node)[0] == _JOBS]
    if busy:
        fields = f"spec.nodeName={busy[0]}"
        look = kubectl.command("get", "pods", "-A", "-l", PODSET_LABEL, "--field-selector", fields)
        fix = f"the GPU Operator waits until jobs end ({look}): deploy again after that"
    else:
        fix = (
            "check which nodes are cordoned or in progress, which count towards the limit: "
            f"{kubectl.command('get', 'nodes', '-L', UPGRADE_LABEL, '-L', DRIVER_VERSION_LABEL)}"
        )
    return (
        f"the rollout of driver {comes} in pool {pool.name} is stalled: no change for "
        f"{STILL_SECONDS / 60:.0f} minutes on {progress}; the other pools wait\n  fix: {fix}; or "
        f"roll back: set `software: {{driver: {had}}}` and deploy"
    )


def _report(pool: PoolPlan, nodes: list[_Node], comes: str) -> None:
    """Report nodes of the first pool that did not test the driver."""
    kept = [_name(node) for node in nodes if _is_kept(node) and not _has(node, comes)]
    if kept:
        pulumi.log.warn(
            f"{', '.join(kept)} of pool {pool.name} keep their driver: {SKIP_UPGRADE_LABEL}=true "
            "was set on them manually"
        )
    if len(nodes) == len(kept):
        pulumi.log.warn(
            f"pool {pool.name} has no node with driver {comes}: the other pools get it untested"
        )


async def _label_all(kubectl: Kubectl, selector: str, labels: Iterable[str]) -> str:
    """Label until the selector matches no node; returns the error, or "". Deleted nodes are ignored."""
    before, problem = list[str](), ""
    while names := await kubectl.names("nodes", "-l", selector):
        if names == before:
            return problem or (
                f"{', '.join(names)}: the labels were changed back after gpuyard set them"
            )
        before, problem = names, await kubectl.run_mutating("label", *names[:AT_ONCE], *labels)
    return "gpuyard could not list the nodes" if names is None else ""


async def _nodes(kubectl: Kubectl, selector: str) -> list[_Node] | None:
    result = await kubectl.get("nodes", "-l", selector)
    return None if result is None else list(result["items"])


def _is_of(node: _Node, pools: Iterable[PoolPlan]) -> bool:
    return any(
        all(_label(node, key) == value for key, value in pool.node_selector.items())
        for pool in pools
    )


def _has(node: _Node, driver: str) -> bool:
    """Whether the node has the driver. A new node may have no state yet, but has the newest driver."""
    here = _label(node, DRIVER_VERSION_LABEL) == driver
    return here and _label(node, UPGRADE_LABEL) in {"", _DONE}


def _is_kept(node: _Node) -> bool:
    """Whether a manually set label excludes the node."""
    labels = node["metadata"].get("labels") or {}
    return labels.get(SKIP_UPGRADE_LABEL) == "true" and DRIVER_WAITS_LABEL not in labels


def _picture(node: _Node) -> tuple[str, str]:
    return _label(node, UPGRADE_LABEL), _label(node, DRIVER_VERSION_LABEL)


def _label(node: _Node, key: str) -> str:
    return str((node["metadata"].get("labels") or {}).get(key, ""))


def _name(node: _Node) -> str:
    return str(node["metadata"]["name"])
