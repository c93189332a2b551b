"""Nodes kept without a job: a pod without requests on each of a number of nodes.

The autoscaler of a pool adds nodes for pending pods, and removes no node on which such a pod runs.
The pods use no GPU, CPU or memory, and so do not block jobs: a node with jobs counts among the kept
nodes.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.plan.capacity.cron import kubernetes_cron
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.render.objects import (
    POD_FAILURE_POLICY,
    SKIP_AWAIT,
    Object,
    managed_object,
    toleration_object,
)
from gpuyard.render.programs import CONFINED, UNPRIVILEGED_USER
from gpuyard.render.pulled_image import PulledImage
from gpuyard.render.supply.prepull import pause_image
from gpuyard.spec.pools import Scaling
from gpuyard.spec.sections import KeepWarmWindow, Provisioning
from gpuyard_core.catalogue.kubernetes.autoscalers import STAYS
from gpuyard_core.names import HOSTNAME_LABEL, JOB_NAME_LABEL, KEEPS_LABEL, system_namespace

_BEGINS_WITHIN = 600
"""Seconds: a window that could not start in time is skipped, or it would end that much later."""
_RETRIES = 1000
"""An evicted pod does not count as a failure; after other failures the pod is replaced."""
_TEMPLATE_LABEL = "pod-template-hash"


def keep_warm_objects(plan: PlatformPlan) -> list[Object]:
    """Minimums of pools whose autoscaler has none, and keep-warm windows of pools that scale."""
    if plan.queueing.dispatch:
        return []
    return [each for pool in plan.pools for each in _of_pool(plan, pool)]


def keep_warm_images(plan: PlatformPlan) -> list[PulledImage]:
    """The image of the pods that keep nodes."""
    return [pause_image(plan, "keep-warm nodes")] if keep_warm_objects(plan) else []


def _of_pool(plan: PlatformPlan, pool: PoolPlan) -> Iterator[Object]:
    if pool.scaling is Scaling.KARPENTER and pool.nodes.low:
        yield _minimum_deployment(plan, pool)
    if pool.scaling is not Scaling.FIXED and pool.provisioning is not Provisioning.QUEUED:
        for number, window in enumerate(pool.keep_warm):
            yield _window(plan, pool, number, window)


def _minimum_deployment(plan: PlatformPlan, pool: PoolPlan) -> Object:
    """Lasts as long as the platform; a deployment does not wait for nodes that boot."""
    spec = {
        "replicas": pool.nodes.low,
        "selector": {"matchLabels": _labels(pool)},
        "template": _template(plan, pool, _TEMPLATE_LABEL, {}),
    }
    return managed_object(
        plan.name,
        "apps/v1",
        "Deployment",
        f"floor-{pool.stable_name}",
        namespace=system_namespace(plan.name),
        annotations=SKIP_AWAIT,
        spec=spec,
    )


def _window(plan: PlatformPlan, pool: PoolPlan, number: int, window: KeepWarmWindow) -> Object:
    """The CronJob controller starts it, and its deadline ends it: no gpuyard program is involved.

    A window that starts again before its end lasts until the later end, on the nodes that it has.
    """
    job = {
        "parallelism": window.nodes,
        "completions": window.nodes,
        "activeDeadlineSeconds": window_seconds(window),
        # Its end is expected: the failed Job is deleted at once.
        "ttlSecondsAfterFinished": 0,
        "backoffLimit": _RETRIES,
        "podFailurePolicy": POD_FAILURE_POLICY,
        "template": _template(plan, pool, JOB_NAME_LABEL, {"restartPolicy": "Never"}),
    }
    spec = {
        "schedule": kubernetes_cron(window.cron),
        "timeZone": window.time_zone,
        "concurrencyPolicy": "Replace",
        "startingDeadlineSeconds": min(_BEGINS_WITHIN, window_seconds(window)),
        "successfulJobsHistoryLimit": 0,
        "failedJobsHistoryLimit": 0,
        "jobTemplate": {"spec": job},
    }
    name = f"warm-{pool.stable_name}-{number}"
    space = system_namespace(plan.name)
    return managed_object(plan.name, "batch/v1", "CronJob", name, namespace=space, spec=spec)


def window_seconds(window: KeepWarmWindow) -> int:
    """The duration; a deadline has whole seconds, at least one."""
    return max(1, round(window.hours * 3600))


def _labels(pool: PoolPlan) -> dict[str, str]:
    return {KEEPS_LABEL: pool.stable_name}


def _template(
    plan: PlatformPlan, pool: PoolPlan, one_set: str, more: Mapping[str, Any]
) -> dict[str, Any]:
    """One pod on each node: pods of one set repel each other, pods of two sets may share a node."""
    apart = {
        "topologyKey": HOSTNAME_LABEL,
        "labelSelector": {"matchLabels": _labels(pool)},
        "matchLabelKeys": [one_set],
    }
    return {
        "metadata": {"labels": _labels(pool), "annotations": {STAYS: "false"}},
        "spec": {
            **more,
            "automountServiceAccountToken": False,
            "nodeSelector": dict(sorted(pool.node_selector.items())),
            "tolerations": [toleration_object(taint) for taint in pool.taints],
            "affinity": {
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}
            },
            "terminationGracePeriodSeconds": 1,
            "securityContext": dict(UNPRIVILEGED_USER),
            "containers": [
                {
                    "name": "pause",
                    "image": pause_image(plan).reference,
                    "securityContext": dict(CONFINED),
                }
            ],
        },
    }
