"""The fake mig-manager: cuts GPUs as the label `nvidia.com/mig.config` says.

As unkind as the real one (mig-parted v0.15, cmd/nvidia-mig-manager): it runs only where a GPU can be cut,
and acts when the label changes, not when the ConfigMap does. It stops the operator's own clients of the GPU
by their labels, and nobody else's: a GPU that a pod holds is not cut. Where a change of MIG mode fails it
reboots the node, when it is told to, whatever runs there. After a failure GPUs are as they were, and nothing
is tried again until the label changes. Schema and rules of the file: `version: v1`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from gpuyard.catalogue.mig import MigProduct
from gpuyard.simulate.agents.gpu_operator import MountedConfig
from gpuyard.simulate.agents.hardware import Hardware, Slices, fits

CONFIG_LABEL: Final = "nvidia.com/mig.config"
STATE_LABEL: Final = "nvidia.com/mig.config.state"
APPLIED: Final = "sim.gpuyard.dev/mig-applied"
"""The configuration the state label speaks of."""
BROKEN: Final = "sim.gpuyard.dev/mig-fails"
"""An annotation by which a test makes the next change fail, with its value for a reason."""
PAUSED: Final = "paused-for-mig-change"
CLIENTS: Final = tuple(
    f"nvidia.com/gpu.deploy.{name}"
    for name in ("client", "dcgm", "dcgm-exporter", "device-plugin", "gpu-feature-discovery")
)
"""Labels by which the operator starts what holds GPUs; `false` is another's word, and stays."""
KEY: Final = "config.yaml"
_ENTRY_KEYS: Final = {"devices", "mig-enabled", "mig-devices", "device-filter"}


Layout = tuple[Slices | None, ...]


class Impossible(Exception):
    """Why a configuration cannot be applied."""


WORKING: Final = frozenset({"pending", "rebooting"})
"""States in which a node advertises nothing."""


@dataclass(frozen=True, slots=True)
class NodeMarks:
    """What stands on a node for the manager, and by it."""

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
    """The next thing to do on a node, None when there is nothing."""
    config = node.labels.get(CONFIG_LABEL) or source.default
    waits_for_its_file = source.named and source.data is None
    if hardware.product is None or not config or waits_for_its_file:
        return None
    seen = node.annotations.get(APPLIED) == config
    if seen and node.labels.get(STATE_LABEL) not in WORKING:
        return None
    try:
        layout = plan_layout(config, hardware, source)
    except Impossible as problem:
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
    """The labels of the operator's own clients: away while GPUs are cut, and back after that."""
    value = PAUSED if state in WORKING else "true"
    before = {name: labels.get(name) for name in CLIENTS}
    return {name: value for name, now in before.items() if now not in {"false", value}}


def _modes(layout: Layout) -> list[bool]:
    """On which GPUs MIG is on."""
    return [gpu is not None for gpu in layout]


def plan_layout(config: str, hardware: Hardware, source: MountedConfig) -> Layout:
    """How the GPUs shall be cut.

    Raises:
        Impossible: the configuration is unknown, unreadable, or no GPU of this kind can be cut so.
    """
    product = hardware.product
    if product is None:
        raise Impossible(f"{hardware.machine.name} has no GPU that can be cut")
    known = parse(source.data.get(KEY, "")) if source.data is not None else generated(product)
    if config not in known:
        raise Impossible(
            f"no configuration {config!r}; there are {', '.join(sorted(known)) or 'none'}"
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
            raise Impossible("the file must have `version: v1`, `mig-configs` and nothing else")
        configs = {
            str(name): [dict(entry) for entry in entries]
            for name, entries in result["mig-configs"].items()
        }
    except (yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as problem:
        raise Impossible(f"the file is no mig-parted configuration ({problem})") from problem
    for name, entries in configs.items():
        for entry in entries:
            if unknown := sorted(set(entry) - _ENTRY_KEYS):
                raise Impossible(f"configuration {name}: unknown key {unknown[0]}")
    return configs


def generated(product: MigProduct) -> dict[str, list[dict[str, Any]]]:
    """What mig-manager makes from the GPU when it is given no file: off, on, each profile, balanced."""
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
    """Two slices of one, one of two, one of three: of those that are no wider than half of the GPU."""
    half = product.slices // 2
    counts = {size: count for size, count in ((1, 2), (2, 1), (3, 1)) if size <= half}
    usual = [profile for profile in product.profiles if not profile.variant]
    chosen = {
        size: max((p for p in usual if p.slices == size), key=lambda p: p.max_count)
        for size in counts
    }
    return {chosen[size].name: count for size, count in counts.items()}


def _slices_of(entry: Mapping[str, Any], product: MigProduct) -> Slices | None:
    """What one entry makes of a GPU."""
    if "device-filter" in entry:
        raise Impossible(
            "device-filter names PCI ids, which the catalogue does not know; leave it out"
        )
    devices = entry.get("mig-devices") or {}
    if not entry.get("mig-enabled"):
        if devices:
            raise Impossible("mig-devices with mig-enabled false")
        return None
    if not isinstance(devices, Mapping) or not all(
        isinstance(count, int) for count in devices.values()
    ):
        raise Impossible(f"mig-devices must count instances by profile, not {devices!r}")
    slices = {str(name): int(count) for name, count in devices.items() if count}
    if not fits(product, slices):
        listed = ", ".join(f"{count} × {name}" for name, count in sorted(slices.items()))
        raise Impossible(f"{product.gpu} cannot be cut into {listed}")
    return slices


def _devices_of(entry: Mapping[str, Any], gpus: int) -> list[int]:
    """The GPUs an entry speaks of."""
    devices = entry.get("devices")
    if devices == "all":
        return list(range(gpus))
    if not isinstance(devices, list) or not all(
        isinstance(gpu, int) and 0 <= gpu < gpus for gpu in devices
    ):
        raise Impossible(f"devices must be `all` or numbers up to {gpus - 1}, not {devices!r}")
    return devices
