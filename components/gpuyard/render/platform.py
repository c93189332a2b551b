"""The add-ons of a platform, in the order in which to apply them, and what is derived from them.

A new add-on is one more record in `ADDONS`.
"""

from collections.abc import Callable

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.access import catalogue_objects
from gpuyard.render.addon_charts import chart_addons, project_objects, tekton_objects
from gpuyard.render.addons import Addon
from gpuyard.render.admission.objects import admission_objects
from gpuyard.render.charts import Release
from gpuyard.render.gpu_operator import gpu_operator_objects
from gpuyard.render.gpu_operator.dra_driver import dra_driver_release
from gpuyard.render.gpu_operator.values import gpu_operator_release, operator_images
from gpuyard.render.idle import idle_images, idle_objects
from gpuyard.render.kueue.chart import kueue_objects, kueue_release
from gpuyard.render.kueue.queueing import queueing_objects
from gpuyard.render.kueue.requeue import requeue_images, requeue_objects
from gpuyard.render.mirror import mirrored
from gpuyard.render.nodes import fake_node_objects
from gpuyard.render.objects import Object, managed_object, namespace_object
from gpuyard.render.observability.dashboards import dashboard_objects
from gpuyard.render.observability.monitoring import (
    monitoring_images,
    monitoring_objects,
    monitoring_release,
)
from gpuyard.render.observability.monitors import monitor_objects
from gpuyard.render.pulled_image import PulledImage, agent_image, named_image
from gpuyard.render.scaling.keep_warm import keep_warm_images, keep_warm_objects
from gpuyard.render.storage import storage_objects
from gpuyard.render.supply.prepull import prepull_objects, prepulled_images
from gpuyard.render.teams import team_objects
from gpuyard.render.validation.gate import gate_objects
from gpuyard.render.validation.jobs import validation_objects, validator_images
from gpuyard.render.validation.work import work_objects
from gpuyard.render.volcano.chart import volcano_images, volcano_objects, volcano_release
from gpuyard.render.volcano.queues import volcano_queue_objects
from gpuyard.render.workloads.runtimes import runtime_images, training_objects
from gpuyard.render.workloads.services import service_objects
from gpuyard_core.catalogue.gke.nodes import INSTALLER_PAUSE
from gpuyard_core.catalogue.software.charts import (
    EFA_PLUGIN,
    KARPENTER_CHART,
    KARPENTER_CRD_CHART,
    RDMA_PLUGIN,
    Chart,
)
from gpuyard_core.names import PLATFORM_CONFIGMAP, POD_SECURITY_LABEL, system_namespace


def cloud_objects(plan: PlatformPlan) -> list[Object]:
    """Node agents besides the operator, and the objects by which pods name additional networks."""
    return [] if plan.queueing.dispatch else plan.provider.node_agents(plan)


def _cloud_images(plan: PlatformPlan) -> list[PulledImage]:
    """Images of init containers are on the node already."""
    pause = mirrored(plan.spec, INSTALLER_PAUSE)
    known = (
        agent_image(plan, EFA_PLUGIN),
        agent_image(plan, RDMA_PLUGIN),
        named_image(pause, "Google's driver installer", INSTALLER_PAUSE),
    )
    specs = (
        each.get("spec", {}).get("template", {}).get("spec", {}) for each in cloud_objects(plan)
    )
    used = {each["image"] for spec in specs for each in spec.get("containers", ())}
    return [image for image in known if image.reference in used]


def _karpenter_release(chart: Chart) -> Callable[[PlatformPlan], Release | None]:
    return lambda plan: next(
        (each for each in plan.provider.karpenter_releases(plan) if each.name == chart.name), None
    )


def karpenter_nodes(plan: PlatformPlan) -> list[Object]:
    """The node classes and NodePools of Karpenter."""
    return [each for objects in plan.provider.karpenter_nodes(plan).values() for each in objects]


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


def _node_objects(plan: PlatformPlan) -> dict[str, list[Object]]:
    """Simulated nodes by pool."""
    pools = [] if plan.queueing.dispatch or not plan.simulated else plan.pools
    return {f"nodes-{pool.stable_name}": fake_node_objects(plan, pool) for pool in pools}


def _objects_of_teams(plan: PlatformPlan) -> dict[str, list[Object]]:
    return {
        f"team-{team.stable_name}": [*team_objects(plan, team), *storage_objects(plan, team)]
        for team in plan.teams
    }


ADDONS: tuple[Addon, ...] = (
    Addon("platform", record_objects),
    Addon("gpu-operator", gpu_operator_objects, gpu_operator_release, operator_images),
    Addon("dra-driver", release=dra_driver_release, part_of="gpu-operator"),
    Addon("networks", cloud_objects, images=_cloud_images),
    Addon(
        "autoscaler",
        lambda plan: plan.provider.autoscaler_objects(plan),
        lambda plan: plan.provider.autoscaler_release(plan),
    ),
    Addon("karpenter-crd", release=_karpenter_release(KARPENTER_CRD_CHART), part_of="karpenter"),
    Addon("karpenter", release=_karpenter_release(KARPENTER_CHART), after=("networks",)),
    Addon("karpenter-nodes", karpenter_nodes, part_of="karpenter"),
    Addon("nodes", _node_objects, after=("networks",)),
    Addon("kueue", kueue_objects, kueue_release),
    Addon("queueing", queueing_objects, part_of="kueue"),
    Addon("volcano", volcano_objects, volcano_release, volcano_images, part_of="kueue"),
    Addon("volcano-queues", volcano_queue_objects, part_of="kueue"),
    Addon("admission", admission_objects),
    Addon("access", catalogue_objects),
    Addon("teams", _objects_of_teams, after=("admission",)),
    Addon("monitoring", monitoring_objects, monitoring_release, monitoring_images),
    Addon("monitors", monitor_objects, after=("gpu-operator", "kueue", "monitoring")),
    Addon("dashboards", dashboard_objects, after=("monitoring",)),
    *chart_addons(),
    Addon("argo-cd-projects", project_objects, after=("argo-cd", "teams")),
    Addon("tekton-config", tekton_objects, after=("tekton-operator",)),
    Addon("training", training_objects, images=runtime_images, after=("kubeflow-trainer", "teams")),
    Addon(
        "services",
        service_objects,
        after=("kueue", "teams", "monitoring", "keda", "lws", "kserve-resources"),
    ),
    Addon("idle", idle_objects, images=idle_images, after=("teams",)),
    Addon("requeue", requeue_objects, images=requeue_images, after=("teams",)),
    Addon("prepull", prepull_objects, images=prepulled_images, after=("teams",)),
    Addon("keeping", keep_warm_objects, images=keep_warm_images, after=("teams",)),
    Addon("validation", validation_objects, images=validator_images),
    Addon("gate", gate_objects, part_of="validation"),
    Addon("work", work_objects, after=("teams", "validation")),
)


def platform_objects(plan: PlatformPlan) -> list[Object]:
    """Namespaces and configuration, nodes if they are simulated, queues, teams."""
    return [obj for _, objects in object_groups(plan) for obj in objects]


def object_groups(plan: PlatformPlan) -> list[tuple[str, list[Object]]]:
    """The same objects in named groups; each group can be applied as one.

    A group without objects is the position of a chart that needs no objects before it.
    """
    return [
        (name, objects)
        for addon in ADDONS
        for name, objects in addon.groups(plan).items()
        if objects or addon.release(plan) is not None
    ]


def releases(plan: PlatformPlan) -> dict[str, Release]:
    """The charts of a platform, by the group of objects that each needs first."""
    results = {addon.name: addon.release(plan) for addon in ADDONS}
    return {name: release for name, release in results.items() if release is not None}
