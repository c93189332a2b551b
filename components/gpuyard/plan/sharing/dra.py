"""Dynamic resource allocation: GPUs that pods claim, instead of counting them.

Such nodes advertise no extended resource. Kueue counts the devices of a claim under a name that its own
configuration maps the device class to, so guarantees and quotas work as with counted GPUs.
"""

from collections.abc import Iterable

from gpuyard.catalogue.kubernetes.claims import (
    CHANNEL_CLASS,
    GPU_CLASS,
    GPU_CLASSES,
    QUOTA_KEY,
    SERVED_SINCE,
)
from gpuyard.catalogue.machines import Machine
from gpuyard.catalogue.software.charts import DRA_DRIVER_PIN
from gpuyard.catalogue.software.pins import NEWEST_TRIED, PINS, is_before
from gpuyard.findings import Finding, Fix, Path, error, warning
from gpuyard.names import DEVICE_PLUGIN_LABEL, GPU_CLAIM, GPU_PRESENT_LABEL, OPERANDS_LABEL
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import Advertised, DraPlan
from gpuyard.plan.sharing.claims import installs_claim_driver
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.pools import Pool


def plan_dra(spec: PlatformSpec, pool: Pool, machine: Machine) -> DraPlan | None:
    """What the DRA driver does on these nodes; None where GPUs are counted."""
    if not pool.sharing.dra:
        return None
    rack = machine.is_rack
    return DraPlan(
        driver=PINS[DRA_DRIVER_PIN if installs_claim_driver(spec) else "dra-driver"].version,
        device_classes=(GPU_CLASS, CHANNEL_CLASS) if rack else (GPU_CLASS,),
        quota_resource=GPU_CLAIM,
        compute_domains=rack,
    )


def advertised_claim(machine: Machine) -> Advertised:
    """A GPU that is claimed, under the name that queues count it by."""
    return Advertised(GPU_CLAIM, machine.gpus, "", machine.gpu_fraction)


def dra_labels(spec: PlatformSpec, pool: Pool) -> dict[str, str]:
    """The device plugin stays off nodes whose GPUs are claimed: two owners would hand out each GPU twice.

    Where the driver of claims comes by its own chart, it goes to nodes that say they have GPUs, and what an
    operator has for counted GPUs of other pools stays away from them.
    """
    if not pool.sharing.dra:
        return {}
    off = {DEVICE_PLUGIN_LABEL: "false"}
    if installs_claim_driver(spec):
        off |= {OPERANDS_LABEL: "false", GPU_PRESENT_LABEL: "true"}
    return off


def quota_key(resource: str) -> str:
    """What a namespace's ResourceQuota calls a resource."""
    return QUOTA_KEY.format(GPU_CLASS) if resource == GPU_CLAIM else f"requests.{resource}"


def check_dra(spec: PlatformSpec, pool: Pool, path: Path) -> list[Finding]:
    """Claims need a Kubernetes that serves them, a driver, and nobody else who hands the GPUs out."""
    if not pool.sharing.dra:
        return []
    here = (*path, "sharing")
    findings: list[Finding] = []
    if is_before(spec.kubernetes, SERVED_SINCE):
        findings.append(
            error(
                "dra.kubernetes",
                here,
                f"claims are served from Kubernetes {SERVED_SINCE} on (resource.k8s.io/v1)",
                value=f"dra on {spec.kubernetes}",
                allowed=f"kubernetes {SERVED_SINCE} or newer",
                fix=Fix(
                    message=f'write kubernetes: "{NEWEST_TRIED}"',
                    at=("kubernetes",),
                    value=NEWEST_TRIED,
                ),
            )
        )
    return findings + _check_owner(pool, path)


def _check_owner(pool: Pool, path: Path) -> list[Finding]:
    """No device plugin beside the DRA driver; images with one of their own cannot be chosen for claims."""
    if not pool.select or pool.select.get(DEVICE_PLUGIN_LABEL) == "false":
        return []
    where, labels = (*path, "select"), {**pool.select, DEVICE_PLUGIN_LABEL: "false"}
    return [
        error(
            "dra.device_plugin",
            where,
            "nodes that exist may run the device plugin: beside the DRA driver,"
            " each GPU would be handed out twice",
            value=", ".join(f"{k}={v}" for k, v in pool.select.items()),
            allowed=f"nodes where the plugin is off, labelled {DEVICE_PLUGIN_LABEL}=false",
            fix=Fix(message=f'add {DEVICE_PLUGIN_LABEL}: "false"', at=where, value=labels),
        )
    ]


def check_compute_domains(draft: Draft) -> list[Finding]:
    """NVLink reaches through a rack, but only pods of one ComputeDomain may use it, and that is a claim."""
    findings: list[Finding] = []
    first_wide = {s.pool: s for s in reversed(draft.shapes) if s.nodes > 1}
    for index, one in enumerate(draft.spec.pools):
        pool, wide = draft.pools.get(one.name), first_wide.get(one.name)
        if pool is None or wide is None or pool.dra or not pool.machine.is_rack:
            continue
        gpu = pool.machine.gpu.name if pool.machine.gpu else ""
        at: Path = ("pools", index, "sharing")
        findings.append(
            warning(
                "dra.compute_domain",
                at,
                f"shape {wide.name} takes {wide.nodes} nodes with {gpu}: their NVLink goes from node to node"
                " for pods that claim a channel of one ComputeDomain, and for no others",
                value=pool.sharing.value,
                allowed="dra",
                fix=Fix(message="write dra", at=at, value="dra"),
            )
        )
    return findings


def quota_keys(resources: Iterable[str]) -> Iterable[str]:
    """All that a ResourceQuota has to name: also classes that pods may claim from and nobody counts."""
    yield from map(quota_key, resources)
    yield from map(QUOTA_KEY.format, GPU_CLASSES)
