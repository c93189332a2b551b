"""All objects of a platform, in the order in which a cluster must see them."""

from gpuyard.names import PLATFORM_CONFIGMAP, POD_SECURITY_LABEL, system_namespace
from gpuyard.plan.capacity.autoscaler import installs_autoscaler
from gpuyard.plan.capacity.karpenter import installs_karpenter
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.access import catalogue_objects
from gpuyard.render.admission.objects import admission_objects
from gpuyard.render.charts import Release
from gpuyard.render.gpu_operator import gpu_operator_objects
from gpuyard.render.gpu_operator.adapters import adapter_objects
from gpuyard.render.gpu_operator.dra_driver import dra_driver_release
from gpuyard.render.idle import idle_objects
from gpuyard.render.kueue.chart import kueue_objects
from gpuyard.render.kueue.queueing import queueing_objects
from gpuyard.render.kueue.requeue import requeue_objects
from gpuyard.render.nodes import node_objects
from gpuyard.render.objects import Object, managed_object, namespace_object
from gpuyard.render.scaling.keep_warm import keep_warm_objects
from gpuyard.render.storage import storage_objects
from gpuyard.render.supply.prepull import prepull_objects
from gpuyard.render.teams import team_objects
from gpuyard.render.validation.gate import gate_objects
from gpuyard.render.validation.jobs import validation_objects
from gpuyard.render.validation.work import work_objects
from gpuyard.spec.platform import Cloud


def platform_objects(plan: PlatformPlan) -> list[Object]:
    """Namespaces and configuration, nodes where they are simulated, queues, teams."""
    return [obj for _, objects in object_groups(plan) for obj in objects]


def object_groups(plan: PlatformPlan) -> list[tuple[str, list[Object]]]:
    """The same by the name of what they are for; each group can be applied as one.

    A group without objects is the place of a chart that needs none before it.
    """
    nodes = [] if plan.queueing.dispatch or not plan.simulated else plan.pools
    groups = [
        ("platform", record_objects(plan)),
        ("gpu-operator", gpu_operator_objects(plan)),
        ("dra-driver", list[Object]()),
        ("networks", cloud_objects(plan)),
        ("autoscaler", autoscaler_objects(plan)),
        *((each.name, list[Object]()) for each in karpenter_releases(plan)),
        ("karpenter-nodes", karpenter_nodes(plan)),
        *((f"nodes-{pool.stable_name}", node_objects(plan, pool)) for pool in nodes),
        ("kueue", kueue_objects(plan)),
        ("queueing", queueing_objects(plan)),
        ("admission", admission_objects(plan) if plan.teams else []),
        ("access", catalogue_objects(plan)),
        *(
            (
                f"team-{team.stable_name}",
                [*team_objects(plan, team), *storage_objects(plan, team)],
            )
            for team in plan.teams
        ),
        ("idle", idle_objects(plan) if plan.idle else []),
        ("requeue", requeue_objects(plan)),
        ("prepull", prepull_objects(plan)),
        ("keeping", keep_warm_objects(plan)),
        ("validation", validation_objects(plan)),
        ("gate", gate_objects(plan)),
        ("work", work_objects(plan)),
    ]
    alone = {each.name for each in karpenter_releases(plan)}
    if dra_driver_release(plan) is not None:
        alone.add("dra-driver")
    return [(name, objects) for name, objects in groups if objects or name in alone]


def cloud_objects(plan: PlatformPlan) -> list[Object]:
    """What nodes have beside the operator, and how pods name their further networks.

    Each cloud loads nothing of another. A cluster that was there before may have the device plugin of EFA, or
    Google's driver installer: what runs once on a node is left to it.
    """
    if plan.queueing.dispatch:
        return []
    if plan.cloud is Cloud.AWS and not plan.spec.cluster_exists:
        from gpuyard.render.aws.in_cluster.efa import efa_objects

        return efa_objects(plan)
    if plan.cloud is Cloud.NONE:
        return adapter_objects(plan)
    if plan.cloud is not Cloud.GCP:
        return []
    from gpuyard.render.gcp.in_cluster.driver import driver_objects
    from gpuyard.render.gcp.in_cluster.network_objects import network_objects

    drivers = [] if plan.spec.cluster_exists else driver_objects(plan)
    return [*network_objects(plan), *drivers]


def autoscaler_objects(plan: PlatformPlan) -> list[Object]:
    """In which order the autoscaler takes what it may enlarge; each cloud loads nothing of another."""
    if plan.cloud is Cloud.GCP:
        from gpuyard.render.gcp.in_cluster.compute_classes import class_objects

        return class_objects(plan)
    if not installs_autoscaler(plan.spec):
        return []
    from gpuyard.render.aws.in_cluster.autoscaler import priority_objects

    return priority_objects(plan)


def autoscaler_release(plan: PlatformPlan) -> Release | None:
    """The chart of the autoscaler, for node groups of EKS."""
    if not installs_autoscaler(plan.spec):
        return None
    from gpuyard.render.aws.in_cluster.autoscaler import node_group_autoscaler

    return node_group_autoscaler(plan)


def karpenter_releases(plan: PlatformPlan) -> list[Release]:
    """The charts of Karpenter in their order, for pools of EKS that it makes the nodes of."""
    if not installs_karpenter(plan.spec):
        return []
    from gpuyard.render.aws.karpenter.charts import karpenter_charts

    return karpenter_charts(plan)


def karpenter_nodes(plan: PlatformPlan) -> list[Object]:
    """What Karpenter makes nodes by."""
    return [each for objects in karpenter_nodes_of(plan).values() for each in objects]


def karpenter_nodes_of(plan: PlatformPlan) -> dict[str, list[Object]]:
    """The same by the first name of the pool."""
    if not installs_karpenter(plan.spec):
        return {}
    from gpuyard.render.aws.karpenter.nodes import karpenter_pools, pool_objects

    return {pool.stable_name: list(pool_objects(plan, pool)) for pool in karpenter_pools(plan)}


def record_objects(plan: PlatformPlan) -> list[Object]:
    """What says in the cluster which platform it belongs to, for people and for later checks."""
    home = system_namespace(plan.name)
    data = {
        "platform": plan.name,
        "cluster": plan.cluster_name,
        "pools": "\n".join(f"{p.name} {p.nodes} {p.machine.name}" for p in plan.pools),
    }
    return [
        namespace_object(plan.name, home, {POD_SECURITY_LABEL: "restricted"}),
        managed_object(plan.name, "v1", "ConfigMap", PLATFORM_CONFIGMAP, namespace=home, data=data),
    ]
