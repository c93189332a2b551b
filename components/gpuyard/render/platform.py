"""All objects of a platform, in the order in which to apply them."""

from gpuyard.names import PLATFORM_CONFIGMAP, POD_SECURITY_LABEL, system_namespace
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.access import catalogue_objects
from gpuyard.render.admission.objects import admission_objects
from gpuyard.render.charts import Release
from gpuyard.render.gpu_operator import gpu_operator_objects
from gpuyard.render.gpu_operator.dra_driver import dra_driver_release
from gpuyard.render.idle import idle_objects
from gpuyard.render.kueue.chart import kueue_objects
from gpuyard.render.kueue.queueing import queueing_objects
from gpuyard.render.kueue.requeue import requeue_objects
from gpuyard.render.nodes import fake_node_objects
from gpuyard.render.objects import Object, managed_object, namespace_object
from gpuyard.render.scaling.keep_warm import keep_warm_objects
from gpuyard.render.storage import storage_objects
from gpuyard.render.supply.prepull import prepull_objects
from gpuyard.render.teams import team_objects
from gpuyard.render.validation.gate import gate_objects
from gpuyard.render.validation.jobs import validation_objects
from gpuyard.render.validation.work import work_objects


def platform_objects(plan: PlatformPlan) -> list[Object]:
    """Namespaces and configuration, nodes if they are simulated, queues, teams."""
    return [obj for _, objects in object_groups(plan) for obj in objects]


def object_groups(plan: PlatformPlan) -> list[tuple[str, list[Object]]]:
    """The same objects in named groups; each group can be applied as one.

    A group without objects is the position of a chart that needs no objects before it.
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
        *((f"nodes-{pool.stable_name}", fake_node_objects(plan, pool)) for pool in nodes),
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
    """Node agents besides the operator, and the objects by which pods name additional networks."""
    return [] if plan.queueing.dispatch else plan.provider.node_agents(plan)


def autoscaler_objects(plan: PlatformPlan) -> list[Object]:
    """The order in which the autoscaler tries capacity options: ComputeClasses or priorities."""
    return plan.provider.autoscaler_objects(plan)


def autoscaler_release(plan: PlatformPlan) -> Release | None:
    """The chart of the autoscaler, for node groups of EKS."""
    return plan.provider.autoscaler_release(plan)


def karpenter_releases(plan: PlatformPlan) -> list[Release]:
    """The charts of Karpenter in order, for pools of EKS whose nodes it creates."""
    return plan.provider.karpenter_releases(plan)


def karpenter_nodes(plan: PlatformPlan) -> list[Object]:
    """The node classes and NodePools of Karpenter."""
    return [each for objects in karpenter_nodes_of(plan).values() for each in objects]


def karpenter_nodes_of(plan: PlatformPlan) -> dict[str, list[Object]]:
    """The same by the first name of the pool."""
    return plan.provider.karpenter_nodes(plan)


def record_objects(plan: PlatformPlan) -> list[Object]:
    """The record of the platform in the cluster, for people and for later checks."""
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
