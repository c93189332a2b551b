"""MultiKueue's objects: the clusters that jobs are sent to, and the check that sends them.

A secret is named and never made: what leads to another cluster comes past this stack file, past its state and
past the manifests.
"""

from typing import Any

from gpuyard.names import KUEUE_API, KUEUE_GROUP
from gpuyard.plan.queueing.multikueue import COLLECT_EVERY, FRAMEWORKS, LOST_AFTER
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.objects import Object, managed_object

_CLUSTER, _CONFIG = "MultiKueueCluster", "MultiKueueConfig"
CONTROLLER = f"{KUEUE_GROUP}/multikueue"


def multikueue_objects(plan: PlatformPlan) -> list[Object]:
    """Clusters before the configuration that names them, and that before the check: none is active alone."""
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
    # quotas are those of the plan: Kueue's own sum of the clusters' quotas is for one flavor, and alpha
    config = {"clusters": [w.title for w in dispatch.clusters], "quotaManagement": "Manual"}
    named = {"apiGroup": KUEUE_GROUP, "kind": _CONFIG, "name": dispatch.config}
    check = {"controllerName": CONTROLLER, "parameters": named}
    return [
        *clusters,
        managed_object(plan.name, KUEUE_API, _CONFIG, dispatch.config, spec=config),
        managed_object(plan.name, KUEUE_API, "AdmissionCheck", dispatch.check, spec=check),
    ]


def dispatch_checks(plan: PlatformPlan) -> list[Object]:
    """The check of every queue; for all its flavors, since Kueue takes no queue where it is for some."""
    dispatch = plan.queueing.dispatch
    return [{"name": dispatch.check}] if dispatch else []


def dispatch_configuration(plan: PlatformPlan) -> dict[str, Any]:
    """The manager's settings, in place of those for jobs that run here."""
    dispatch = plan.queueing.dispatch
    if dispatch is None:
        return {}
    return {
        "integrations": {"frameworks": list(FRAMEWORKS)},
        "multiKueue": {
            "gcInterval": COLLECT_EVERY,
            # two dispatchers of one origin would each delete what the other sent
            "origin": plan.name,
            "workerLostTimeout": LOST_AFTER,
            "dispatcherName": dispatch.dispatcher,
        },
    }
