"""Evaluates the pods of a validation Job: their termination messages, and that each ran on its own node.

The engine reports only that a Job failed. The termination messages of its pods name the node,
check, value and threshold. A Job that succeeded may have validated one node twice: pods wait for
each other, but a pod that is evicted by a drain and created again may get the node of a finished
one.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

import pulumi

from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.render.gpu_operator.objects import operator_namespace
from gpuyard.render.validation.jobs import check_name
from gpuyard.resources.diagnosis.kubectl import Kubectl, label_selector
from gpuyard.resources.validation.measurements import (
    MOST_LETTERS,
    figures_document,
    parse_measurements,
    readable_lines,
    recorded_text,
    short_text,
    termination_message,
)
from gpuyard_core.names import (
    CHECKS_LABEL,
    COUNT_LABEL,
    DEFERRED_ANNOTATION,
    JOB_NAME_LABEL,
    QUEUE_LABEL,
    WORK_LABEL,
)

_Object = Mapping[str, Any]
NO_VERDICT_REASON = (
    "the first failure or the deadline stops running pods; pods without a share never start"
)
"""Why a pod that tests a share may have no verdict."""


class CheckFailed(pulumi.RunError):
    """A node was not validated, or failed."""


def all_nodes_validated_hook(
    called: str,
    kubectl: Kubectl,
    pool: PoolPlan,
    job: str,
    *,
    nodes: int,
    space: str,
    deferrable: bool = False,
) -> pulumi.ResourceHookBinding:
    """Hook before the verdict of a Job is written: checks that all its nodes were validated."""

    async def before(_: pulumi.ResourceHookArgs) -> None:
        pods = await pods_of(kubectl, job, space)
        if pods is None:
            raise CheckFailed(
                f"pool {pool.name}: gpuyard cannot list the validation pods, so it does not know "
                "which nodes were validated\n  fix: deploy from where kubectl reaches the cluster"
            )
        seen = {str(pod["spec"].get("nodeName")) for pod in pods if _phase(pod) == "Succeeded"}
        if len(seen) < nodes and not (
            deferrable and deferral_reason(await kubectl.get("job", job, "-n", space))
        ):
            again = kubectl.command("delete", "job", job, "-n", space)
            raise CheckFailed(
                f"pool {pool.name}: {len(seen)} of {nodes} nodes were validated "
                f"({', '.join(sorted(seen))}): the others were not ready in time\n  fix: wait for "
                f"its nodes, then run {again} and pulumi up --refresh"
            )

    hook = pulumi.ResourceHook(called, before)
    return pulumi.ResourceHookBinding(before_create=[hook], before_update=[hook])


def deferral_reason(job: _Object | None) -> str:
    """Why a Job was deferred; "" if it was not."""
    annotations = (job or {}).get("metadata", {}).get("annotations") or {}
    return str(annotations.get(DEFERRED_ANNOTATION, ""))


async def pool_inconsistencies(kubectl: Kubectl, plan: PlatformPlan, pool: PoolPlan) -> str:
    """Driver and firmware versions that differ between the nodes of a passed pool; logs a warning."""
    pods = await pods_of(kubectl, check_name(plan, pool), operator_namespace(plan))
    passed_pods = [pod for pod in pods or () if _phase(pod) == "Succeeded"]
    mixed = inconsistent_nodes(
        (str(pod["spec"].get("nodeName")), termination_message(pod)) for pod in passed_pods
    )
    if message := inconsistency_warning(pool.name, mixed):
        pulumi.log.warn(message)
    return recorded_text(mixed)


async def read_measurements(kubectl: Kubectl, job: str, namespace: str) -> str:
    """The measured values of a passed Job in the form of its verdict; "" if they cannot be read."""
    pods = await pods_of(kubectl, job, namespace)
    messages = (termination_message(pod) for pod in pods or () if _phase(pod) == "Succeeded")
    return recorded_text(parse_measurements(messages))


def job_measurements(
    job: pulumi.CustomResource, looks: Kubectl | None, name: str, namespace: str
) -> pulumi.Output[str]:
    """The same as an output, once the Job has ended."""
    return wait_for_job(job, looks, lambda kubectl: read_measurements(kubectl, name, namespace))


def wait_for_job(
    job: pulumi.CustomResource,
    looks: Kubectl | None,
    read: Callable[[Kubectl], Awaitable[str]],
) -> pulumi.Output[str]:
    """The result of a query after the Job has ended; unknown in the preview of a new Job."""

    async def ended(_: str) -> str:
        return await read(looks) if looks is not None else "{}"

    return job.id.apply(ended)


async def pods_of(kubectl: Kubectl, job: str, namespace: str) -> list[_Object] | None:
    """All pods of a Job; None if the query failed."""
    result = await kubectl.get("pods", "-n", namespace, "-l", f"{JOB_NAME_LABEL}={job}")
    return None if result is None else list(result["items"])


def is_node_validation_job(job: _Object) -> bool:
    """Whether the object is a Job that validates nodes."""
    if job.get("kind") != "Job":
        return False
    labels = job["spec"]["template"].get("metadata", {}).get("labels") or {}
    return CHECKS_LABEL in labels


async def failed_check_message(kubectl: Kubectl, job: _Object) -> str:
    """The diagnosis of a validation that failed."""
    name, space = job["metadata"]["name"], job["metadata"]["namespace"]
    pods = await pods_of(kubectl, name, space)
    look = kubectl.command(
        "get", "pods", "-n", space, "-l", f"{JOB_NAME_LABEL}={name}", "-o", "wide"
    )
    if pods is None:
        return f"The termination messages of the pods of {name} have the results: {look}"
    chosen = job["spec"]["template"]["spec"]["nodeSelector"]
    count_command = kubectl.command("get", "nodes", "-l", label_selector(chosen), "-L", COUNT_LABEL)
    if not pods and QUEUE_LABEL in (job["metadata"].get("labels") or {}):
        look = kubectl.command("get", "workloads", "-n", space)
        return (
            f"No GPU was tested: Kueue has not admitted {name}, and no queue was seen using its "
            "pool.\n  The condition QuotaReserved of its Workload names what is missing.\n  fix: "
            f"deploy again when it is available, or set validation.profile: quick. {look} -o yaml"
        )
    work = str(job["spec"]["template"]["metadata"]["labels"].get(WORK_LABEL, ""))
    expected = int(job["spec"]["completions"])
    return format_failures(work.rpartition("-")[2], pods, expected, look, count_command)


def format_failures(
    work: str, pods: Sequence[_Object], expected: int, look: str, count_command: str
) -> str:
    """The messages of failed pods, each once, and how many have no verdict.

    `work` is shares, volumes, or another text for a validation of whole nodes. A pod that never
    started to read volumes waits for a mount.
    """
    ended = [pod for pod in pods if _phase(pod) in {"Succeeded", "Failed"}]
    bad = [pod for pod in ended if _phase(pod) == "Failed"]
    lines = [f"  {line}" for pod in bad for line in _termination_message(pod)]
    if work == "volumes":
        title = "Reading data does not match the plan:"
        fix = "check the store and the network path from the node to it, then deploy again."
        if not lines:
            lines = ["  No pod has a verdict: a pod whose volume cannot be mounted never starts."]
    elif work == "shares":
        title = "GPU sharing does not match the plan:"
        fix = "compare the node's advertised resources with the plan, then deploy again."
        lines = list(dict.fromkeys(lines))
        if missing := expected - len(ended):
            lines.append(f"  {missing} of {expected} pods have no verdict: {NO_VERDICT_REASON}")
    else:
        title = "Not every node is confirmed to match the plan:"
        fix = "repair or replace the node, then deploy again: failed validations are repeated."
        if missing := expected - len({str(pod["spec"].get("nodeName")) for pod in ended}):
            lines.append(
                f"  {missing} of {expected} nodes have no verdict: the first failure or the "
                "deadline stops running pods, and none starts on a node that is cordoned or whose "
                f"driver does not respond: {count_command}"
            )
    return "\n".join([title, *lines, f"  fix: {fix} {look}"])


def _termination_message(pod: _Object) -> list[str]:
    """The validator's message; a pod that did not start has only a reason."""
    node = pod["spec"].get("nodeName", "no node")
    status = pod.get("status") or {}
    if lines := readable_lines(termination_message(pod)):
        return lines
    for container in status.get("containerStatuses") or []:
        ended = (container.get("state") or {}).get("terminated") or {}
        if ended:
            return [
                f"node {node}: the validator exited with {ended.get('exitCode')} and no message"
            ]
    return [f"node {node}: {status.get('reason', 'Failed')}: {status.get('message', '')}"]


def _phase(pod: _Object) -> str:
    return str((pod.get("status") or {}).get("phase", ""))


InconsistentNodes = Mapping[str, Mapping[str, list[str]]]
"""By part: its versions, each with the nodes that have it."""
MOST_PARTS, MOST_VERSIONS, MOST_NODES = 8, 8, 64
SHOWN = 8
"""The maximum number of node names per version in a warning."""
_CALLED = {
    "driver": "driver",
    "vbios": "VBIOS",
    "gsp_firmware": "GSP firmware",
    "inforom_image": "InfoROM image",
}


def inconsistent_nodes(messages: Iterable[tuple[str, str]]) -> InconsistentNodes:
    """The parts with several versions, from the nodes' termination messages."""
    results: dict[str, dict[str, set[str]]] = {}
    for node, message in messages:
        for part, version in _parts(message).items():
            results.setdefault(part, {}).setdefault(version, set()).add(node[:MOST_LETTERS])
    several = {part: versions for part, versions in sorted(results.items()) if len(versions) > 1}
    return {
        part: {
            version: sorted(nodes)[:MOST_NODES]
            for version, nodes in sorted(versions.items())[:MOST_VERSIONS]
        }
        for part, versions in list(several.items())[:MOST_PARTS]
    }


def inconsistency_warning(pool: str, mixed: InconsistentNodes) -> str:
    """The warning; "" if all nodes have the same versions."""
    if not mixed:
        return ""
    lines = [
        f"  {_CALLED.get(part, part)} {version}: {_names(nodes)}"
        for part, versions in mixed.items()
        for version, nodes in versions.items()
    ]
    fix = (
        "use one node image and one VBIOS for all: a job on several of them may run at the pace "
        "of the slowest, or fail on one only"
    )
    return "\n".join([f"The nodes of pool {pool} are not identical:", *lines, f"  fix: {fix}"])


def _names(nodes: list[str]) -> str:
    more = f" and {len(nodes) - SHOWN} more" if len(nodes) > SHOWN else ""
    return ", ".join(nodes[:SHOWN]) + more


def _parts(message: str) -> dict[str, str]:
    """One text by part; a node whose GPUs differ has a combined version."""
    try:
        raw = figures_document(message)["parts"]
        return {
            short_text(part): " and ".join(short_text(each) for each in raw[part]) for part in raw
        }
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return {}
