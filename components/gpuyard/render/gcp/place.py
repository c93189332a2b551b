"""Where the platform is at Google: project, region and zones, as the stack file or the provider says them."""

from dataclasses import dataclass

from gpuyard.catalogue.gke.nodes import REGIONAL_ZONES
from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import Late
from gpuyard.render.cloud.graph import CloudCall

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
    """Project, region, and where the control plane and nodes are in it."""

    region: str | Late
    zones: tuple[str, ...]
    """Those that the stack file names for the cluster; empty: GKE picks."""

    calls = (_CLIENT, _PROJECT)
    project = _CLIENT.get("project")
    number = _PROJECT.get("number")

    @property
    def location(self) -> str | Late:
        """One zone, where the cluster is to lie in one; else the region."""
        return self.zones[0] if len(self.zones) == 1 else self.region

    def how_many_zones(self, pool: tuple[str, ...]) -> int:
        """In how many zones a pool's nodes may start, when it names these."""
        return len(pool) or len(self.zones) or REGIONAL_ZONES


def gcp_location(plan: PlatformPlan) -> GcpLocation:
    """Where a plan's platform is."""
    zones = cluster_spec(plan.spec).zones
    return GcpLocation(region=plan.region or _CLIENT.get("region"), zones=zones)
