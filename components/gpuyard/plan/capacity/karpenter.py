"""Karpenter on EKS: whether gpuyard installs it, and what of a pool it does not support."""

from collections.abc import Iterable, Iterator

from gpuyard.plan.capacity.scaling import manages_autoscalers, scaling_of
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import PoolPlan
from gpuyard.provider import provider_of
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.pools import Scaling
from gpuyard_core.catalogue.kubernetes.karpenter import IMAGE_FAMILY
from gpuyard_core.catalogue.machines import Capacity
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, info


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
            fix=_autoscaler(("pools", index)),
        )
        for index, pool in enumerate(spec.pools)
        if unmanaged and pool.scaling is Scaling.KARPENTER
    ]


def selects_reservations(pools: Iterable[PoolPlan]) -> bool:
    """Whether one of these pools names a reservation, which needs the gate ReservedCapacity.

    With the gate Karpenter launches all other nodes outside reservations (ODCR_SOURCE).
    """
    return any(option.reservation for pool in pools for option in pool.capacity_options)


def check_karpenter(draft: Draft) -> list[Diagnostic]:
    """Report what a pool requests and Karpenter does not support."""
    if not installs_karpenter(draft.spec):
        return []
    results: list[Diagnostic] = []
    scaled = [
        (planned, ("pools", index))
        for index, pool in enumerate(draft.spec.pools)
        if (planned := draft.pools.get(pool.name)) and planned.scaling is Scaling.KARPENTER
    ]
    gate = selects_reservations(planned for planned, _ in scaled)
    for planned, path in scaled:
        results += _of_pool(planned, path)
        results += _open_reservations(planned, path) if gate else ()
    return results


def _of_pool(planned: PoolPlan, path: Path) -> Iterator[Diagnostic]:
    software = planned.node_software
    if software is not None and not software.variant.startswith(IMAGE_FAMILY):
        yield error(
            "scaling.image",
            (*path, "image"),
            f"Karpenter would boot the latest release: gpuyard pins no release of {software.image}",
            given=software.image,
            allowed="al2023-nvidia; other images with scaling: autoscaler",
            fix=Fix(message="remove `image`", at=(*path, "image")),
        )
    if planned.autoscaler_hints.overlay:
        yield info(
            "scaling.overlay",
            (*path, "sharing"),
            f"Karpenter reads {', '.join(planned.autoscaler_hints.overlay)} from a NodeOverlay; gpuyard enables"
            " the gate of this alpha feature",
            given=planned.sharing.value,
            allowed="scaling: autoscaler, which reads tags",
        )


def _open_reservations(planned: PoolPlan, path: Path) -> Iterator[Diagnostic]:
    if any(option.mode == Capacity.ON_DEMAND for option in planned.capacity_options):
        yield info(
            "capacity.open_reservations",
            (*path, "capacity"),
            "Karpenter launches on-demand nodes with reservation preference none, because the stack names a"
            f" reservation: open reservations of {format_list(planned.machines)} are billed but stay unused",
            given=format_list(planned.capacity),
            allowed="a capacity option for each reservation that Karpenter is to use",
            fix=Fix(message="add {reserved: ID, nodes: COUNT} for each open reservation"),
        )


def _autoscaler(path: Path) -> Fix:
    at = (*path, "scaling")
    return Fix(message="write scaling: autoscaler", at=at, value=Scaling.AUTOSCALER.value)
