"""GPU-GCP-03: GPU nodes use secure boot."""

from collections.abc import Iterator

from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import (
    AuditReference,
    Parameters,
    Resource,
    Rule,
    Violation,
    at,
    block,
    is_true,
    items,
    mapping,
    text,
)
from gpuyard_lint.rules.subjects.pools import NODE_POOL, gpu_pool

_PATH = ("nodeConfig", "shieldedInstanceConfig")
_NO_PLUGIN = "gke-no-default-nvidia-gpu-device-plugin"
"""A label that disables Google's device plugin in favour of the operator's."""
_SECURE_BOOT = "enableSecureBoot"
_EFFECTS = {
    _SECURE_BOOT: "these nodes load unsigned kernel modules",
    "enableIntegrityMonitoring": "a changed boot sequence of these nodes goes unnoticed",
}


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if gpu_pool(resource) is None:
        return
    for field, effect in _EFFECTS.items():
        if field == _SECURE_BOOT and _compiled_there(resource):
            continue
        value = at(resource.properties, *_PATH, field)
        # integrity monitoring is on by default, secure boot is off
        on = is_true(value) or (value is None and field == "enableIntegrityMonitoring")
        if not on:
            yield Violation((*_PATH, field), effect, f"set {field}: true")


def _compiled_there(pool: Resource) -> bool:
    """Whether the driver is compiled on the node, as the GPU Operator does on Ubuntu: it is unsigned."""
    config = block(pool.properties.get("nodeConfig"))
    if not text(config.get("imageType")).upper().startswith("UBUNTU"):
        return False
    cards = [block(each) for each in items(config.get("guestAccelerators"))]
    modes = [text(at(each, "gpuDriverInstallationConfig", "gpuDriverVersion")) for each in cards]
    by_others = text(mapping(config.get("labels")).get(_NO_PLUGIN)) == "true"
    return by_others or "INSTALLATION_DISABLED" in modes


RULE = Rule(
    id="GPU-GCP-03",
    title="GKE GPU nodes use secure boot",
    severity=Severity.WARNING,
    why="GPU nodes load kernel modules by design; secure boot allows only signed ones.",
    fix="Enable secure boot and integrity monitoring; use drivers that Google signs.",
    sources=("GKE documentation, shielded nodes, and secure kernel modules on COS",),
    references=(AuditReference("CIS GKE 1.9.0", "5.5.5-5.5.7"),),
    kinds=(NODE_POOL,),
    check=_check,
)
