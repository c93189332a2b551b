"""Google Cloud permissions of each kind of resource by operation, and the API that must be enabled.

Sources: `gcp.conditions`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpuyard_core.catalogue.sources import Source, find_source
from gpuyard_core.catalogue.tables import read_rows

METHODS = find_source("gcp.methods")
IN_CLUSTER = "roles/container.admin"
"""The role that GKE requires to create namespaces, roles and admission policies in a cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GcpKind:
    """One kind of resource."""

    kind: str
    api: str
    create: tuple[str, ...]
    read: tuple[str, ...]
    update: tuple[str, ...] = ()
    delete: tuple[str, ...] = ()
    acts_as: str = ""
    """The field with the service account of its machines; its creator needs permission to act as that account."""
    source: Source = METHODS

    @property
    def permissions(self) -> tuple[str, ...]:
        """All permissions, each once."""
        return tuple(dict.fromkeys((*self.create, *self.read, *self.update, *self.delete)))


@cache
def gcp_kinds() -> Mapping[str, GcpKind]:
    """The permissions by kind of resource."""
    return {row.kind: row for row in read_rows("gcp_permissions", GcpKind)}


GCP_CALLS: Mapping[str, tuple[str, ...]] = {
    "gcp:container/getCluster:getCluster": ("container.clusters.get",),
    "gcp:compute/getZones:getZones": ("compute.zones.list",),
    "gcp:compute/getMachineTypes:getMachineTypes": ("compute.machineTypes.list",),
    "gcp:compute/getReservation:getReservation": ("compute.reservations.get",),
    "gcp:organizations/getProject:getProject": ("resourcemanager.projects.get",),
    # The provider needs no permission.
    "gcp:organizations/getClientConfig:getClientConfig": (),
}
"""Permissions of each provider function."""
