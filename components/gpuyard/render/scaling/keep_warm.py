"""Nodes that are kept although no job asks for them: a pod that asks for nothing, on each of so many nodes.

Whoever scales a pool adds nodes for pods that wait, and takes none away on which such a pod runs. They take
no GPU, no CPU and no memory, and so are in no job's way: a node with jobs counts among those that are kept.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.catalogue.kubernetes.autoscalers import STAYS
from gpuyard.names import HOSTNAME_LABEL, JOB_NAME_LABEL, KEEPS_LABEL, system_namespace
from gpuyard.plan.capacity.cron import kubernetes_cron
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.render.objects import POD_FAILURE_POLICY, Object, managed_object, toleration_object
from gpuyard.render.programs import CONFINED, UNPRIVILEGED_USER
from gpuyard.render.supply.prepull import pause_image
from gpuyard.spec.pools import Scaling
from gpuyard.spec.sections import KeepWarmWindow, Provisioning

_BEGINS_WITHIN = 600
"""Seconds: a window that nobody could begin in time is left out, or it would end so much later."""
_RETRIES = 1000
"""A pod that is put out of its node is no failure; what else ends one is made good for."""
_TEMPLATE_LABEL = "pod-template-hash"


def keep_warm_objects(plan: PlatformPlan) -> list[Object]:
    """Floors of pools whose autoscaler has none, and every window of a pool that scales."""
    if plan.queueing.dispatch:
        return []
    return [each for pool in plan.pools for each in _of_pool(plan, pool)]


def _of_pool(plan: PlatformPlan, pool: PoolPlan) -> Iterator[Object]:
    if pool.scaling is Scaling.KARPENTER and pool.nodes.low:
        yield _minimum_deployment(plan, pool)
    if pool.scaling is not Scaling.FIXED and pool.provisioning is not Provisioning.QUEUED:
        for number, window in enumerate(pool.keep_warm):
            yield _window(plan, pool, number, window)


def _minimum_deployment(plan: PlatformPlan, pool: PoolPlan) -> Object:
    """For as long as the platform is there; a deployment does not wait for nodes that boot."""
    spec = {
        "replicas": pool.nodes.low,
        "selector": {"matchLabels": _labels(pool)},
        "template": _template(plan, pool, _TEMPLATE_LABEL, {}),
    }
    skip = {"pulumi.com/skipAwait": "true"}
    return managed_object(
        plan.name,
        "apps/v1",
        "Deployment",
        f"floor-{pool.stable_name}",
        namespace=system_namespace(plan.name),
        annotations=skip,
        spec=spec,
    )


def _window(plan: PlatformPlan, pool: PoolPlan, number: int, window: KeepWarmWindow) -> Object:
    """The cluster's own clock begins it, and its deadline ends it: nothing of ours runs for that.

    A window that begins again before it has ended goes on until the later end, on the nodes that it has.
    """
    job = {
        "parallelism": window.nodes,
        "completions": window.nodes,
        "activeDeadlineSeconds": window_seconds(window),
        # Its end is no failure that anybody should be told of.
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
    """How long it lasts; a deadline has whole seconds, and one at least."""
    return max(1, round(window.hours * 3600))


def _labels(pool: PoolPlan) -> dict[str, str]:
    return {KEEPS_LABEL: pool.stable_name}


def _template(
    plan: PlatformPlan, pool: PoolPlan, one_set: str, more: Mapping[str, Any]
) -> dict[str, Any]:
    """A pod a node: those of one set keep apart, and of two sets each may keep the same node."""
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
                    "image": pause_image(plan),
                    "securityContext": dict(CONFINED),
                }
            ],
        },
    }
