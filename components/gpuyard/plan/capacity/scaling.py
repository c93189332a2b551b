"""Autoscaling of pools: which component adds nodes, and what it knows before a node runs."""

from collections.abc import Iterable, Iterator

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import AdvertisedResources, AutoscalerHints, PoolPlan
from gpuyard.provider import provider_of
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import Pool, Scaling
from gpuyard_core.catalogue.gke.classes import CLASS_LABEL
from gpuyard_core.catalogue.kubernetes.karpenter import IMAGE_FAMILY
from gpuyard_core.catalogue.machines import Capacity
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, info, warning
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
            fix=Fix.write(str(nodes), (*path, "nodes")),
        )
    ]


def class_label(name: str) -> dict[str, str]:
    """The label that nodes have and pods select."""
    return {CLASS_LABEL: name} if name else {}


def class_taint(name: str) -> tuple[Taint, ...]:
    """The taint that keeps other pods off: without it GKE reports the class as misconfigured."""
    return (Taint(CLASS_LABEL, name),) if name else ()


def installs_autoscaler(spec: PlatformSpec) -> bool:
    """Whether a cluster that gpuyard creates has node groups of variable size, and no autoscaler.

    An existing cluster may run one already, and two would undo each other's work.
    """
    pools = any(scaling_of(spec.cloud, pool) is Scaling.AUTOSCALER for pool in spec.pools)
    system = spec.system is not None and spec.system.nodes.low < spec.system.nodes.high
    return manages_autoscalers(spec) and (pools or system)


def check_autoscaler(draft: Draft) -> Iterator[Diagnostic]:
    """Report that gpuyard does not install Cluster Autoscaler in an existing cluster."""
    spec = draft.spec
    if not draft.provider.needs_autoscaler or installs_autoscaler(spec):
        return
    names = [pool.name for pool in draft.valid_pools.values() if pool.scaling is Scaling.AUTOSCALER]
    if names:
        yield info(
            "scaling.yours",
            ("pools",),
            f"node groups of {', '.join(names)} have the tags that Cluster Autoscaler reads, but gpuyard"
            " does not install Cluster Autoscaler in an existing cluster: without one, the groups keep"
            " their initial size",
        )


def installs_karpenter(spec: PlatformSpec) -> bool:
    """Whether Karpenter scales a pool of a new EKS cluster; an existing one may have its own."""
    pools = any(scaling_of(spec.cloud, pool) is Scaling.KARPENTER for pool in spec.pools)
    return pools and manages_autoscalers(spec)


def unscaled_pool_findings(spec: PlatformSpec) -> list[Diagnostic]:
    """Reject pools that nothing scales: gpuyard manages no Karpenter of an existing cluster."""
    unmanaged = spec.cluster_exists and provider_of(spec.cloud).needs_autoscaler
    return [
        error(
            "scaling.karpenter",
            ("pools", index, "scaling"),
            "gpuyard does not install Karpenter in an existing cluster, and creates no NodePool for yours:"
            f" no autoscaler would add nodes to {pool.name}",
            given="karpenter",
            allowed="autoscaler, or a fixed number of nodes; karpenter in a cluster that gpuyard creates",
            fix=Fix(
                message="write scaling: autoscaler",
                at=("pools", index, "scaling"),
                value=Scaling.AUTOSCALER.value,
            ),
        )
        for index, pool in enumerate(spec.pools)
        if unmanaged and pool.scaling is Scaling.KARPENTER
    ]


def selects_reservations(pools: Iterable[PoolPlan]) -> bool:
    """Whether one of these pools names a reservation, which needs the gate ReservedCapacity.

    With the gate Karpenter launches all other nodes outside reservations (ODCR_SOURCE).
    """
    return any(option.reservation for pool in pools for option in pool.capacity_options)


def check_karpenter(draft: Draft) -> Iterator[Diagnostic]:
    """Report what a pool requests and Karpenter does not support."""
    if not installs_karpenter(draft.spec):
        return
    scaled = [
        (planned, ("pools", index))
        for index, pool in enumerate(draft.spec.pools)
        if (planned := draft.pools.get(pool.name)) and planned.scaling is Scaling.KARPENTER
    ]
    gate = selects_reservations(planned for planned, _ in scaled)
    for planned, path in scaled:
        software, overlay = planned.node_software, planned.autoscaler_hints.overlay
        if software is not None and not software.variant.startswith(IMAGE_FAMILY):
            yield error(
                "scaling.image",
                (*path, "image"),
                f"Karpenter would boot the latest release: gpuyard pins no release of {software.image}",
                given=software.image,
                allowed="al2023-nvidia; other images with scaling: autoscaler",
                fix=Fix(message="remove `image`", at=(*path, "image")),
            )
        if overlay:
            yield info(
                "scaling.overlay",
                (*path, "sharing"),
                f"Karpenter reads {', '.join(overlay)} from a NodeOverlay; gpuyard enables"
                " the gate of this alpha feature",
                given=planned.sharing.value,
                allowed="scaling: autoscaler, which reads tags",
            )
        if gate and any(option.mode == Capacity.ON_DEMAND for option in planned.capacity_options):
            yield info(
                "capacity.open_reservations",
                (*path, "capacity"),
                "Karpenter launches on-demand nodes with reservation preference none, because the stack names a"
                f" reservation: open reservations of {format_list(planned.machines)} are billed but stay unused",
                given=format_list(planned.capacity),
                allowed="a capacity option for each reservation that Karpenter is to use",
                fix=Fix(message="add {reserved: ID, nodes: COUNT} for each open reservation"),
            )
