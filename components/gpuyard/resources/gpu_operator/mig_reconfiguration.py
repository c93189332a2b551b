"""GPUs that are cut anew, before the engine gives a node new labels: one node, its jobs, and its way back.

The MIG manager acts on the label alone, and stops nothing but the operator's own clients: on a node in use
it fails, or reboots it with all that runs there. So the node is closed first, and its jobs go back to their
queues whole. Only then are the labels changed; when the manager fails, they are what they were. The engine's
own update comes last and changes nothing any more, so its state and the node never disagree.
"""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any

import pulumi

from gpuyard.manifests.gpu_requests import is_gpu_resource
from gpuyard.names import (
    EVICTED_LABEL,
    MIG_CONFIG_LABEL,
    MIG_OFF,
    MIG_STATE_LABEL,
    WORKLOAD_ANNOTATION,
)
from gpuyard.resources.diagnosis.kubectl import Kubectl
from gpuyard.resources.gpu_operator.pod_messages import event_messages, last_message

PAUSE_SECONDS = 1.0
DRAIN_SECONDS = 600.0
"""Jobs have their own grace to end in."""
RECONFIGURE_SECONDS = 1200.0
"""With a reboot in it."""
_WORKLOADS = "workloads.kueue.x-k8s.io"
_FAILED = "MigConfigFailed"
Labels = Mapping[str, str | None]
Write = Callable[[Labels], Awaitable[str]]
"""How a node's labels are changed, None taken away: what was said against it."""
_Object = Mapping[str, Any]


class MigReconfigureError(pulumi.RunError):
    """A node whose GPUs are as they were, and why."""


async def reconfigure_node(
    kubectl: Kubectl, node: str, expected: Labels, write: Write | None = None
) -> None:
    """Close a node, send its jobs back to their queues, cut its GPUs, open it.

    `write` changes labels where we own them by server-side apply.

    Raises:
        MigReconfigureError: it was not done, and the GPUs are as they were; or not even that.
    """
    result = await kubectl.get("node", node)
    if result is None:
        raise MigReconfigureError(f"node {node} cannot be looked at: nothing on it was changed")
    before = {MIG_CONFIG_LABEL: MIG_OFF, **_of(result, expected)}
    await _release(kubectl)
    await kubectl.change("cordon", node)
    try:
        await _empty(kubectl, node)
    except MigReconfigureError:
        await kubectl.change("uncordon", node)
        raise
    why = await _apply_layout(kubectl, node, expected, write)
    if not why:
        await kubectl.change("uncordon", node)
        return
    if still := await _apply_layout(kubectl, node, before, write):
        raise MigReconfigureError(
            f"the GPUs of node {node} were not cut into {expected[MIG_CONFIG_LABEL]}: {why}; nor back into"
            f" {before[MIG_CONFIG_LABEL]}: {still}\n"
            f"  fix: the node is closed and has none of its jobs: mend it, then kubectl uncordon {node}"
        )
    await kubectl.change("uncordon", node)
    raise MigReconfigureError(
        f"the GPUs of node {node} were not cut into {expected[MIG_CONFIG_LABEL]}: {why}\n"
        f"  It has the layout of before, {before[MIG_CONFIG_LABEL]}, and takes jobs. No other node of its"
        " pool was begun after it.\n"
        "  fix: mend the node and deploy again; or write the layout of before into the stack file"
    )


def _of(node: _Object, expected: Labels) -> dict[str, str | None]:
    """What the node has now of the labels that are to change."""
    labels = node["metadata"].get("labels") or {}
    return {key: labels[key] for key in expected if key in labels}


async def _empty(kubectl: Kubectl, node: str) -> None:
    """Every job on the node goes back to its queue, as a whole."""
    async for pods in _until(DRAIN_SECONDS, lambda: gpu_pods(kubectl, node)):
        if not pods:
            await _release(kubectl)
            return
        strangers = [pod_name(pod) for pod in pods if not _workload(pod)]
        if strangers:
            await _release(kubectl)
            raise MigReconfigureError(
                f"{', '.join(strangers)} on node {node} holds GPUs, and no queue started it: nobody could"
                " start it again\n  fix: end it, then deploy again"
            )
        if bare := [pod_name(pod) for pod in pods if not pod["metadata"].get("ownerReferences")]:
            pulumi.log.warn(
                f"node {node}: {', '.join(bare)} without a controller: deleted for good, not requeued"
            )
        for namespace, workload in {(pod["metadata"]["namespace"], _workload(pod)) for pod in pods}:
            change = {"metadata": {"labels": {EVICTED_LABEL: "true"}}, "spec": {"active": False}}
            await _patch(kubectl, _WORKLOADS, workload, change, namespace)
    await _release(kubectl)
    raise MigReconfigureError(
        f"pods on node {node} do not end within {DRAIN_SECONDS:.0f} s: its GPUs are not cut\n"
        f"  fix: see {kubectl.command('get', 'pods', '-A', '--field-selector', f'spec.nodeName={node}')}"
    )


async def _release(kubectl: Kubectl) -> None:
    """What was put out may start again, also what a deployment that was killed has put out."""
    result = await kubectl.get(_WORKLOADS, "-A", "-l", EVICTED_LABEL)
    for each in (result or {}).get("items") or []:
        change = {"metadata": {"labels": {EVICTED_LABEL: None}}, "spec": {"active": True}}
        meta = each["metadata"]
        await _patch(kubectl, _WORKLOADS, meta["name"], change, meta["namespace"])


async def _apply_layout(kubectl: Kubectl, node: str, expected: Labels, write: Write | None) -> str:
    """Change the labels and wait for the manager; why it failed, or nothing."""
    result = await kubectl.get("node", node) or {"metadata": {}}
    if _of(result, expected).get(MIG_CONFIG_LABEL) != expected[MIG_CONFIG_LABEL]:
        # what the state says now is of the layout before
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
    return f"the MIG manager says {state or 'nothing'} after {RECONFIGURE_SECONDS:.0f} s"


async def relabel(kubectl: Kubectl, node: str, labels: Labels) -> str:
    """Change labels of a node and no others."""
    return await _patch(kubectl, "node", node, {"metadata": {"labels": labels}})


async def _reason(kubectl: Kubectl, node: str, config: str) -> str:
    """What the manager's pod said last; else the node's event of this configuration."""
    if text := await last_message(kubectl, "nvidia-mig-manager", node):
        return text
    async for events in _until(3 * PAUSE_SECONDS, lambda: event_messages(kubectl, node, _FAILED)):
        for message in events:
            if message.startswith(f"{config}: "):
                return str(message.removeprefix(f"{config}: "))
    return "the MIG manager says failed, and not why"


async def gpu_pods(kubectl: Kubectl, node: str) -> list[_Object]:
    """Pods on a node that hold its GPUs, and have not ended.

    Raises:
        MigReconfigureError: nobody can look.
    """
    ended = "status.phase!=Succeeded,status.phase!=Failed"
    result = await kubectl.get("pods", "-A", "--field-selector", f"spec.nodeName={node},{ended}")
    if result is None:
        raise MigReconfigureError(
            f"the pods of node {node} cannot be looked at: its GPUs are not cut"
        )
    return [pod for pod in result["items"] if _holds(pod)]


def _holds(pod: _Object) -> bool:
    containers = [*pod["spec"]["containers"], *(pod["spec"].get("initContainers") or [])]
    limits = [(each.get("resources") or {}).get("limits") or {} for each in containers]
    return any(is_gpu_resource(name) for limit in limits for name in limit)


def _workload(pod: _Object) -> str:
    return str((pod["metadata"].get("annotations") or {}).get(WORKLOAD_ANNOTATION, ""))


def pod_name(pod: _Object) -> str:
    """A pod, for messages."""
    return f"pod {pod['metadata']['namespace']}/{pod['metadata']['name']}"


async def _patch(
    kubectl: Kubectl, kind: str, name: str, change: Mapping[str, Any], namespace: str = ""
) -> str:
    """What was said against it."""
    where = ("-n", namespace) if namespace else ()
    return await kubectl.change(
        "patch", kind, name, *where, "--type=merge", "-p", json.dumps(change)
    )


async def _until(seconds: float, look: Callable[[], Awaitable[Any]]) -> AsyncGenerator[Any, None]:
    """One look after the other, as long as it may take."""
    end = time.monotonic() + seconds
    while True:
        yield await look()
        if time.monotonic() >= end:
            return
        await asyncio.sleep(PAUSE_SECONDS)
