"""What all Google Cloud resources need: location, labels, and the inputs of node pools."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import CloudCall, CloudResource
from gpuyard.render.cloud.templates import resource_of
from gpuyard_core.catalogue.cluster.tags import gcp_key, gcp_letters
from gpuyard_core.catalogue.gke.nodes import REGIONAL_ZONES

GKE_LENGTH = 40
"""Length limit of names of clusters and node pools."""
ACCOUNT_LENGTH = 30
PLATFORM_KEY = "gpuyard-platform"
"""The label for the owner of a resource."""
_RESOURCES = Path(__file__).parent / "resources.yaml"


def resource_labels(plan: PlatformPlan, pool: str = "") -> dict[str, str]:
    """Labels of every resource: the stack file's tags, in allowed characters, and gpuyard's."""
    ours = {PLATFORM_KEY: plan.name} | ({"gpuyard-pool": pool} if pool else {})
    theirs = {gcp_key(key): gcp_letters(value) for key, value in plan.spec.tags.items()}
    return dict(sorted((theirs | ours).items()))


def gcp_resource(plan: PlatformPlan, key: str, /, **values: Any) -> CloudResource:
    """A resource of `resources.yaml`."""
    return resource_of(_RESOURCES, key, platform=plan.name, **values)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class GcpNodePoolInputs:
    """Late values of the cluster, of the node identity, and of the networks of nodes."""

    place: GcpLocation
    account: str | UnresolvedOutput
    """The email of the nodes' service account."""
    key: Any
    """The key of boot disks."""
    after: tuple[str, ...]
    """Grants that must exist before the first node."""
    protect: bool
    cluster: UnresolvedOutput
    location: UnresolvedOutput
