"""Drivers that the GPU Operator exchanges, pool by pool: who waits is skipped by it, who is tried is watched.

The operator takes nodes of all pools by a policy of its own, and leaves out a node with the label
`nvidia.com/gpu-driver-upgrade.skip=true`. So before it is told another driver, nodes of pools that are to
wait get that label, with one of ours beside it: a label that a hand has put there stays. The first pool's
record of its driver is written when each of its nodes has the new one; that of the others when their label is
off. A deployment that ends between the two is gone on with by the next one, since a record changes once.
"""

import time
from asyncio import sleep
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pulumi

from gpuyard.names import (
    DRIVER_VERSION_LABEL,
    DRIVER_WAITS_LABEL,
    PODSET_LABEL,
    SKIP_UPGRADE_LABEL,
    UPGRADE_LABEL,
)
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.resources.diagnosis.kubectl import Kubectl, label_selector
from gpuyard.resources.gpu_operator.pod_messages import event_messages, last_message

PAUSE_SECONDS = 2.0
STILL_SECONDS = 1800.0
"""So long nothing changes on any node of the first pool: a driver is built and loaded within it."""
BACK_SECONDS = 180.0
"""Until the operator has looked at a node again: it does so every two minutes."""
TOLD_SECONDS = 30.0
"""Until what Helm has written has reached the operator's own DaemonSet."""
AT_ONCE = 200
"""Nodes that one call labels: kubectl takes one after the other, and has 45 seconds."""
_OFF = (f"{SKIP_UPGRADE_LABEL}-", f"{DRIVER_WAITS_LABEL}-")
_DRIVER = "nvidia-driver-daemonset"
_EVENT = "GPUDriverUpgrade"
_DONE, _REQUIRED, _FAILED = "upgrade-done", "upgrade-required", "upgrade-failed"
_JOBS = "wait-for-jobs-required"
_REACH = "deploy where kubectl reaches the cluster"
_Node = Mapping[str, Any]


class DriverRolloutError(pulumi.RunError):
    """Nodes that do not have the driver that they are to have, and why."""


@dataclass(frozen=True, slots=True)
class DriverRollout:
    """What a deployment does to drivers, by pools' first names."""

    previous_drivers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Pools that get another driver, and the one that they have."""
    pending_pools: Collection[str] = ()
    """Those of the second turn."""

    def is_pending(self, pool: PoolPlan) -> bool:
        """Whether its driver is left until the first pool has proved the new one."""
        return pool.stable_name in self.previous_drivers and pool.stable_name in self.pending_pools

    def is_awaited(self, pool: PoolPlan) -> bool:
        """Whether the deployment waits for its nodes."""
        return (
            pool.stable_name in self.previous_drivers
            and pool.stable_name not in self.pending_pools
            and pool.start_nodes > 0
        )


async def pause_rollout(kubectl: Kubectl, plan: PlatformPlan, exchange: DriverRollout) -> None:
    """Before the operator is told: nodes of pools that wait are left out.

    Raises:
        DriverRolloutError: they cannot be, and the operator was told nothing.
    """
    marks = (f"{SKIP_UPGRADE_LABEL}=true", f"{DRIVER_WAITS_LABEL}={plan.name}", "--overwrite")
    for pool in filter(exchange.is_pending, plan.pools):
        selector = label_selector(pool.node_selector, f"{SKIP_UPGRADE_LABEL}!=true")
        if problem := await _label_all(kubectl, selector, marks):
            raise DriverRolloutError(
                f"the nodes of pool {pool.name} cannot be told to wait for another pool's driver, so no"
                f" driver was exchanged: {problem}\n  fix: {_REACH}"
            )


async def resume_rollout(kubectl: Kubectl, plan: PlatformPlan, pool: PoolPlan) -> None:
    """Let the operator have the nodes of a pool: the label goes where it is ours.

    Raises:
        DriverRolloutError: it cannot be taken off.
    """
    ours = label_selector(pool.node_selector, f"{DRIVER_WAITS_LABEL}={plan.name}")
    if problem := await _label_all(kubectl, ours, _OFF):
        raise DriverRolloutError(
            f"the nodes of pool {pool.name} still wait for another pool's driver: {problem}\n"
            f"  fix: {kubectl.command('label', 'nodes', '-l', ours, *_OFF)}, or {_REACH}"
        )


async def finish_rollout(
    kubectl: Kubectl, plan: PlatformPlan, pool: PoolPlan, *, comes: str
) -> None:
    """Release a pool of the second turn, and say what the operator goes on with after the deployment.

    Raises:
        DriverRolloutError: its nodes still wait.
    """
    await resume_rollout(kubectl, plan, pool)
    nodes = await _nodes(kubectl, label_selector(pool.node_selector)) or []
    outdated = [_name(node) for node in nodes if not _has(node, comes) and not _is_kept(node)]
    if outdated:
        pulumi.log.info(
            f"pool {pool.name}: from now on the GPU Operator puts driver {comes} on its nodes, one of all"
            " nodes at a time, when the last job on it has ended;"
            f" {len(outdated)} of {len(nodes)} have yet to get it."
            " What is left when this deployment has ended goes on by itself: no other `up` is needed."
            " `gpuyard readiness STACK --live` says how far it is (INF-02)"
        )


async def wait_for_driver(
    kubectl: Kubectl, plan: PlatformPlan, pool: PoolPlan, *, had: str, comes: str
) -> None:
    """Wait until each node of the first pool has the new driver.

    Raises:
        DriverRolloutError: one failed, nothing goes on, or nobody can look.
    """
    await resume_rollout(kubectl, plan, pool)
    await _begin_again(kubectl, await _failed_nodes(kubectl, [pool]))
    seen: dict[str, tuple[str, str]] = {}
    end = time.monotonic() + STILL_SECONDS
    while True:
        nodes = await _nodes(kubectl, label_selector(pool.node_selector))
        if nodes is None:
            raise DriverRolloutError(
                f"the nodes of pool {pool.name} cannot be looked at, so nobody knows which driver they have;"
                f" the other pools wait\n  fix: {_REACH}"
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
    """After the operator was told: who waits for nothing goes free, and nodes that failed are begun again.

    Where the driver of before was written again, nodes that waited have it, and are marked for another one
    all the same. The operator compares drivers of nodes at rest alone, and would close and empty them for
    nothing: so that mark goes first, until it has compared. What stays is said, and ends no deployment.
    """
    compared = await _free(kubectl, plan, exchange)
    failed = await _failed_nodes(kubectl, plan.pools)
    if failed and not compared:
        # one that is begun before the operator has the new version fails with the old
        await sleep(TOLD_SECONDS)
    await _begin_again(kubectl, failed)


async def _free(kubectl: Kubectl, plan: PlatformPlan, exchange: DriverRollout) -> bool:
    """Whether the operator has compared a node, so that it knows the version by now."""
    waiting = [pool for pool in plan.pools if exchange.is_pending(pool)]
    driven = [pool for pool in plan.pools if pool.stable_name in exchange.previous_drivers]
    ours, end = f"{DRIVER_WAITS_LABEL}={plan.name}", time.monotonic() + BACK_SECONDS
    compared = False
    unreleased: list[_Node] = []
    while True:
        result = await _nodes(kubectl, ours)
        if result is not None:
            unreleased = [each for each in result if not _is_of(each, waiting)]
        if not unreleased:  # who cannot look has marked none
            return compared
        if time.monotonic() >= end:
            pulumi.log.warn(
                f"{', '.join(map(_name, unreleased))} may keep {SKIP_UPGRADE_LABEL}, by which the GPU Operator"
                " leaves their driver\n"
                f"  fix: {kubectl.command('label', 'nodes', '-l', ours, *_OFF)}"
            )
            return compared
        for node in unreleased:
            compared |= await _set_free(kubectl, node, at_once=_is_of(node, driven))
        await sleep(PAUSE_SECONDS)


async def _set_free(kubectl: Kubectl, node: _Node, *, at_once: bool) -> bool:
    """Whether it was compared; only then its label goes, or at once where it is to get another driver."""
    state = _label(node, UPGRADE_LABEL)
    if state == _REQUIRED and not at_once:
        await kubectl.change("label", "node", _name(node), f"{UPGRADE_LABEL}-")
    elif state or at_once:
        await kubectl.change("label", "node", _name(node), *_OFF)
        return not at_once
    return False


async def _failed_nodes(kubectl: Kubectl, pools: Collection[PoolPlan]) -> list[str]:
    """One that failed is begun by nobody, and takes the place of another."""
    result = await _nodes(kubectl, f"{UPGRADE_LABEL}={_FAILED}") or []
    return [_name(node) for node in result if _is_of(node, pools)]


async def _begin_again(kubectl: Kubectl, nodes: Iterable[str]) -> None:
    for node in nodes:
        await kubectl.change("label", "node", node, f"{UPGRADE_LABEL}={_REQUIRED}", "--overwrite")


async def _failed(
    kubectl: Kubectl, plan: PlatformPlan, node: _Node, pool: PoolPlan, had: str, comes: str
) -> str:
    name = _name(node)
    events = await event_messages(kubectl, name, _EVENT)
    why = await last_message(kubectl, _DRIVER, name) or (
        events[-1] if events else "it does not say why"
    )
    return (
        f"driver {comes} does not come up on node {name} of pool {pool.name}: {why}\n"
        f"  {_others(plan, pool)} The GPU Operator has closed the node, and begins no other.\n"
        f"  fix: mend the node and deploy again; or go back: write `software: {{driver: {had}}}` and deploy"
    )


def _others(plan: PlatformPlan, pool: PoolPlan) -> str:
    if len(plan.pools) == 1:
        return "No other pool has it."
    return f"Only pool {pool.name} was begun: nodes of other pools keep their driver."


def _still(kubectl: Kubectl, pool: PoolPlan, outdated: list[_Node], had: str, comes: str) -> str:
    """Nothing has failed, and nothing goes on."""
    progress = ", ".join(f"{_name(node)} ({_picture(node)[0] or 'not begun'})" for node in outdated)
    busy = [_name(node) for node in outdated if _picture(node)[0] == _JOBS]
    if busy:
        fields = f"spec.nodeName={busy[0]}"
        look = kubectl.command("get", "pods", "-A", "-l", PODSET_LABEL, "--field-selector", fields)
        fix = f"the operator waits until jobs have ended ({look}): deploy again when they have"
    else:
        fix = (
            "see which nodes are closed or in progress, and count:"
            f" {kubectl.command('get', 'nodes', '-L', UPGRADE_LABEL, '-L', DRIVER_VERSION_LABEL)}"
        )
    return (
        f"pool {pool.name} does not get driver {comes}: for {STILL_SECONDS / 60:.0f} minutes nothing has"
        f" changed on {progress}; the other pools wait\n"
        f"  fix: {fix}; or go back: write `software: {{driver: {had}}}` and deploy"
    )


def _report(pool: PoolPlan, nodes: list[_Node], comes: str) -> None:
    """What the first pool does not tell of the others."""
    kept = [_name(node) for node in nodes if _is_kept(node) and not _has(node, comes)]
    if kept:
        pulumi.log.warn(
            f"{', '.join(kept)} of pool {pool.name} keep their driver: a hand has put"
            f" {SKIP_UPGRADE_LABEL}=true on them"
        )
    if len(nodes) == len(kept):
        pulumi.log.warn(
            f"pool {pool.name} has no node that got driver {comes}: the other pools get it untried"
        )


async def _label_all(kubectl: Kubectl, selector: str, labels: Iterable[str]) -> str:
    """Until none is selected any more: what was said against it. A node that goes meanwhile is no problem."""
    before, problem = list[str](), ""
    while names := await kubectl.names("nodes", "-l", selector):
        if names == before:
            return problem or f"{', '.join(names)}: the labels do not stay as they were written"
        before, problem = names, await kubectl.change("label", *names[:AT_ONCE], *labels)
    return "nobody could look for them" if names is None else ""


async def _nodes(kubectl: Kubectl, selector: str) -> list[_Node] | None:
    result = await kubectl.get("nodes", "-l", selector)
    return None if result is None else list(result["items"])


def _is_of(node: _Node, pools: Iterable[PoolPlan]) -> bool:
    """Whether it is of one of these pools."""
    return any(
        all(_label(node, key) == value for key, value in pool.node_selector.items())
        for pool in pools
    )


def _has(node: _Node, driver: str) -> bool:
    """A node that has just come may have no state yet, and its driver is the newest."""
    here = _label(node, DRIVER_VERSION_LABEL) == driver
    return here and _label(node, UPGRADE_LABEL) in {"", _DONE}


def _is_kept(node: _Node) -> bool:
    """Whether a hand, and not we, has the operator leave it out."""
    labels = node["metadata"].get("labels") or {}
    return labels.get(SKIP_UPGRADE_LABEL) == "true" and DRIVER_WAITS_LABEL not in labels


def _picture(node: _Node) -> tuple[str, str]:
    return _label(node, UPGRADE_LABEL), _label(node, DRIVER_VERSION_LABEL)


def _label(node: _Node, key: str) -> str:
    return str((node["metadata"].get("labels") or {}).get(key, ""))


def _name(node: _Node) -> str:
    return str(node["metadata"]["name"])
