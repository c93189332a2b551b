"""What node pools rest on, whether their cluster is made or was there."""

from dataclasses import dataclass
from typing import Any

from gpuyard.plan.records.late import Late
from gpuyard.render.gcp.place import GcpLocation


@dataclass(frozen=True, slots=True, kw_only=True)
class GcpFoundation:
    """Late values of the cluster, of who its nodes are, and of the networks that reach them."""

    place: GcpLocation
    account: Late
    """The address of the nodes' service account."""
    key: Any
    """The key of boot disks."""
    after: tuple[str, ...]
    """What must be granted before the first node comes."""
    protect: bool
    cluster: Late
    location: Late
