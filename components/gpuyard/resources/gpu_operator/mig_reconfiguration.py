"""Repartitions the GPUs of one node before the engine changes its labels: cordon, drain, relabel, uncordon.

The MIG manager acts on the label alone and stops only the operator's own clients: on a node in use
it fails, or reboots the node with all its pods. So the node is cordoned first, and its jobs return
to their queues as a whole. Then the labels change; if the manager fails, they are restored. The
engine's own update comes last and changes nothing more, so its state and the node always agree.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any

import pulumi

from gpuyard.resources.diagnosis.kubectl import Kubectl, event_messages, last_message, merge_patch
from gpuyard_core.manifests.gpu_requests import is_gpu_resource
from gpuyard_core.names import (
    EVICTED_LABEL,
    MIG_CONFIG_LABEL,
    MIG_OFF,
    MIG_STATE_LABEL,
    WORKLOAD_ANNOTATION,
)

PAUSE_SECONDS = 1.0
DRAIN_SECONDS = 600.0
"""Includes the termination grace period of jobs."""
RECONFIGURE_SECONDS = 1200.0
"""Includes a reboot."""
_WORKLOADS = "workloads.kueue.x-k8s.io"
_FAILED = "MigConfigFailed"
Labels = Mapping[str, str | None]
Write = Callable[[Labels], Awaitable[str]]
"""Changes labels of a node, removing those with None; returns the error, or ""."""
_Object = Mapping[str, Any]


class MigReconfigureError(pulumi.RunError):
    """A node's GPUs were not repartitioned."""


async def reconfigure_node(
    kubectl: Kubectl, node: str, expected: Labels, write: Write | None = None
) -> None:
    """Cordon a node, return its jobs to their queues, repartition its GPUs, uncordon it.

    `write` changes labels that gpuyard owns by server-side apply.

    Raises:
        MigReconfigureError: it failed; the GPUs have their previous layout, unless the message says otherwise.
    """
    result = await kubectl.get("node", node)
    if result is None:
        raise MigReconfigureError(f"gpuyard cannot read node {node}: nothing on it was changed")
    before = {MIG_CONFIG_LABEL: MIG_OFF, **_of(result, expected)}
    await _release(kubectl)
    await kubectl.run_mutating("cordon", node)
    try:
        await _empty(kubectl, node)
    except MigReconfigureError:
        await kubectl.run_mutating("uncordon", node)
        raise
    why = await _apply_layout(kubectl, node, expected, write)
    if not why:
        await kubectl.run_mutating("uncordon", node)
        return
    if still := await _apply_layout(kubectl, node, before, write):
        raise MigReconfigureError(
            f"the GPUs of node {node} were not partitioned into {expected[MIG_CONFIG_LABEL]}: "
            f"{why}; nor back into {before[MIG_CONFIG_LABEL]}: {still}\n  fix: the node is "
            f"cordoned and drained: repair it, then run kubectl uncordon {node}"
        )
    await kubectl.run_mutating("uncordon", node)
    raise MigReconfigureError(
        f"the GPUs of node {node} were not partitioned into {expected[MIG_CONFIG_LABEL]}: {why}\n "
        f" The node has its previous layout, {before[MIG_CONFIG_LABEL]}, and accepts jobs. No "
        "further node of its pool was started.\n  fix: repair the node and deploy again; or "
        "restore the previous layout in the stack file"
    )


def _of(node: _Object, expected: Labels) -> dict[str, str | None]:
    """The current values of the labels that are to change."""
    labels = node["metadata"].get("labels") or {}
    return {key: labels[key] for key in expected if key in labels}


async def _empty(kubectl: Kubectl, node: str) -> None:
    """Return every job on the node to its queue, as a whole."""
    async for pods in _until(DRAIN_SECONDS, lambda: gpu_pods(kubectl, node)):
        if not pods:
            await _release(kubectl)
            return
        strangers = [pod_name(pod) for pod in pods if not _workload(pod)]
        if strangers:
            await _release(kubectl)
            raise MigReconfigureError(
                f"{', '.join(strangers)} on node {node} uses GPUs and was not started by a queue, "
                "so Kueue cannot restart it\n  fix: delete it, then deploy again"
            )
        if bare := [pod_name(pod) for pod in pods if not pod["metadata"].get("ownerReferences")]:
            pulumi.log.warn(
                f"node {node}: {', '.join(bare)} have no controller: they are deleted and not "
                "requeued"
            )
        for namespace, workload in {(pod["metadata"]["namespace"], _workload(pod)) for pod in pods}:
            change = {"metadata": {"labels": {EVICTED_LABEL: "true"}}, "spec": {"active": False}}
            await merge_patch(kubectl, _WORKLOADS, workload, namespace, change)
    await _release(kubectl)
    raise MigReconfigureError(
        f"pods on node {node} did not end within {DRAIN_SECONDS:.0f} s: its GPUs are not "
        "partitioned\n  fix: check "
        f"{kubectl.command('get', 'pods', '-A', '--field-selector', f'spec.nodeName={node}')}"
    )


async def _release(kubectl: Kubectl) -> None:
    """Reactivate evicted workloads, including those of an interrupted deployment."""
    result = await kubectl.get(_WORKLOADS, "-A", "-l", EVICTED_LABEL)
    for each in (result or {}).get("items") or []:
        change = {"metadata": {"labels": {EVICTED_LABEL: None}}, "spec": {"active": True}}
        meta = each["metadata"]
        await merge_patch(kubectl, _WORKLOADS, meta["name"], meta["namespace"], change)


async def _apply_layout(kubectl: Kubectl, node: str, expected: Labels, write: Write | None) -> str:
    """Change the labels and wait for the MIG manager; returns its error, or ""."""
    result = await kubectl.get("node", node) or {"metadata": {}}
    if _of(result, expected).get(MIG_CONFIG_LABEL) != expected[MIG_CONFIG_LABEL]:
        # the label still reports the state of the previous layout
        write = write or (lambda labels: relabel(kubectl, node, labels))
        if problem := await write({**expected, MIG_STATE_LABEL: None}):
            return problem
    state = None
    async for seen in _until(RECONFIGURE_SECONDS, lambda: kubectl.get("node", node)):
        state = ((seen or {"metadata": {}})["metadata"].get("labels") or {}).get(MIG_STATE_LABEL)
        if state == "success":
            return ""
        if state == "failed":
            return await _reason(kubectl, node, str(expected[MIG_CONFIG_LABEL]))
    return f"the MIG manager reports {state or 'nothing'} after {RECONFIGURE_SECONDS:.0f} s"


async def relabel(kubectl: Kubectl, node: str, labels: Labels) -> str:
    """Change these labels of a node and no others."""
    return await merge_patch(kubectl, "node", node, "", {"metadata": {"labels": labels}})


async def _reason(kubectl: Kubectl, node: str, config: str) -> str:
    """The last message of the manager's pod, otherwise the node's event for this configuration."""
    if text := await last_message(kubectl, "nvidia-mig-manager", node):
        return text
    async for events in _until(3 * PAUSE_SECONDS, lambda: event_messages(kubectl, node, _FAILED)):
        for message in events:
            if message.startswith(f"{config}: "):
                return str(message.removeprefix(f"{config}: "))
    return "the MIG manager reports failed without a reason"


async def gpu_pods(kubectl: Kubectl, node: str) -> list[_Object]:
    """The running pods on a node that use its GPUs.

    Raises:
        MigReconfigureError: kubectl cannot list them.
    """
    ended = "status.phase!=Succeeded,status.phase!=Failed"
    result = await kubectl.get("pods", "-A", "--field-selector", f"spec.nodeName={node},{ended}")
    if result is None:
        raise MigReconfigureError(
            f"gpuyard cannot list the pods of node {node}, so it does not change the MIG layout of its GPUs"
        )
    return [pod for pod in result["items"] if _holds(pod)]


def _holds(pod: _Object) -> bool:
    containers = [*pod["spec"]["containers"], *(pod["spec"].get("initContainers") or [])]
    limits = [(each.get("resources") or {}).get("limits") or {} for each in containers]
    return any(is_gpu_resource(name) for limit in limits for name in limit)


def _workload(pod: _Object) -> str:
    return str((pod["metadata"].get("annotations") or {}).get(WORKLOAD_ANNOTATION, ""))


def pod_name(pod: _Object) -> str:
    """The pod's name in messages."""
    return f"pod {pod['metadata']['namespace']}/{pod['metadata']['name']}"


async def _until(seconds: float, look: Callable[[], Awaitable[Any]]) -> AsyncGenerator[Any, None]:
    """Poll until the timeout."""
    end = time.monotonic() + seconds
    while True:
        yield await look()
        if time.monotonic() >= end:
            return
        await asyncio.sleep(PAUSE_SECONDS)
