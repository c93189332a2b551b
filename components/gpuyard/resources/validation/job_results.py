"""A look at the pods that checked a pool's nodes: their last words, and whether each had a node of its own.

The engine shows of a failed Job that it failed. Which node, which check, which value and which floor, the
pods' last words say. And a Job that succeeded may have looked at one node twice: pods wait for each other,
but one that was put out by a drain after that is made again, and may find the place of one that has ended.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import pulumi

from gpuyard.names import (
    CHECKS_LABEL,
    COUNT_LABEL,
    DEFERRED_ANNOTATION,
    JOB_NAME_LABEL,
    QUEUE_LABEL,
    WORK_LABEL,
)
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.render.gpu_operator.objects import operator_namespace
from gpuyard.render.validation.jobs import check_name
from gpuyard.render.validation.work import LateJob
from gpuyard.resources.diagnosis.kubectl import Kubectl, label_selector
from gpuyard.resources.validation.measurements import (
    measurements_text,
    readable_lines,
    termination_message,
)
from gpuyard.resources.validation.node_consistency import (
    inconsistency_text,
    recorded_inconsistencies,
    warning,
)

_Object = Mapping[str, Any]
NO_VERDICT_REASON = (
    "the first failure and the deadline end those that run; without a share some never start"
)
"""Why a pod of a share may have no verdict."""


class CheckFailed(pulumi.RunError):
    """A node that was to be checked was not."""


def every_node_hook(
    name: str, kubectl: Kubectl, plan: PlatformPlan, pool: PoolPlan
) -> pulumi.ResourceHookBinding:
    """Before it is written down that a pool has passed: whether all its nodes were looked at."""
    job, space = check_name(plan, pool), operator_namespace(plan)
    called = f"gpuyard:{name}:{pool.stable_name}:checked"
    return _hook(called, kubectl, pool, job, nodes=pool.start_nodes, space=space)


def worked_hook(
    name: str, kubectl: Kubectl, job: LateJob, space: str
) -> pulumi.ResourceHookBinding:
    """The same of its GPUs at work, of its shares, and of what it reads."""
    called = f"gpuyard:{name}:{job.name}:worked"
    queued = job.spare is not None
    return _hook(
        called, kubectl, job.pool, job.name, nodes=job.nodes, space=space, deferrable=queued
    )


def _hook(
    called: str,
    kubectl: Kubectl,
    pool: PoolPlan,
    job: str,
    *,
    nodes: int,
    space: str,
    deferrable: bool = False,
) -> pulumi.ResourceHookBinding:
    async def before(_: pulumi.ResourceHookArgs) -> None:
        pods = await pods_of(kubectl, job, space)
        if pods is None:
            raise CheckFailed(
                f"pool {pool.name}: the pods that checked it cannot be looked at, so nobody knows which nodes"
                " were checked\n  fix: deploy where kubectl reaches the cluster"
            )
        seen = {str(pod["spec"].get("nodeName")) for pod in pods if _phase(pod) == "Succeeded"}
        if len(seen) < nodes and not (deferrable and await deferral_reason(kubectl, job, space)):
            again = kubectl.command("delete", "job", job, "-n", space)
            raise CheckFailed(
                f"pool {pool.name}: of {nodes} nodes {len(seen)} were checked"
                f" ({', '.join(sorted(seen))}): the others were not ready when these had ended\n"
                f"  fix: wait for its nodes, then {again} and pulumi up --refresh"
            )

    hook = pulumi.ResourceHook(called, before)
    return pulumi.ResourceHookBinding(before_create=[hook], before_update=[hook])


async def deferral_reason(kubectl: Kubectl, job: str, namespace: str) -> str:
    """Why a Job was ended without a verdict; empty where it was not."""
    return job_deferral_reason(await kubectl.get("job", job, "-n", namespace))


def job_deferral_reason(job: _Object | None) -> str:
    """The same of a Job that is known."""
    annotations = (job or {}).get("metadata", {}).get("annotations") or {}
    return str(annotations.get(DEFERRED_ANNOTATION, ""))


async def pool_inconsistencies(kubectl: Kubectl, plan: PlatformPlan, pool: PoolPlan) -> str:
    """Driver and firmware that the nodes of a pool that has passed do not have alike; warns of them."""
    pods = await pods_of(kubectl, check_name(plan, pool), operator_namespace(plan))
    passed_pods = [pod for pod in pods or () if _phase(pod) == "Succeeded"]
    result = inconsistency_text(
        (str(pod["spec"].get("nodeName")), termination_message(pod)) for pod in passed_pods
    )
    if message := warning(pool.name, recorded_inconsistencies(result)):
        pulumi.log.warn(message)
    return result


async def read_measurements(kubectl: Kubectl, job: str, namespace: str) -> str:
    """The figures of a Job that has passed, as its verdict keeps them; none where nobody could look."""
    pods = await pods_of(kubectl, job, namespace)
    return measurements_text(
        termination_message(pod) for pod in pods or () if _phase(pod) == "Succeeded"
    )


def job_measurements(
    job: pulumi.CustomResource, looks: Kubectl | None, name: str, namespace: str
) -> pulumi.Output[str]:
    """The same, once the Job has ended."""
    return wait_for_job(job, looks, lambda kubectl: read_measurements(kubectl, name, namespace))


def wait_for_job(
    job: pulumi.CustomResource,
    looks: Kubectl | None,
    read: Callable[[Kubectl], Awaitable[str]],
) -> pulumi.Output[str]:
    """What is read when the Job has ended; a preview of one that is still to be made knows nothing."""

    async def ended(_: str) -> str:
        return await read(looks) if looks is not None else "{}"

    return job.id.apply(ended)


async def pods_of(kubectl: Kubectl, job: str, namespace: str) -> list[_Object] | None:
    """All pods of a Job; None where nobody could look."""
    result = await kubectl.get("pods", "-n", namespace, "-l", f"{JOB_NAME_LABEL}={job}")
    return None if result is None else list(result["items"])


def _is_of(job: _Object, what: str) -> bool:
    """Whether a Job of the check tries shares, or volumes."""
    labels = job["spec"]["template"]["metadata"]["labels"]
    return str(labels.get(WORK_LABEL, "")).endswith(f"-{what}")


def checks_nodes(job: _Object) -> bool:
    """Whether an object is a Job that checks nodes."""
    if job.get("kind") != "Job":
        return False
    labels = job["spec"]["template"].get("metadata", {}).get("labels") or {}
    return CHECKS_LABEL in labels


async def failed_check(kubectl: Kubectl, job: _Object) -> str:
    """What there is to say of a check that a deployment has waited for in vain."""
    name, space = job["metadata"]["name"], job["metadata"]["namespace"]
    pods = await pods_of(kubectl, name, space)
    look = kubectl.command(
        "get", "pods", "-n", space, "-l", f"{JOB_NAME_LABEL}={name}", "-o", "wide"
    )
    if pods is None:
        return f"What the pods of {name} found, their last words say: {look}"
    chosen = job["spec"]["template"]["spec"]["nodeSelector"]
    count_command = kubectl.command("get", "nodes", "-l", label_selector(chosen), "-L", COUNT_LABEL)
    if not pods and QUEUE_LABEL in (job["metadata"].get("labels") or {}):
        return waiting_message(kubectl, job)
    if _is_of(job, "volumes"):
        return format_volume_failures(pods, look)
    if _is_of(job, "shares"):
        return format_share_failures(pods, int(job["spec"]["completions"]), look)
    return format_failures(pods, int(job["spec"]["completions"]), look, count_command)


def waiting_message(kubectl: Kubectl, job: _Object) -> str:
    """Of a check that its queue never let begin."""
    name, space = job["metadata"]["name"], job["metadata"]["namespace"]
    look = kubectl.command("get", "workloads", "-n", space)
    return "\n".join(
        [
            f"No GPU was put to work: Kueue has not admitted {name}, and no queue was seen to use its pool.",
            "  The condition QuotaReserved of its Workload says what is missing.",
            f"  fix: deploy again when that is there, or write validation.profile: quick. {look} -o yaml",
        ]
    )


def format_failures(pods: Iterable[_Object], nodes: int, look: str, count_command: str) -> str:
    """Each node that did not pass in its validator's own words, and how many have no verdict."""
    ended = [pod for pod in pods if _phase(pod) in {"Succeeded", "Failed"}]
    bad = [pod for pod in ended if _phase(pod) == "Failed"]
    lines = [f"  {line}" for pod in bad for line in _termination_message(pod)]
    seen = {str(pod["spec"].get("nodeName")) for pod in ended}
    if missing := nodes - len(seen):
        lines.append(
            f"  {missing} of {nodes} nodes have no verdict: the first failure and the deadline end all that"
            f" still run, and where a node is closed or its driver does not answer none starts: {count_command}"
        )
    fix = f"mend or replace the node, then deploy again: what failed runs again. {look}"
    return "\n".join(
        ["Not every node is known to be what the plan asks for:", *lines, f"  fix: {fix}"]
    )


def format_share_failures(pods: Iterable[_Object], expected: int, look: str) -> str:
    """What pods found wrong with their share, each thing once, and how many have no verdict."""
    ended = [pod for pod in pods if _phase(pod) in {"Succeeded", "Failed"}]
    bad = [pod for pod in ended if _phase(pod) == "Failed"]
    lines = list(dict.fromkeys(f"  {line}" for pod in bad for line in _termination_message(pod)))
    if missing := expected - len(ended):
        lines.append(f"  {missing} of {expected} pods have no verdict: {NO_VERDICT_REASON}")
    fix = f"compare what the node advertises with the plan, then deploy again. {look}"
    return "\n".join(["Sharing is not what the plan says:", *lines, f"  fix: {fix}"])


def format_volume_failures(pods: Iterable[_Object], look: str) -> str:
    """What the pod that read volumes has said; one that never began waits for what it mounts."""
    bad = [pod for pod in pods if _phase(pod) == "Failed"]
    lines = [f"  {line}" for pod in bad for line in _termination_message(pod)]
    if not lines:
        lines = ["  No pod has a verdict: one whose volume cannot be mounted never begins."]
    fix = f"look at the store and at the node's way to it, then deploy again. {look}"
    return "\n".join(["Data are not read as the plan says:", *lines, f"  fix: {fix}"])


def _termination_message(pod: _Object) -> list[str]:
    """Of its validator; a pod that nobody started has only a reason."""
    node = pod["spec"].get("nodeName", "no node")
    status = pod.get("status") or {}
    if lines := readable_lines(termination_message(pod)):
        return lines
    for container in status.get("containerStatuses") or []:
        ended = (container.get("state") or {}).get("terminated") or {}
        if ended:
            return [
                f"node {node}: the validator ended with {ended.get('exitCode')} and said nothing"
            ]
    return [f"node {node}: {status.get('reason', 'Failed')}: {status.get('message', '')}"]


def _phase(pod: _Object) -> str:
    return str((pod.get("status") or {}).get("phase", ""))
