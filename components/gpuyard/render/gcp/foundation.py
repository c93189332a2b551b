"""What node pools need of a cluster, new or existing."""

from dataclasses import dataclass
from typing import Any

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.gcp.place import GcpLocation


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
