"""Volcano's chart with values from the plan: placement, the scheduler's configuration, network topologies."""

from collections.abc import Iterator
from typing import Any

from gpuyard.plan.queueing.kueue import installs_volcano
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.charts import Release, chart_release
from gpuyard.render.data_files import filled_data
from gpuyard.render.mirror import mirrored
from gpuyard.render.objects import (
    Object,
    namespace_object,
    system_node_selector,
    system_tolerations,
)
from gpuyard.render.pulled_image import PulledImage, chart_image, published_image
from gpuyard.render.text import yaml_text
from gpuyard.spec.queueing import Preemption
from gpuyard_core.catalogue.software.charts import VOLCANO_CHART, VOLCANO_IMAGES
from gpuyard_core.names import (
    POD_SECURITY_LABEL,
    VOLCANO_NAMESPACE,
)

_FILE = "volcano/values.yaml"


def volcano_objects(plan: PlatformPlan) -> list[Object]:
    """The namespace of the chart."""
    labels = {POD_SECURITY_LABEL: "baseline"}
    installs = installs_volcano(plan.spec)
    return [namespace_object(plan.name, VOLCANO_NAMESPACE, labels)] if installs else []


def volcano_release(plan: PlatformPlan) -> Release | None:
    """The release; None with another engine, or if Volcano already exists."""
    if not installs_volcano(plan.spec):
        return None
    return chart_release(plan, VOLCANO_CHART, VOLCANO_NAMESPACE, volcano_values(plan))


def volcano_images(plan: PlatformPlan) -> Iterator[PulledImage]:
    """The images of the chart besides that of the scheduler."""
    if not installs_volcano(plan.spec):
        return
    tag = chart_image(plan, VOLCANO_CHART).tag
    for path in VOLCANO_IMAGES:
        yield published_image(plan, f"{VOLCANO_CHART.registry}/{path}", tag, VOLCANO_CHART.title)


def volcano_values(plan: PlatformPlan) -> Any:
    """The chart's values."""
    topologies = {
        topology.name: [{"nodeLabel": level} for level in topology.levels]
        for topology in plan.queueing.topologies
    }
    discovery = filled_data(_FILE, "discovery", topologies=topologies)
    return filled_data(
        _FILE,
        "values",
        registry=mirrored(plan.spec, f"{VOLCANO_CHART.registry}/").rstrip("/"),
        tag=chart_image(plan, VOLCANO_CHART).tag,
        scheduler=yaml_text(scheduler_configuration(plan)),
        discovery=discovery if topologies else None,
        tolerations=system_tolerations(),
        node_selector=system_node_selector(plan).get("nodeSelector"),
    )


def scheduler_configuration(plan: PlatformPlan) -> Any:
    """The scheduler's actions and plugins."""
    reclaims = plan.queueing.preemption is Preemption.RECLAIM
    actions = ["enqueue", "allocate", *(["preempt", "reclaim"] if reclaims else []), "backfill"]
    topology = [{"name": "network-topology-aware"}] if plan.queueing.topologies else []
    allocation = [*filled_data(_FILE, "allocation"), *topology]
    return filled_data(_FILE, "scheduler", actions=", ".join(actions), allocation=allocation)
