"""GKE node pools over several zones: they start with a node in each, and may not be smaller.

A pool of GPUs that would start with more nodes than its maximum is rejected; for system nodes it is
reported.
"""

from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.pools import Pool
from gpuyard_core.catalogue.gke.nodes import REGIONAL_ZONES
from gpuyard_core.findings import Diagnostic, Fix, Path, error, info
from gpuyard_core.models.values import Range


def check_zone_counts(spec: PlatformSpec, pool: Pool, path: Path) -> list[Diagnostic]:
    """A pool that starts with nodes has one in each zone, which may exceed its maximum."""
    named = pool.zones or _zones(spec)
    zones, most = len(named) or REGIONAL_ZONES, pool.nodes.high
    if not pool.nodes.low or most >= zones:
        return []
    fewer = list(named[:most])
    return [
        error(
            "capacity.each_zone",
            (*path, "zones") if pool.zones else (*path, "nodes"),
            f"GKE creates one node in each zone first, {zones} here, but the pool may have {most}",
            given=", ".join(pool.zones) or f"{pool.nodes} in any of {zones} zones",
            allowed=f"at most {most} {'zones' if most > 1 else 'zone'}, or nodes: 0..{most}",
            fix=Fix(message=f"write zones: [{', '.join(fewer)}]", at=(*path, "zones"), value=fewer)
            if fewer
            else Fix(
                message="add zones: with zones that sell the machine, at most as many as the pool has nodes"
            ),
        )
    ]


def check_system_zones(spec: PlatformSpec, nodes: Range) -> list[Diagnostic]:
    """System nodes are spread over all zones of the cluster, and start with one in each."""
    zones = len(_zones(spec)) or REGIONAL_ZONES
    if not nodes.low or nodes.high >= zones:
        return []
    return [
        info(
            "system.each_zone",
            ("system", "nodes"),
            f"GKE creates one node in each zone first: {zones} run and are billed, but the bill counts"
            f" {nodes}",
            given=str(nodes),
            allowed=f"{zones} or more, or fewer zones for the cluster",
            fix=Fix(message=f"write {zones}", at=("system", "nodes"), value=zones),
        )
    ]


def _zones(spec: PlatformSpec) -> tuple[str, ...]:
    """The zones that the stack file names for the cluster."""
    return spec.cluster.zones if spec.cluster else ()
