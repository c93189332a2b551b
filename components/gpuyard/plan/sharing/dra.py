"""Dynamic resource allocation (DRA): pods request GPUs by claims instead of extended resources.

Such nodes advertise no extended resource. Kueue counts the devices of a claim under the name to which its
configuration maps the device class, so guarantees and quotas work as with extended resources.
"""

from collections.abc import Iterable, Iterator

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import AdvertisedResource, DraPlan
from gpuyard.plan.software.support import joins_operator
from gpuyard.provider import provider_of
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.pools import Pool
from gpuyard_core.catalogue.kubernetes.claims import (
    CHANNEL_CLASS,
    GPU_CLASS,
    GPU_CLASSES,
    QUOTA_KEY,
    SERVED_SINCE,
)
from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.catalogue.software.charts import DRA_DRIVER_CHART
from gpuyard_core.catalogue.software.images import find_image
from gpuyard_core.catalogue.software.pins import NEWEST_TRIED, PINS, is_before
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, info, warning
from gpuyard_core.names import DEVICE_PLUGIN_LABEL, GPU_CLAIM, GPU_PRESENT_LABEL, OPERANDS_LABEL


def plan_dra(spec: PlatformSpec, pool: Pool, machine: Machine) -> DraPlan | None:
    """The DRA settings of these nodes; None if the pool uses extended resources."""
    if not pool.sharing.dra:
        return None
    rack = machine.is_rack
    return DraPlan(
        driver=PINS[
            DRA_DRIVER_CHART.pin if installs_dra_driver_chart(spec) else "dra-driver"
        ].version,
        device_classes=(GPU_CLASS, CHANNEL_CLASS) if rack else (GPU_CLASS,),
        quota_resource=GPU_CLAIM,
        compute_domains=rack,
    )


def advertised_claim(machine: Machine) -> AdvertisedResource:
    """A claimed GPU, under the name by which queues count it."""
    return AdvertisedResource(GPU_CLAIM, machine.gpus, "", machine.gpu_fraction)


def dra_labels(spec: PlatformSpec, pool: Pool) -> dict[str, str]:
    """Labels that disable the device plugin on nodes with claims: both would allocate each GPU.

    The DRA driver's own chart runs on nodes that are labelled as having GPUs; the operator's components for
    the extended resources of other pools are disabled there.
    """
    if not pool.sharing.dra:
        return {}
    off = {DEVICE_PLUGIN_LABEL: "false"}
    if installs_dra_driver_chart(spec):
        off |= {OPERANDS_LABEL: "false", GPU_PRESENT_LABEL: "true"}
    return off


def quota_key(resource: str) -> str:
    """The key of a resource in a ResourceQuota."""
    return QUOTA_KEY.format(GPU_CLASS) if resource == GPU_CLAIM else f"requests.{resource}"


def check_dra(spec: PlatformSpec, pool: Pool, path: Path) -> Iterator[Diagnostic]:
    """Claims need a Kubernetes version that serves them, and nodes without a device plugin."""
    if not pool.sharing.dra:
        return
    if is_before(spec.kubernetes, SERVED_SINCE):
        at = ("kubernetes",)
        yield error(
            "dra.kubernetes",
            (*path, "sharing"),
            f"resource claims (resource.k8s.io/v1) need Kubernetes {SERVED_SINCE} or newer",
            given=f"dra on {spec.kubernetes}",
            allowed=f"kubernetes {SERVED_SINCE} or newer",
            fix=Fix(message=f'write kubernetes: "{NEWEST_TRIED}"', at=at, value=NEWEST_TRIED),
        )
    # images with their own device plugin are rejected for claims elsewhere
    if pool.select and pool.select.get(DEVICE_PLUGIN_LABEL) != "false":
        where, labels = (*path, "select"), {**pool.select, DEVICE_PLUGIN_LABEL: "false"}
        yield error(
            "dra.device_plugin",
            where,
            "existing nodes may run the device plugin: together with the DRA driver,"
            " each GPU would be allocated twice",
            given=", ".join(f"{k}={v}" for k, v in pool.select.items()),
            allowed=f"nodes with the device plugin off, labelled {DEVICE_PLUGIN_LABEL}=false",
            fix=Fix(message=f'add {DEVICE_PLUGIN_LABEL}: "false"', at=where, value=labels),
        )


def check_compute_domains(draft: Draft) -> Iterator[Diagnostic]:
    """NVLink spans a rack, but only for pods of one ComputeDomain, which need a claim."""
    first_wide = {s.pool: s for s in reversed(draft.shapes) if s.nodes > 1}
    for index, one in enumerate(draft.spec.pools):
        pool, wide = draft.pools.get(one.name), first_wide.get(one.name)
        if pool is None or wide is None or pool.dra or not pool.machine.is_rack:
            continue
        gpu = pool.machine.gpu.name if pool.machine.gpu else ""
        at: Path = ("pools", index, "sharing")
        yield warning(
            "dra.compute_domain",
            at,
            f"shape {wide.name} needs {wide.nodes} nodes with {gpu}: NVLink works across nodes only"
            " for pods that claim a channel of the same ComputeDomain",
            given=pool.sharing.value,
            allowed="dra",
            fix=Fix.write("dra", at),
        )


def quota_keys(resources: Iterable[str]) -> Iterable[str]:
    """All keys that a ResourceQuota must name, including device classes that queues do not count."""
    yield from map(quota_key, resources)
    yield from map(QUOTA_KEY.format, GPU_CLASSES)


# The GPU Operator does, with a GPUCluster instead of its ClusterPolicy: then no device plugin runs in the
# cluster, and every GPU is requested by claims. NVIDIA has no such procedure for GKE: there gpuyard
# installs the DRA driver's own chart, with Google's GPU driver, on nodes without the operator. In all other
# cases the user installs the DRA driver.


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


def check_claims(draft: Draft) -> Iterator[Diagnostic]:
    """Reject claims together with extended resources; report pools for which gpuyard installs no DRA driver."""
    spec, pools = draft.spec, draft.valid_pools.values()
    claimed = [pool.name for pool in pools if pool.dra]
    counted = [pool.name for pool in pools if pool.dra is None and pool.machine.gpus]
    if counted and operator_serves_dra_claims(spec):
        for index, pool in enumerate(spec.pools):
            if pool.sharing.dra:
                at: Path = ("pools", index, "sharing")
                yield error(
                    "dra.mixed",
                    at,
                    f"the GPU Operator serves either resource claims or extended resources in a cluster, but"
                    f" pods of {format_list(counted)} use extended resources",
                    given="dra",
                    allowed="dra for every pool, or for none; a separate cluster for one of the two",
                    fix=Fix(message="remove `sharing`", at=at),
                )
    if claimed and not installs_dra_driver(spec):
        why = "gpuyard does not manage the cluster's GPU Operator"
        if not joins_operator(spec):
            image = provider_of(spec.cloud).dra_chart_image
            why = f"gpuyard installs NVIDIA's DRA driver with Google's GPU driver only (image: {image})"
        yield info(
            "dra.yours",
            ("pools",),
            f"{why}: you must install NVIDIA's DRA driver on nodes of {format_list(claimed)}; until then, every"
            " pod that claims a GPU there waits",
        )
