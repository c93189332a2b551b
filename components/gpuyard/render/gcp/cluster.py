"""The GKE cluster: private, with its own network plugin and identities, upgraded as configured."""

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.cloud.graph import CloudCall, CloudResource
from gpuyard.render.gcp.capacity_options import machines_of
from gpuyard.render.gcp.fabric import all_links
from gpuyard.render.gcp.identity import NodeIdentity
from gpuyard.render.gcp.network import GcpNetwork
from gpuyard.render.gcp.place import GcpLocation, gcp_resource, resource_labels
from gpuyard.spec.sections import DatasetKind, Maintenance
from gpuyard.spec.sections.cluster import LogKind, Weekday
from gpuyard_core.catalogue.gke.nodes import NODE_SCOPE, is_metal

NAME = "cluster"
_CONTEXT = re.compile(r"gke_([^_]+)_([^_]+)_(.+)")
"""A kubectl context as gcloud writes it: project, location and name."""
_MONDAY = date(2024, 1, 1)
"""Any Monday: windows repeat weekly from their first day."""
_COMPONENTS: Mapping[LogKind, str] = {
    LogKind.API: "APISERVER",
    LogKind.CONTROLLER_MANAGER: "CONTROLLER_MANAGER",
    LogKind.SCHEDULER: "SCHEDULER",
}
"""Logs that GKE writes on request; the audit log is always on."""


def existing_cluster(plan: PlatformPlan, place: GcpLocation) -> CloudCall | None:
    """The query for an existing cluster; None if gpuyard creates one."""
    existing = cluster_spec(plan.spec).existing
    if existing is None:
        return None
    context = _CONTEXT.fullmatch(existing)
    project, location, name = context.groups() if context else ("", place.location, existing)
    return CloudCall(
        kind="gcp:container/getCluster:getCluster",
        name=NAME,
        args={"name": name, "location": location, **({"project": project} if project else {})},
        outputs=(
            "name",
            "location",
            "endpoint",
            "network",
            "subnetwork",
            "selfLink",
            "masterAuths",
            "controlPlaneEndpointsConfigs",
        ),
    )


def cluster(
    plan: PlatformPlan, place: GcpLocation, network: GcpNetwork, who: NodeIdentity
) -> CloudResource:
    """A new cluster. Its mandatory initial nodes are deleted when it is ready."""
    spec, kinds = cluster_spec(plan.spec), plan.storage.kinds
    outside = [{"cidrBlock": str(cidr)} for cidr in spec.endpoint.public]
    machines = (machine for pool in plan.pools for machine in machines_of(pool))
    # GPU metrics have one source: GKE, or the GPU Operator if it installs anything.
    ours = plan.operator is not None and any(plan.operator.enabled.values())
    managed = plan.observability is not None and plan.observability.managed is not None
    components = {_COMPONENTS[kind] for kind in spec.logs.kinds if kind in _COMPONENTS}
    return gcp_resource(
        plan,
        NAME,
        location=place.location,
        zones=list(place.zones) if len(place.zones) > 1 else None,
        kubernetes=plan.kubernetes,
        labels=resource_labels(plan),
        protect=spec.protect,
        network=network.network,
        subnetwork={"subnetwork": network.subnetwork},
        allocation=network.allocation,
        multi_networking=any(True for _ in all_links(plan)),
        is_private=not outside,
        outside=outside,
        dns=spec.endpoint.dns,
        key=who.key,
        is_shielded=not any(is_metal(machine.name) for machine in machines),
        channel=spec.release_channel.value.upper(),
        window=_window(spec.maintenance),
        freezes=_freezes(spec.maintenance) or None,
        logs=sorted({"SYSTEM_COMPONENTS", "WORKLOADS", *components}),
        metrics=["SYSTEM_COMPONENTS"] if ours else ["DCGM", "SYSTEM_COMPONENTS"],
        managed_prometheus=managed or not ours,
        buckets=DatasetKind.BUCKET in kinds,
        filestore=DatasetKind.FILESTORE in kinds,
        lustre=DatasetKind.MANAGED_LUSTRE in kinds,
        account=who.account,
        scope=NODE_SCOPE,
        after=tuple(g for g in who.grants if g.startswith("key-")),
    )


def _window(window: Maintenance) -> dict[str, str]:
    """The hours in which GKE upgrades."""
    first = _MONDAY + timedelta(days=min(_days(window.days)))
    hour, minute = (int(part) for part in window.start.split(":"))
    begins = datetime(first.year, first.month, first.day, hour, minute)  # noqa: DTZ001  written with a Z
    ends = begins + timedelta(hours=window.hours)
    by_day = ",".join(list(Weekday)[n].value[:2].upper() for n in _days(window.days))
    return {
        "startTime": f"{begins.isoformat()}Z",
        "endTime": f"{ends.isoformat()}Z",
        "recurrence": f"FREQ=WEEKLY;BYDAY={by_day}",
    }


def _freezes(window: Maintenance) -> list[dict[str, Any]]:
    """The days on which GKE never upgrades."""
    return [
        {
            "exclusionName": freeze.name,
            "startTime": f"{freeze.start}T00:00:00Z",
            "endTime": f"{freeze.end}T00:00:00Z",
            "exclusionOptions": {"scope": "NO_UPGRADES"},
        }
        for freeze in window.freezes
    ]


def _days(days: tuple[Weekday, ...]) -> list[int]:
    return sorted({list(Weekday).index(day) for day in days})
