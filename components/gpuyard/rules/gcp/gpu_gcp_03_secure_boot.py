"""GPU-GCP-03: GPU nodes boot what was signed."""

from collections.abc import Iterator

from gpuyard.findings import Severity
from gpuyard.rules.rule import (
    Parameters,
    Reference,
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
from gpuyard.rules.subjects.pools import NODE_POOL, gpu_pool

_PATH = ("nodeConfig", "shieldedInstanceConfig")
_NO_PLUGIN = "gke-no-default-nvidia-gpu-device-plugin"
"""A label that keeps Google's plugin away, for the operator's."""
_SECURE_BOOT = "enableSecureBoot"
_EFFECTS = {
    _SECURE_BOOT: "a kernel module that nobody signed can be loaded on these nodes",
    "enableIntegrityMonitoring": "nobody notices when these nodes boot something else",
}


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if gpu_pool(resource) is None:
        return
    for field, effect in _EFFECTS.items():
        if field == _SECURE_BOOT and _compiled_there(resource):
            continue
        value = at(resource.properties, *_PATH, field)
        # integrity monitoring is on unless it is turned off, secure boot the other way round
        on = is_true(value) or (value is None and field == "enableIntegrityMonitoring")
        if not on:
            yield Violation((*_PATH, field), effect, f"set {field}: true")


def _compiled_there(pool: Resource) -> bool:
    """Whether the driver is compiled on the node, as the GPU Operator does on Ubuntu; nobody signs it."""
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
    why="GPU nodes load kernel modules by design; secure boot keeps that to signed ones.",
    fix="Turn secure boot and integrity monitoring on; use drivers that Google signs.",
    sources=("GKE documentation, shielded nodes, and secure kernel modules on COS",),
    references=(Reference("CIS GKE 1.9.0", "5.5.5-5.5.7"),),
    kinds=(NODE_POOL,),
    check=_check,
)
