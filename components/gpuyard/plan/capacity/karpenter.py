"""Karpenter on EKS: whether the platform brings it, and what of a pool it cannot do."""

from collections.abc import Iterator

from gpuyard.catalogue.kubernetes.karpenter import IMAGE_FAMILY
from gpuyard.findings import Finding, Fix, Path, note, refuse
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


def pools_not_made(spec: PlatformSpec) -> list[Finding]:
    """Refuse pools whose nodes nothing would make: Karpenter of a cluster that exists is not ours."""
    return [
        refuse(
            "scaling.karpenter",
            ("pools", index, "scaling"),
            "Karpenter is not deployed in a cluster that exists, where one may run already, and yours is"
            f" given no NodePool: nobody would add nodes to {pool.name}",
            given="karpenter",
            allowed="autoscaler, or one number of nodes; karpenter in a cluster of ours",
            fix=_autoscaler(("pools", index)),
        )
        for index, pool in enumerate(spec.pools)
        if spec.cloud is Cloud.AWS and spec.cluster_exists and pool.scaling is Scaling.KARPENTER
    ]


def check_karpenter(draft: Draft) -> list[Finding]:
    """Whatever a pool asks for, and Karpenter does not do, is said of that pool."""
    if not installs_karpenter(draft.spec):
        return []
    found: list[Finding] = []
    for index, pool in enumerate(draft.spec.pools):
        planned = draft.pools.get(pool.name)
        if planned is not None and planned.scaling is Scaling.KARPENTER:
            found += _of_pool(planned, ("pools", index))
    return found


def _of_pool(planned: PoolPlan, path: Path) -> Iterator[Finding]:
    software = planned.node_software
    if software is not None and not software.variant.startswith(IMAGE_FAMILY):
        yield refuse(
            "scaling.image",
            (*path, "image"),
            f"Karpenter would boot whatever is published last: no release of {software.image} is pinned here",
            given=software.image,
            allowed="al2023-nvidia; scaling: autoscaler boots the others",
            fix=Fix(says="remove `image`", at=(*path, "image")),
        )
    if planned.scale.overlay:
        yield note(
            "scaling.overlay",
            (*path, "sharing"),
            f"Karpenter learns of {', '.join(planned.scale.overlay)} from a NodeOverlay, an alpha"
            " feature whose gate is turned on",
            given=planned.sharing.value,
            allowed="scaling: autoscaler learns of it from tags",
        )


def _autoscaler(path: Path) -> Fix:
    at = (*path, "scaling")
    return Fix(says="write scaling: autoscaler", at=at, value=Scaling.AUTOSCALER.value)
