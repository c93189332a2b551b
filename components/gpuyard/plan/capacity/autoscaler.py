"""Cluster Autoscaler on EKS: whether the platform brings it. GKE has its own."""

from gpuyard.findings import Finding, info
from gpuyard.plan.capacity.scaling import scaling_of
from gpuyard.plan.draft import Draft
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import Scaling


def installs_autoscaler(spec: PlatformSpec) -> bool:
    """Where a node group of a cluster of ours is a range.

    A cluster that was there before may have one already, and two would undo each other's work.
    """
    if spec.cloud is not Cloud.AWS or spec.cluster_exists or spec.queueing.clusters:
        return False
    pools = any(scaling_of(spec.cloud, pool) is Scaling.AUTOSCALER for pool in spec.pools)
    return pools or _system_scales(spec)


def _system_scales(spec: PlatformSpec) -> bool:
    system = spec.system
    return system is not None and system.nodes.low < system.nodes.high


def check_autoscaler(draft: Draft) -> list[Finding]:
    """Say that a cluster which was there before gets no Cluster Autoscaler from us."""
    spec = draft.spec
    if spec.cloud is not Cloud.AWS or installs_autoscaler(spec):
        return []
    names = [pool.name for pool in draft.valid_pools.values() if pool.scaling is Scaling.AUTOSCALER]
    if not names:
        return []
    return [
        info(
            "scaling.yours",
            ("pools",),
            f"node groups of {', '.join(names)} carry the tags that Cluster Autoscaler reads, and a cluster"
            " that exists gets none from us: without one of yours they stay as large as they begin",
        )
    ]
