"""Karpenter on EKS: whether the platform brings it, and what of a pool it cannot do."""

from collections.abc import Iterable, Iterator

from gpuyard.catalogue.kubernetes.karpenter import IMAGE_FAMILY
from gpuyard.catalogue.machines import Capacity
from gpuyard.findings import Finding, Fix, Path, error, format_list, info
from gpuyard.plan.capacity.scaling import scaling_of
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import PoolPlan
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import Scaling


def installs_karpenter(spec: PlatformSpec) -> bool:
    """Where a pool of a cluster of ours on EKS is Karpenter's; in one that was there, one may run already."""
    if spec.cloud is not Cloud.AWS or spec.cluster_exists or spec.queueing.clusters:
        return False
    return any(scaling_of(spec.cloud, pool) is Scaling.KARPENTER for pool in spec.pools)


def unsupported_pools(spec: PlatformSpec) -> list[Finding]:
    """Refuse pools whose nodes nothing would make: Karpenter of a cluster that exists is not ours."""
    return [
        error(
            "scaling.karpenter",
            ("pools", index, "scaling"),
            "Karpenter is not deployed in a cluster that exists, where one may run already, and yours is"
            f" given no NodePool: nobody would add nodes to {pool.name}",
            value="karpenter",
            allowed="autoscaler, or one number of nodes; karpenter in a cluster of ours",
            fix=_autoscaler(("pools", index)),
        )
        for index, pool in enumerate(spec.pools)
        if spec.cloud is Cloud.AWS and spec.cluster_exists and pool.scaling is Scaling.KARPENTER
    ]


def selects_reservations(pools: Iterable[PoolPlan]) -> bool:
    """Whether one of these pools of Karpenter names a reservation, which needs the gate ReservedCapacity.

    With the gate Karpenter launches all other nodes outside of reservations (ODCR_SOURCE).
    """
    return any(option.reservation for pool in pools for option in pool.capacity_options)


def check_karpenter(draft: Draft) -> list[Finding]:
    """Whatever a pool asks for, and Karpenter does not do, is said of that pool."""
    if not installs_karpenter(draft.spec):
        return []
    results: list[Finding] = []
    ours = [
        (planned, ("pools", index))
        for index, pool in enumerate(draft.spec.pools)
        if (planned := draft.pools.get(pool.name)) and planned.scaling is Scaling.KARPENTER
    ]
    gate = selects_reservations(planned for planned, _ in ours)
    for planned, path in ours:
        results += _of_pool(planned, path)
        results += _open_reservations(planned, path) if gate else ()
    return results


def _of_pool(planned: PoolPlan, path: Path) -> Iterator[Finding]:
    software = planned.node_software
    if software is not None and not software.variant.startswith(IMAGE_FAMILY):
        yield error(
            "scaling.image",
            (*path, "image"),
            f"Karpenter would boot whatever is published last: no release of {software.image} is pinned here",
            value=software.image,
            allowed="al2023-nvidia; scaling: autoscaler boots the others",
            fix=Fix(message="remove `image`", at=(*path, "image")),
        )
    if planned.autoscaler_hints.overlay:
        yield info(
            "scaling.overlay",
            (*path, "sharing"),
            f"Karpenter learns of {', '.join(planned.autoscaler_hints.overlay)} from a NodeOverlay, an alpha"
            " feature whose gate is turned on",
            value=planned.sharing.value,
            allowed="scaling: autoscaler learns of it from tags",
        )


def _open_reservations(planned: PoolPlan, path: Path) -> Iterator[Finding]:
    if any(option.mode == Capacity.ON_DEMAND for option in planned.capacity_options):
        yield info(
            "capacity.open_reservations",
            (*path, "capacity"),
            "Karpenter launches on-demand nodes with reservation preference none, because the stack names a"
            f" reservation: an open reservation of {format_list(planned.machines)} stays billed and empty",
            value=format_list(planned.capacity),
            allowed="a rung for each reservation that Karpenter is to use",
            fix=Fix(message="add {reserved: ID, nodes: COUNT} for each open reservation"),
        )


def _autoscaler(path: Path) -> Fix:
    at = (*path, "scaling")
    return Fix(message="write scaling: autoscaler", at=at, value=Scaling.AUTOSCALER.value)
