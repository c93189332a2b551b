"""MultiKueue's objects: the worker clusters of jobs, and the admission check that dispatches jobs.

A Secret is only named, never created: credentials of another cluster must not be in the stack file,
the state or the manifests.
"""

from typing import Any

from gpuyard.plan.queueing.multikueue import COLLECT_EVERY, FRAMEWORKS, LOST_AFTER
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.objects import Object, managed_object
from gpuyard_core.names import KUEUE_API, KUEUE_GROUP

_CLUSTER, _CONFIG = "MultiKueueCluster", "MultiKueueConfig"
CONTROLLER = f"{KUEUE_GROUP}/multikueue"


def multikueue_objects(plan: PlatformPlan) -> list[Object]:
    """Clusters, then the configuration that names them, then the check: each needs the former."""
    dispatch = plan.queueing.dispatch
    if dispatch is None:
        return []
    clusters = [
        managed_object(
            plan.name,
            KUEUE_API,
            _CLUSTER,
            worker.title,
            spec={
                "clusterSource": {
                    "kubeConfig": {"location": worker.secret, "locationType": "Secret"}
                }
            },
        )
        for worker in dispatch.clusters
    ]
    # quotas come from the plan: Kueue's sum of the clusters' quotas supports one flavor, and is
    # alpha
    config = {"clusters": [w.title for w in dispatch.clusters], "quotaManagement": "Manual"}
    named = {"apiGroup": KUEUE_GROUP, "kind": _CONFIG, "name": dispatch.config}
    check = {"controllerName": CONTROLLER, "parameters": named}
    return [
        *clusters,
        managed_object(plan.name, KUEUE_API, _CONFIG, dispatch.config, spec=config),
        managed_object(plan.name, KUEUE_API, "AdmissionCheck", dispatch.check, spec=check),
    ]


def multikueue_admission_checks(plan: PlatformPlan) -> list[Object]:
    """The check of every queue, for all flavors: Kueue rejects one only for some."""
    dispatch = plan.queueing.dispatch
    return [{"name": dispatch.check}] if dispatch else []


def dispatch_configuration(plan: PlatformPlan) -> dict[str, Any]:
    """The manager's settings, instead of those for jobs that run in this cluster."""
    dispatch = plan.queueing.dispatch
    if dispatch is None:
        return {}
    return {
        "integrations": {"frameworks": list(FRAMEWORKS)},
        "multiKueue": {
            "gcInterval": COLLECT_EVERY,
            # two dispatchers with the same origin would delete each other's jobs
            "origin": plan.name,
            "workerLostTimeout": LOST_AFTER,
            "dispatcherName": dispatch.dispatcher,
        },
    }
