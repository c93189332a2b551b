"""Node pools of GKE over several zones: they begin with a node in each, and may not be smaller than that."""

from gpuyard.catalogue.gke.nodes import REGIONAL_ZONES
from gpuyard.findings import Finding, Fix, Path, refuse
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.pools import Pool


def check_zone_counts(spec: PlatformSpec, pool: Pool, path: Path) -> list[Finding]:
    """A pool that begins with nodes has one in each zone: that may be more than it may ever have."""
    named = pool.zones or (spec.cluster.zones if spec.cluster else ())
    zones, most = len(named) or REGIONAL_ZONES, pool.nodes.high
    if not pool.nodes.low or most >= zones:
        return []
    fewer = list(named[:most])
    return [
        refuse(
            "capacity.each_zone",
            (*path, "zones") if pool.zones else (*path, "nodes"),
            f"GKE makes the first nodes one in each zone, {zones} here, and the pool may have {most}",
            given=", ".join(pool.zones) or f"{pool.nodes} in any of {zones} zones",
            allowed=f"at most {most} {'zones' if most > 1 else 'zone'}, or nodes: 0..{most}",
            fix=Fix(says=f"write zones: [{', '.join(fewer)}]", at=(*path, "zones"), value=fewer)
            if fewer
            else Fix(
                says="add zones: with those that sell the machine, no more than the pool has nodes"
            ),
        )
    ]
