"""Autoscaling of pools: which component adds nodes, and what it knows before a node runs."""

from gpuyard.plan.records import AdvertisedResources, AutoscalerHints
from gpuyard.provider import provider_of
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import Pool, Scaling
from gpuyard_core.findings import Diagnostic, Fix, Path, error, warning
from gpuyard_core.manifests.pods import Taint
from gpuyard_core.models.values import Range
from gpuyard_core.names import GPU


def scaling_of(cloud: Cloud, pool: Pool) -> Scaling:
    """Which component adds nodes. Nothing scales simulated nodes: all exist from the start."""
    if cloud is Cloud.SIMULATED or pool.select:
        return Scaling.FIXED
    if pool.scaling is not None:
        return pool.scaling
    if pool.nodes.low == pool.nodes.high:
        return Scaling.FIXED
    return Scaling.AUTOSCALER


def manages_autoscalers(spec: PlatformSpec) -> bool:
    """Whether gpuyard installs the autoscalers of a cluster; an existing one may have its own."""
    needed = provider_of(spec.cloud).needs_autoscaler
    return needed and not (spec.cluster_exists or spec.queueing.clusters)


def scales_by_karpenter(spec: PlatformSpec, pool: Pool) -> bool:
    """Whether a Karpenter that gpuyard configures adds the nodes."""
    managed = provider_of(spec.cloud).needs_autoscaler
    return managed and scaling_of(spec.cloud, pool) is Scaling.KARPENTER


def plan_scaling(
    cloud: Cloud,
    scaling: Scaling,
    labels: dict[str, str],
    taints: tuple[Taint, ...],
    advertised: AdvertisedResources,
) -> AutoscalerHints:
    """What the autoscaler knows about nodes at zero, and what must be configured for that."""
    if scaling is Scaling.FIXED:
        return AutoscalerHints(source="none")
    hints, provider = AutoscalerHints(source="own"), provider_of(cloud)
    return provider.complete_hints(hints, scaling, labels, taints, advertised)


def miscounted(why: str, value: str, path: Path) -> Diagnostic:
    """Reject an autoscaler that does not count the resources of nodes correctly."""
    return error(
        "scaling.miscounts",
        (*path, "scaling"),
        why,
        given=value,
        allowed="scaling: autoscaler, or a fixed number of nodes",
        fix=Fix(message="write scaling: autoscaler", at=(*path, "scaling"), value="autoscaler"),
    )


def check_blind(pool: Pool, advertised: AdvertisedResources, path: Path) -> list[Diagnostic]:
    """Warn of resources that the autoscaler reads from a running node, where none may run."""
    hidden = [a.resource for a in advertised if a.resource != GPU]
    if pool.nodes.low or not pool.nodes.high or not hidden:
        return []
    nodes = Range(1, pool.nodes.high)
    return [
        warning(
            "scaling.blind",
            (*path, "nodes"),
            f"the autoscaler reads {', '.join(hidden)} from a running node: it cannot scale up from zero",
            given=str(pool.nodes),
            allowed=f"{nodes}, so that one node always runs",
            fix=Fix(message=f"write {nodes}", at=(*path, "nodes"), value=str(nodes)),
        )
    ]
