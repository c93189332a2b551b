"""Kueue's topologies: the network distance of nodes."""

from typing import Any

from gpuyard.plan.records import FlavorPlan, PlatformPlan
from gpuyard.render.objects import Object, managed_object
from gpuyard_core.names import KUEUE_API


def topology_objects(plan: PlatformPlan) -> list[Object]:
    """One for each distinct list of levels; a queue whose flavor names a missing one is inactive."""
    return [
        managed_object(
            plan.name,
            KUEUE_API,
            "Topology",
            topology.name,
            spec={"levels": [{"nodeLabel": level} for level in topology.levels]},
        )
        for topology in plan.queueing.topologies
    ]


def topology_name(flavor: FlavorPlan) -> dict[str, Any]:
    """The part of a flavor's spec that names its topology."""
    return {"topologyName": flavor.topology} if flavor.topology else {}
