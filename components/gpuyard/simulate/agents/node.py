"""Everything the fakes write on one node, decided together from plain values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gpuyard.simulate.agents import feature_discovery, kubelet, mig_manager
from gpuyard.simulate.agents.device_plugin import devices
from gpuyard.simulate.agents.hardware import LAYOUT, Hardware, hardware_of, layout_text
from gpuyard.simulate.agents.operator import Operator
from gpuyard.simulate.agents.plugin_config import Refused, config_for

FAKE: Final = "kwok.x-k8s.io/node"
_DEVICE_PREFIX: Final = "nvidia.com/"
Change = dict[str, str | None]


@dataclass(frozen=True, slots=True)
class Event:
    """Something a person looking at the node should read."""

    reason: str
    message: str
    component: str


@dataclass(frozen=True, slots=True)
class Changes:
    """What to write on one node; empty when it is as it should be."""

    labels: Change = field(default_factory=dict)
    annotations: Change = field(default_factory=dict)
    capacity: Change = field(default_factory=dict)
    allocatable: Change = field(default_factory=dict)
    events: tuple[Event, ...] = ()

    @property
    def metadata(self) -> dict[str, Change]:
        """The part that goes to the node itself."""
        both = {"labels": self.labels, "annotations": self.annotations}
        return {key: value for key, value in both.items() if value}

    @property
    def status(self) -> dict[str, Change]:
        """The part that goes to the node's status."""
        both = {"capacity": self.capacity, "allocatable": self.allocatable}
        return {key: value for key, value in both.items() if value}


def is_ours(node: Mapping[str, Any]) -> bool:
    """Whether a node is a fake one."""
    return bool(node["metadata"].get("annotations", {}).get(FAKE) == "fake")


def changes(node: Mapping[str, Any], operator: Operator | None, gpu_pods: Callable[[], int]) -> Changes:
    """What the fakes want to change on a node. `gpu_pods` is asked only when the answer matters."""
    hardware = hardware_of(node)
    if hardware is None:
        return Changes()
    metadata, status = node["metadata"], node.get("status") or {}
    labels = metadata.get("labels") or {}
    annotations = metadata.get("annotations") or {}
    wanted = dict(kubelet.capacity(hardware.machine))
    if operator is None or hardware.machine.gpu is None:
        return _write(status, wanted, {}, {}, ())
    step = mig_manager.next_step(
        labels,
        annotations.get(mig_manager.APPLIED),
        hardware,
        operator.mig,
        gpu_pods=gpu_pods() if labels.get(mig_manager.STATE_LABEL) == "pending" else 0,
    )
    new_labels: Change = {}
    new_notes: Change = {}
    events: list[Event] = []
    if step:
        hardware = _cut(step, hardware, labels, new_labels, new_notes, events)
    pending = (step.state if step else labels.get(mig_manager.STATE_LABEL)) == "pending"
    _discover(hardware, operator, labels, annotations, new_labels, new_notes, wanted, events, pending=pending)
    return _write(status, wanted, new_labels, new_notes, tuple(events))


def _cut(
    step: mig_manager.Step,
    hardware: Hardware,
    labels: Mapping[str, str],
    new_labels: Change,
    new_notes: Change,
    events: list[Event],
) -> Hardware:
    """Note a step of the mig-manager; returns the hardware after it."""
    new_labels[mig_manager.STATE_LABEL] = step.state
    new_notes[mig_manager.APPLIED] = step.config
    if mig_manager.CONFIG_LABEL not in labels:
        new_labels[mig_manager.CONFIG_LABEL] = step.config  # the operator labels nodes with its default
    if step.reason:
        events.append(Event("MigConfigFailed", f"{step.config}: {step.reason}", "mig-manager"))
    if step.layout is None:
        return hardware
    new_notes[LAYOUT] = layout_text(step.layout)
    return Hardware(hardware.machine, step.layout)


def _discover(
    hardware: Hardware,
    operator: Operator,
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    new_labels: Change,
    new_notes: Change,
    wanted: dict[str, str],
    events: list[Event],
    *,
    pending: bool,
) -> None:
    """Labels and devices; both agents read the same file, and both are stopped while GPUs are being cut."""
    try:
        config = config_for(labels, operator)
        found = feature_discovery.labels(hardware, config)
        owned = annotations.get(feature_discovery.OWNED)
        new_labels |= feature_discovery.change(labels, owned, found)
        names = ",".join(sorted(found))
        if names != owned:
            new_notes[feature_discovery.OWNED] = names
        if not pending:
            wanted |= {name: str(count) for name, count in devices(hardware, config).items()}
    except Refused as problem:
        events.append(Event("DevicePluginFailed", str(problem), "nvidia-device-plugin"))


def _write(
    status: Mapping[str, Any],
    wanted: Mapping[str, str],
    labels: Change,
    annotations: Change,
    events: tuple[Event, ...],
) -> Changes:
    """Only what differs from what is there; devices nobody advertises any more are taken away."""
    return Changes(
        labels,
        annotations,
        _difference(status.get("capacity") or {}, wanted),
        _difference(status.get("allocatable") or {}, wanted),
        events,
    )


def _difference(current: Mapping[str, str], wanted: Mapping[str, str]) -> Change:
    gone: Change = {name: None for name in current if name.startswith(_DEVICE_PREFIX) and name not in wanted}
    return gone | {name: value for name, value in wanted.items() if current.get(name) != value}
