"""Checks that hold GPUs or shares are deferred while teams use these; the next `up` runs them again.

The engine waits until a Job succeeds or fails. A check that cannot start because admitted workloads of teams
use its pool does neither. The watch removes its Job from the queue and sets `completions: 0`, so that the
engine sees it succeed; an annotation on the Job records the reason. The next deployment replaces a Job with
that annotation.
https://kubernetes.io/docs/concepts/workloads/controllers/job/#elastic-indexed-jobs
"""

import asyncio
import time
from collections.abc import Coroutine, Iterable, Mapping
from typing import Any

import pulumi

from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.render.validation.jobs import FIGURES, FIGURES_KEY, VERDICT
from gpuyard.render.validation.work import DeferredJob
from gpuyard.resources.diagnosis.kubectl import Kubectl, merge_patch
from gpuyard.resources.validation.job_results import (
    deferral_reason,
    job_measurements,
    pods_of,
    read_measurements,
    wait_for_job,
)
from gpuyard.resources.validation.measurements import DEFERRED, recorded_text, recorded_values
from gpuyard_core.names import (
    ATTEMPT_ANNOTATION,
    DEFERRED_ANNOTATION,
    JOB_UID_LABEL,
    QUEUE_LABEL,
    load_validation_name,
)

PAUSE_SECONDS = 5.0
PATIENCE_SECONDS = 60.0
"""How long a check waits while teams use its pool, unless half the start deadline of queued pods is less."""
_WORKLOADS = "workloads.kueue.x-k8s.io"
_Object = Mapping[str, Any]


class QueuedJobWatch:
    """Watches one Job of a queue while the engine waits for it."""

    def __init__(
        self, kubectl: Kubectl, plan: PlatformPlan, job: DeferredJob, namespace: str
    ) -> None:
        """`kubectl` reaches the cluster in which the Job is created."""
        self._kubectl, self._job, self._namespace = kubectl, job, namespace
        self._queue = load_validation_name(plan.name)
        self._patience = min(PATIENCE_SECONDS, plan.queueing.start_minutes * 30.0)
        self._watch: asyncio.Task[None] | None = None
        self._why = ""  # the verdict of a Job that this deployment began to defer
        self._deferred = self._succeeded = False

    def hook(self, name: str) -> pulumi.ResourceHookBinding:
        """Start watching before the engine creates the Job."""

        async def before(_: pulumi.ResourceHookArgs) -> None:
            self._watch = asyncio.create_task(self.watch())

        called = f"gpuyard:{name}:{self._job.name}:watched"
        return pulumi.ResourceHookBinding(before_create=[pulumi.ResourceHook(called, before)])

    async def previous_deferrals(self) -> int:
        """How many times before this deployment the check was deferred."""
        found = await self._get()
        if found is None:
            return 0
        template = found["spec"]["template"]["metadata"].get("annotations") or {}
        return int(template.get(ATTEMPT_ANNOTATION, 0)) + bool(deferral_reason(found))

    async def verdict(self) -> str:
        """Passed, or why it is deferred; called when the engine has seen the Job succeed."""
        self._succeeded = True
        if self._watch is not None:
            await self._watch
        if self._deferred:
            return self._why
        return deferral_reason(await self._get()) or "passed"

    async def figures(self) -> str:
        """The values of the earlier deployment in which the check passed, otherwise those of the Job's pods."""
        name = self._job.verdict_object["metadata"]["name"]
        config_map = await self._kubectl.get("configmap", name, "-n", self._namespace) or {}
        data = config_map.get("data") or {}
        if data.get("verdict") == "passed":
            return recorded_text(recorded_values(data.get(FIGURES_KEY)))
        return await read_measurements(self._kubectl, self._job.name, self._namespace)

    async def watch(self) -> None:
        """Log what the Job waits for, and defer it while teams use its pool, until it has ended."""
        since: float | None = None
        while not (self._succeeded or _is_finished(result := await self._get())):
            if result is not None and self._why:
                await self._defer(result)
            elif result is not None:
                since = await self._look(result, since)
            await asyncio.sleep(PAUSE_SECONDS)

    async def _look(self, found: _Object, since: float | None) -> float | None:
        """Since when the Job waits for resources that teams use; a failed query changes nothing."""
        pool, waits = self._job.pool, await self._waits(found)
        queues = await self._kubectl.get("clusterqueues.kueue.x-k8s.io") if waits else {"items": ()}
        if waits is None or queues is None:
            return since
        if not (usage := used_by_teams(queues["items"], self._queue, pool)):
            return None
        if since is None:
            since = time.monotonic()
            pulumi.log.info(
                f"pool {pool.name}: validation {self._job.name} waits: {usage}. gpuyard defers it "
                f"in {self._patience:.0f} s if they are still in use"
            )
        if time.monotonic() - since >= self._patience:
            self._why = f"{DEFERRED}: {usage}; the next deployment retries it"
            await self._defer(found)
        return since

    async def _get(self) -> _Object | None:
        return await self._kubectl.get("job", self._job.name, "-n", self._namespace)

    async def _waits(self, result: _Object) -> bool | None:
        """Whether its queue has not admitted it, or too many of its pods have no node; None if unknown."""
        if result["spec"].get("suspend"):
            return True
        pods = await pods_of(self._kubectl, self._job.name, self._namespace)
        if pods is None:
            return None
        return sum(not pod["spec"].get("nodeName") for pod in pods) > (
            self._job.pending_pod_count or 0
        )

    async def _defer(self, result: _Object) -> None:
        """End the Job without pods. Kueue may suspend it again: the watch then calls this again.

        It completes even if the pool becomes free meanwhile: a Job outside its queue never starts.
        """
        problem = ""
        if result["spec"].get("suspend"):
            problem = await self._leave_queue(result["metadata"]["uid"])
        problem = problem or await self._patch(
            "job",
            self._job.name,
            {
                "metadata": {"annotations": {DEFERRED_ANNOTATION: self._why}},
                "spec": {"completions": 0, "parallelism": 0, "suspend": False},
            },
        )
        if problem:
            pulumi.log.info(
                f"gpuyard cannot defer validation {self._job.name} yet and tries again: {problem}"
            )
        elif not self._deferred:
            self._deferred = True
            pulumi.log.warn(
                f"pool {self._job.pool.name}: validation {self._job.name} is {self._why}"
            )

    async def _leave_queue(self, uid: str) -> str:
        """Kueue would admit an active Workload, and suspend a Job with the label of a queue again."""
        where = ("-n", self._namespace, "-l", f"{JOB_UID_LABEL}={uid}")
        result = await self._kubectl.get(_WORKLOADS, *where) or {}
        for each in result.get("items") or ():
            name = each["metadata"]["name"]
            if problem := await self._patch(_WORKLOADS, name, {"spec": {"active": False}}):
                return problem
        # the label can only change while the Job is suspended
        change = {"metadata": {"labels": {QUEUE_LABEL: None}}}
        return await self._patch("job", self._job.name, change)

    async def _patch(self, kind: str, name: str, change: _Object) -> str:
        return await merge_patch(self._kubectl, kind, name, self._namespace, change)


def used_by_teams(queues: Iterable[_Object], ours: str, pool: PoolPlan) -> str:
    """The amounts of the pool's resources that other ClusterQueues have admitted workloads for."""
    counted = {each.resource for each in pool.counted_resources}
    results = [
        f"queue {queue['metadata']['name']} uses {resource['total']} {resource['name']}"
        for queue in queues
        if queue["metadata"]["name"] != ours
        for flavor in (queue.get("status") or {}).get("flavorsReservation") or ()
        if flavor["name"] == pool.flavor
        for resource in flavor["resources"]
        if resource["name"] in counted and str(resource["total"]) != "0"
    ]
    return ", ".join(results)


def verdict_fields(
    job: DeferredJob,
    resource: pulumi.CustomResource,
    looks: Kubectl | None,
    watch: QueuedJobWatch | None,
    namespace: str,
) -> tuple[dict[str, pulumi.Input[str]], list[str]]:
    """Verdict and figures of a Job, and which of these fields keep the value first written."""
    if watch is None:  # the pods with the figures may be deleted
        read = job_measurements(resource, looks, job.name, namespace)
        return {FIGURES: read, VERDICT: "passed"}, [f"data.{FIGURES_KEY}"]
    verdict = wait_for_job(resource, looks, lambda _: watch.verdict())
    return {FIGURES: wait_for_job(resource, looks, lambda _: watch.figures()), VERDICT: verdict}, []


def with_attempt_annotation(job: _Object, attempt: Coroutine[Any, Any, int]) -> _Object:
    """The same Job with the number of its deferrals in its pod template, a change of which replaces it."""
    template = job["spec"]["template"]
    times: pulumi.Output[int] = pulumi.Output.from_input(attempt)
    metadata = times.apply(
        lambda n: (
            template["metadata"] | ({"annotations": {ATTEMPT_ANNOTATION: str(n)}} if n else {})
        )
    )
    return {**job, "spec": job["spec"] | {"template": template | {"metadata": metadata}}}


def _is_finished(result: _Object | None) -> bool:
    conditions = ((result or {}).get("status") or {}).get("conditions") or ()
    return any(c["type"] in {"Complete", "Failed"} and c["status"] == "True" for c in conditions)
