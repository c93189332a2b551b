"""Location of a platform on Google Cloud: project, region and zones, by default the provider's."""

from dataclasses import dataclass

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import CloudCall
from gpuyard_core.catalogue.gke.nodes import REGIONAL_ZONES

_CLIENT = CloudCall(
    kind="gcp:organizations/getClientConfig:getClientConfig",
    name="client",
    args={},
    outputs=("project", "region"),
)
_PROJECT = CloudCall(
    kind="gcp:organizations/getProject:getProject",
    name="project",
    args={"projectId": _CLIENT.get("project")},
    outputs=("number",),
)


@dataclass(frozen=True, slots=True)
class GcpLocation:
    """Project, region, and the zones of the control plane and nodes."""

    region: str | UnresolvedOutput
    zones: tuple[str, ...]
    """Zones that the stack file names for the cluster; empty: GKE picks."""

    calls = (_CLIENT, _PROJECT)
    project = _CLIENT.get("project")
    number = _PROJECT.get("number")

    @property
    def location(self) -> str | UnresolvedOutput:
        """One zone for a zonal cluster; otherwise the region."""
        return self.zones[0] if len(self.zones) == 1 else self.region

    def how_many_zones(self, pool: tuple[str, ...]) -> int:
        """The number of zones in which a pool's nodes may start, if it names these zones."""
        return len(pool) or len(self.zones) or REGIONAL_ZONES


def gcp_location(plan: PlatformPlan) -> GcpLocation:
    """The location of a plan's platform."""
    zones = cluster_spec(plan.spec).zones
    return GcpLocation(region=plan.region or _CLIENT.get("region"), zones=zones)
