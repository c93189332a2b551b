"""Everything the fakes write on one node, decided together from plain values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gpuyard.simulate.agents import feature_discovery, kubelet, mig_manager
from gpuyard.simulate.agents.device_plugin import devices, refuses
from gpuyard.simulate.agents.gpu_operator import Operator
from gpuyard.simulate.agents.hardware import LAYOUT, Hardware, hardware_of, layout_text
from gpuyard.simulate.agents.plugin_config import ConfigRefused, config_for

FAKE: Final = "kwok.x-k8s.io/node"
_DEVICE_PREFIX: Final = "nvidia.com/"
NodePatch = dict[str, str | None]


@dataclass(frozen=True, slots=True)
class Event:
    """Something a person looking at the node should read."""

    reason: str
    message: str
    component: str


@dataclass(frozen=True, slots=True)
class Changes:
    """What to write on one node; empty when it is as it should be."""

    labels: NodePatch = field(default_factory=dict)
    annotations: NodePatch = field(default_factory=dict)
    capacity: NodePatch = field(default_factory=dict)
    allocatable: NodePatch = field(default_factory=dict)
    events: tuple[Event, ...] = ()

    @property
    def metadata(self) -> dict[str, NodePatch]:
        """The part that goes to the node itself."""
        both = {"labels": self.labels, "annotations": self.annotations}
        return {key: value for key, value in both.items() if value}

    @property
    def status(self) -> dict[str, NodePatch]:
        """The part that goes to the node's status."""
        both = {"capacity": self.capacity, "allocatable": self.allocatable}
        return {key: value for key, value in both.items() if value}


def is_ours(node: Mapping[str, Any]) -> bool:
    """Whether a node is a fake one."""
    return bool(node["metadata"].get("annotations", {}).get(FAKE) == "fake")


def refuses_pod(node: Mapping[str, Any], pod: Mapping[str, Any], operator: Operator | None) -> str:
    """Why the node fails a pod that was sent to it; "" when it takes it."""
    if operator is None or not is_ours(node):
        return ""
    try:
        config = config_for(node["metadata"].get("labels") or {}, operator)
    except ConfigRefused:
        return ""
    spec = pod["spec"]
    return refuses([*(spec.get("initContainers") or []), *spec["containers"]], config)


def changes(
    node: Mapping[str, Any], operator: Operator | None, gpu_pods: Callable[[], int]
) -> Changes:
    """What the fakes want to change on a node. `gpu_pods` is asked only when the answer matters."""
    hardware = hardware_of(node)
    if hardware is None:
        return Changes()
    draft = _Draft(node, hardware)
    if operator is not None and hardware.machine.gpu is not None:
        draft.cut(operator, gpu_pods)
        draft.discover(operator)
    return draft.finish()


class _Draft:
    """The changes of one node while the fakes, one after the other, have their say."""

    def __init__(self, node: Mapping[str, Any], hardware: Hardware) -> None:
        metadata = node["metadata"]
        self._status = node.get("status") or {}
        self._labels: Mapping[str, str] = metadata.get("labels") or {}
        self._annotations: Mapping[str, str] = metadata.get("annotations") or {}
        self._hardware = hardware
        self._pending = False
        self._wanted = dict(kubelet.capacity(hardware.machine))
        own = kubelet.labels(metadata["name"], hardware.machine)
        self._new_labels: NodePatch = {k: v for k, v in own.items() if k not in self._labels}
        self._new_annotations: NodePatch = {}
        self._events: list[Event] = []

    def cut(self, operator: Operator, gpu_pods: Callable[[], int]) -> None:
        """Let the mig-manager take its next step."""
        state = self._labels.get(mig_manager.STATE_LABEL)
        step = mig_manager.next_step(
            self._labels,
            self._annotations.get(mig_manager.APPLIED),
            self._hardware,
            operator.mig,
            gpu_pods=gpu_pods() if state == "pending" else 0,
        )
        self._pending = (step.state if step else state) == "pending"
        if step is None:
            return
        self._new_labels[mig_manager.STATE_LABEL] = step.state
        self._new_annotations[mig_manager.APPLIED] = step.config
        if mig_manager.CONFIG_LABEL not in self._labels:  # the operator labels with its default
            self._new_labels[mig_manager.CONFIG_LABEL] = step.config
        if step.reason:
            message = f"{step.config}: {step.reason}"
            self._events.append(Event("MigConfigFailed", message, "mig-manager"))
        if step.layout is not None:
            self._new_annotations[LAYOUT] = layout_text(step.layout)
            self._hardware = Hardware(self._hardware.machine, step.layout)

    def discover(self, operator: Operator) -> None:
        """Labels and devices: both agents read the same file; no devices while GPUs are being cut."""
        try:
            config = config_for(self._labels, operator)
            self._label(feature_discovery.labels(self._hardware, config))
            if not self._pending:
                found = devices(self._hardware, config)
                self._wanted |= {name: str(count) for name, count in found.items()}
        except ConfigRefused as problem:
            self._events.append(Event("DevicePluginFailed", str(problem), "nvidia-device-plugin"))

    def _label(self, found: feature_discovery.NodeLabels) -> None:
        owned = self._annotations.get(feature_discovery.OWNED)
        self._new_labels |= feature_discovery.change(self._labels, owned, found)
        names = ",".join(sorted(found))
        if names != owned:
            self._new_annotations[feature_discovery.OWNED] = names

    def finish(self) -> Changes:
        """Only what differs from what is there; devices nobody advertises any more are taken away."""
        return Changes(
            self._new_labels,
            self._new_annotations,
            _difference(self._status.get("capacity") or {}, self._wanted),
            _difference(self._status.get("allocatable") or {}, self._wanted),
            tuple(self._events),
        )


def _difference(current: Mapping[str, str], wanted: Mapping[str, str]) -> NodePatch:
    gone: NodePatch = {
        name: None for name in current if name.startswith(_DEVICE_PREFIX) and name not in wanted
    }
    return gone | {name: value for name, value in wanted.items() if current.get(name) != value}
