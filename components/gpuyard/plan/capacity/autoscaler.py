"""Cluster Autoscaler on EKS: whether gpuyard installs it. GKE has its own."""

from gpuyard.plan.capacity.scaling import manages_autoscalers, scaling_of
from gpuyard.plan.draft import Draft
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.pools import Scaling
from gpuyard_core.findings import Diagnostic, info


def installs_autoscaler(spec: PlatformSpec) -> bool:
    """Whether a cluster that gpuyard creates has node groups of variable size, and no autoscaler.

    An existing cluster may run one already, and two would undo each other's work.
    """
    pools = any(scaling_of(spec.cloud, pool) is Scaling.AUTOSCALER for pool in spec.pools)
    return manages_autoscalers(spec) and (pools or _system_scales(spec))


def _system_scales(spec: PlatformSpec) -> bool:
    system = spec.system
    return system is not None and system.nodes.low < system.nodes.high


def check_autoscaler(draft: Draft) -> list[Diagnostic]:
    """Report that gpuyard does not install Cluster Autoscaler in an existing cluster."""
    spec = draft.spec
    if not draft.provider.needs_autoscaler or installs_autoscaler(spec):
        return []
    names = [pool.name for pool in draft.valid_pools.values() if pool.scaling is Scaling.AUTOSCALER]
    if not names:
        return []
    return [
        info(
            "scaling.yours",
            ("pools",),
            f"node groups of {', '.join(names)} have the tags that Cluster Autoscaler reads, but gpuyard"
            " does not install Cluster Autoscaler in an existing cluster: without one, the groups keep"
            " their initial size",
        )
    ]
