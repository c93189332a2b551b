"""What installs the DRA driver for resource claims.

The GPU Operator does, with a GPUCluster instead of its ClusterPolicy: then no device plugin runs in the
cluster, and every GPU is requested by claims. NVIDIA has no such procedure for GKE: there gpuyard installs
the DRA driver's own chart, with Google's GPU driver, on nodes without the operator. In all other cases the
user installs the DRA driver.
"""

from gpuyard.plan.draft import Draft
from gpuyard.plan.software.gpu_operator import joins_operator
from gpuyard.provider import provider_of
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.pools import Pool
from gpuyard_core.catalogue.software.images import find_image
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, info


def operator_serves_dra_claims(spec: PlatformSpec) -> bool:
    """Whether gpuyard's GPU Operator serves claims, and so no extended resources."""
    chart_image = provider_of(spec.cloud).dra_chart_image
    return bool(_claimed(spec)) and not chart_image and not joins_operator(spec)


def installs_dra_driver_chart(spec: PlatformSpec) -> bool:
    """Whether gpuyard installs the DRA driver's own chart: on GKE, with Google's GPU driver."""
    image, claimed = provider_of(spec.cloud).dra_chart_image, _claimed(spec)
    by_chart = bool(image and claimed) and not joins_operator(spec)
    return by_chart and all(_image(spec, pool) == image for pool in claimed)


def installs_dra_driver(spec: PlatformSpec) -> bool:
    """Whether gpuyard installs a DRA driver, in either way."""
    return operator_serves_dra_claims(spec) or installs_dra_driver_chart(spec)


def _claimed(spec: PlatformSpec) -> list[Pool]:
    return [pool for pool in spec.pools if pool.sharing.dra]


def _image(spec: PlatformSpec, pool: Pool) -> str | None:
    """The image of a pool with claims, for which the cloud has a default."""
    provider = provider_of(spec.cloud)
    if pool.image is None:
        return provider.dra_chart_image
    result = find_image(pool.image, provider.images)
    return result[0].name if result else None


def _left_to_user(spec: PlatformSpec) -> str:
    """Why the user must install the DRA driver; empty if gpuyard does."""
    if installs_dra_driver(spec):
        return ""
    if joins_operator(spec):
        return "gpuyard does not manage the cluster's GPU Operator"
    image = provider_of(spec.cloud).dra_chart_image
    return f"gpuyard installs NVIDIA's DRA driver with Google's GPU driver only (image: {image})"


def check_dra_is_exclusive(draft: Draft) -> list[Diagnostic]:
    """Reject claims together with extended resources: the operator serves one of them in a cluster."""
    spec = draft.spec
    counted = [p.name for p in draft.valid_pools.values() if p.dra is None and p.machine.gpus]
    if not counted or not operator_serves_dra_claims(spec):
        return []
    findings: list[Diagnostic] = []
    for index, pool in enumerate(spec.pools):
        if pool.sharing.dra:
            at: Path = ("pools", index, "sharing")
            findings.append(
                error(
                    "dra.mixed",
                    at,
                    f"the GPU Operator serves either resource claims or extended resources in a cluster, but"
                    f" pods of {format_list(counted)} use extended resources",
                    given="dra",
                    allowed="dra for every pool, or for none; a separate cluster for one of the two",
                    fix=Fix(message="remove `sharing`", at=at),
                )
            )
    return findings


def check_claims_driver(draft: Draft) -> list[Diagnostic]:
    """Report pools with claims for which gpuyard installs no DRA driver."""
    why = _left_to_user(draft.spec)
    claimed = [pool.name for pool in draft.valid_pools.values() if pool.dra]
    if not why or not claimed:
        return []
    return [
        info(
            "dra.yours",
            ("pools",),
            f"{why}: you must install NVIDIA's DRA driver on nodes of {format_list(claimed)}; until then, every"
            " pod that claims a GPU there waits",
        )
    ]
