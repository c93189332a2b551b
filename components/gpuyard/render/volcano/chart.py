"""Volcano's chart with values from the plan: placement, the scheduler's configuration, network topologies."""

from collections.abc import Iterator
from typing import Any

from gpuyard.plan.queueing.kueue import installs_volcano
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.charts import Release, chart_release
from gpuyard.render.mirror import mirrored
from gpuyard.render.objects import Object, namespace_object, system_tolerations
from gpuyard.render.pulled_image import PulledImage, chart_image, published_image
from gpuyard.render.text import yaml_text
from gpuyard.spec.queueing import Preemption
from gpuyard_core.catalogue.software.charts import VOLCANO_CHART, VOLCANO_IMAGES
from gpuyard_core.names import (
    GPU,
    POD_SECURITY_LABEL,
    POOL_LABEL,
    SYSTEM_POOL,
    VOLCANO_NAMESPACE,
)

REPLICAS = 2
"""One leads; without webhooks no queue can be created."""
_IMAGE_FIELDS = ("controller", "scheduler", "admission")


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


def volcano_values(plan: PlatformPlan) -> dict[str, Any]:
    """The chart's values: only those that differ from its own."""
    host = VOLCANO_CHART.registry
    registry = mirrored(plan.spec, f"{host}/").rstrip("/")
    placement: dict[str, Any] = {"default_tolerations": system_tolerations()}
    if plan.system is not None:
        placement["default_ns"] = {POOL_LABEL: SYSTEM_POOL}
    topologies = {
        topology.name: [{"nodeLabel": level} for level in topology.levels]
        for topology in plan.queueing.topologies
    }
    label = {"source": "label", "enabled": True, "config": {"networkTopologyTypes": topologies}}
    discovery = {"controller_config_override": {"networkTopologyDiscovery": [label]}}
    return {
        "basic": {
            "image_registry": registry,
            "image_pull_policy": "IfNotPresent",
            "image_tag_version": chart_image(plan, VOLCANO_CHART).tag,
        },
        "custom": {
            "leader_elect_enable": True,
            **{f"{part}_replicas": REPLICAS for part in _IMAGE_FIELDS},
            "scheduler_config_override": yaml_text(scheduler_configuration(plan)),
            **(discovery if topologies else {}),
            **placement,
        },
    }


def scheduler_configuration(plan: PlatformPlan) -> dict[str, Any]:
    """The scheduler's actions and plugins.

    The chart's own configuration neither reclaims nor preempts, and divides capacity by weights. The
    gang plugin protects the last pods of a gang from both, so a full gang would never give a guarantee
    back.
    """
    reclaims = plan.queueing.preemption is Preemption.RECLAIM
    actions = ["enqueue", "allocate", *(["preempt", "reclaim"] if reclaims else []), "backfill"]
    binpack = {
        "binpack.weight": 10,
        "binpack.resources": GPU,
        f"binpack.resources.{GPU}": 10,
    }
    topology = [{"name": "network-topology-aware"}] if plan.queueing.topologies else []
    first = [
        {"name": "priority"},
        {"name": "gang", "enablePreemptable": False, "enableReclaimable": False},
        {"name": "conformance"},
    ]
    second = [
        {"name": "predicates"},
        {"name": "capacity", "enableHierarchy": True},
        {"name": "nodeorder"},
        {"name": "binpack", "arguments": binpack},
        *topology,
    ]
    return {"actions": ", ".join(actions), "tiers": [{"plugins": first}, {"plugins": second}]}
