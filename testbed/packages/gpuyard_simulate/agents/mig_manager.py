"""The fake mig-manager: partitions GPUs by the label `nvidia.com/mig.config`.

As strict as the real one (mig-parted v0.15, cmd/nvidia-mig-manager): it runs only where a GPU supports MIG,
and acts when the label changes, not when the ConfigMap does. It stops only the operator's own clients of the
GPU, by their labels: a GPU that a pod uses is not partitioned. If a change of MIG mode fails, it reboots the
node where configured, with all its pods. After a failure GPUs are unchanged, and nothing is retried until
the label changes. Schema and rules of the file: `version: v1`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from gpuyard_core.catalogue.mig import MigProduct
from gpuyard_simulate.agents.gpu_operator import MountedConfig
from gpuyard_simulate.agents.hardware import Hardware, Slices, fits

CONFIG_LABEL: Final = "nvidia.com/mig.config"
STATE_LABEL: Final = "nvidia.com/mig.config.state"
APPLIED: Final = "sim.gpuyard.dev/mig-applied"
"""The configuration that the state label refers to."""
BROKEN: Final = "sim.gpuyard.dev/mig-fails"
"""An annotation by which a test makes the next change fail; its value is the reason."""
PAUSED: Final = "paused-for-mig-change"
CLIENTS: Final = tuple(
    f"nvidia.com/gpu.deploy.{name}"
    for name in ("client", "dcgm", "dcgm-exporter", "device-plugin", "gpu-feature-discovery")
)
"""Labels by which the operator starts GPU clients; `false` is set by someone else and stays."""
KEY: Final = "config.yaml"
_ENTRY_KEYS: Final = {"devices", "mig-enabled", "mig-devices", "device-filter"}


Layout = tuple[Slices | None, ...]


class MigConfigError(Exception):
    """Why a configuration cannot be applied."""


WORKING: Final = frozenset({"pending", "rebooting"})
"""States in which a node advertises nothing."""


@dataclass(frozen=True, slots=True)
class NodeMarks:
    """The MIG manager's inputs and outputs on a node."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class MigStep:
    """What to write on the node."""

    config: str
    state: str
    layout: Layout | None = None
    reason: str = ""


def next_step(  # noqa: PLR0911  one for each thing that it may come to
    node: NodeMarks,
    hardware: Hardware,
    source: MountedConfig,
    *,
    gpu_pods: int = 0,
    reboots: bool = False,
) -> MigStep | None:
    """The next step on a node, None when nothing is to do."""
    config = node.labels.get(CONFIG_LABEL) or source.default
    waits_for_its_file = source.named and source.data is None
    if hardware.product is None or not config or waits_for_its_file:
        return None
    seen = node.annotations.get(APPLIED) == config
    if seen and node.labels.get(STATE_LABEL) not in WORKING:
        return None
    try:
        layout = plan_layout(config, hardware, source)
    except MigConfigError as problem:
        return MigStep(config, "failed", reason=str(problem))
    if not seen:
        applied = layout == hardware.layout
        return MigStep(config, "success" if applied else "pending", layout if applied else None)
    done = MigStep(config, "success", layout)
    if node.labels[STATE_LABEL] == "rebooting":
        return done
    if broken := node.annotations.get(BROKEN):
        return MigStep(config, "failed", reason=broken)
    if gpu_pods and reboots and _modes(layout) != _modes(hardware.layout):
        return MigStep(config, "rebooting")
    if gpu_pods:
        reason = f"In use by another client: {gpu_pods} pods on this node hold its GPUs"
        return MigStep(config, "failed", reason=reason)
    return done


def clients(state: str, labels: Mapping[str, str]) -> dict[str, str]:
    """The labels of the operator's own clients: removed while GPUs are partitioned, then restored."""
    value = PAUSED if state in WORKING else "true"
    before = {name: labels.get(name) for name in CLIENTS}
    return {name: value for name, now in before.items() if now not in {"false", value}}


def _modes(layout: Layout) -> list[bool]:
    """GPUs on which MIG is on."""
    return [gpu is not None for gpu in layout]


def plan_layout(config: str, hardware: Hardware, source: MountedConfig) -> Layout:
    """The requested MIG layout.

    Raises:
        Impossible: the configuration is unknown or invalid, or no GPU of this kind supports it.
    """
    product = hardware.product
    if product is None:
        raise MigConfigError(f"{hardware.machine.name} has no GPU that supports MIG")
    known = (
        parse(source.data.get(KEY, ""))
        if source.data is not None
        else generate_mig_configs(product)
    )
    if config not in known:
        raise MigConfigError(
            f"no configuration {config!r}; available: {', '.join(sorted(known)) or 'none'}"
        )
    layout = list(hardware.layout)
    for entry in known[config]:
        slices = _slices_of(entry, product)
        for gpu in _devices_of(entry, len(layout)):
            layout[gpu] = slices
    return tuple(layout)


def parse(text: str) -> dict[str, list[dict[str, Any]]]:
    """Named configurations from a mig-parted file; unknown keys are errors, as there."""
    try:
        result = yaml.safe_load(text)
        if result["version"] != "v1" or set(result) != {"version", "mig-configs"}:
            raise MigConfigError("the file must have `version: v1`, `mig-configs` and nothing else")
        configs = {
            str(name): [dict(entry) for entry in entries]
            for name, entries in result["mig-configs"].items()
        }
    except (yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as problem:
        raise MigConfigError(f"the file is not a mig-parted configuration ({problem})") from problem
    for name, entries in configs.items():
        for entry in entries:
            if unknown := sorted(set(entry) - _ENTRY_KEYS):
                raise MigConfigError(f"configuration {name}: unknown key {unknown[0]}")
    return configs


def generate_mig_configs(product: MigProduct) -> dict[str, list[dict[str, Any]]]:
    """Mig-manager's generated configurations without a file: off, on, each profile, balanced."""
    every: dict[str, Any] = {"devices": "all", "mig-enabled": True}
    slices_by_config: dict[str, dict[str, int]] = {
        "all-enabled": {},
        "all-balanced": _balanced(product),
    }
    for profile in product.profiles:
        slices_by_config[f"all-{profile.name.replace('+', '.')}"] = {
            profile.name: profile.max_count
        }
    on = {name: [{**every, "mig-devices": slices}] for name, slices in slices_by_config.items()}
    return {"all-disabled": [{"devices": "all", "mig-enabled": False}], **on}


def _balanced(product: MigProduct) -> dict[str, int]:
    """Two slices of one, one of two, one of three: of profiles not wider than half of the GPU."""
    half = product.slices // 2
    counts = {size: count for size, count in ((1, 2), (2, 1), (3, 1)) if size <= half}
    usual = [profile for profile in product.profiles if not profile.variant]
    chosen = {
        size: max((p for p in usual if p.slices == size), key=lambda p: p.max_count)
        for size in counts
    }
    return {chosen[size].name: count for size, count in counts.items()}


def _slices_of(entry: Mapping[str, Any], product: MigProduct) -> Slices | None:
    """The layout of a GPU by one entry."""
    if "device-filter" in entry:
        raise MigConfigError("device-filter names PCI ids, which the catalogue lacks; remove it")
    devices = entry.get("mig-devices") or {}
    if not entry.get("mig-enabled"):
        if devices:
            raise MigConfigError("mig-devices with mig-enabled false")
        return None
    if not isinstance(devices, Mapping) or not all(
        isinstance(count, int) for count in devices.values()
    ):
        raise MigConfigError(f"mig-devices must count instances by profile, not {devices!r}")
    slices = {str(name): int(count) for name, count in devices.items() if count}
    if not fits(product, slices):
        listed = ", ".join(f"{count} × {name}" for name, count in sorted(slices.items()))
        raise MigConfigError(f"{product.gpu} cannot be partitioned into {listed}")
    return slices


def _devices_of(entry: Mapping[str, Any], gpus: int) -> list[int]:
    """The GPUs of an entry."""
    devices = entry.get("devices")
    if devices == "all":
        return list(range(gpus))
    if not isinstance(devices, list) or not all(
        isinstance(gpu, int) and 0 <= gpu < gpus for gpu in devices
    ):
        raise MigConfigError(f"devices must be `all` or numbers up to {gpus - 1}, not {devices!r}")
    return devices
