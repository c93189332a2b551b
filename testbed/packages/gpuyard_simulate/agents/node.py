"""Everything that the fakes write on one node, decided together from plain values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gpuyard_core.names import DEVICE_PLUGIN_LABEL, EFA, OPERANDS_LABEL
from gpuyard_simulate import gke_plugin, mps
from gpuyard_simulate.adapters import plugin as rdma
from gpuyard_simulate.agents import feature_discovery, kubelet, mig_manager
from gpuyard_simulate.agents.cloud_node import CloudNode, cloud_node
from gpuyard_simulate.agents.device_plugin import devices, pod_rejection_reason
from gpuyard_simulate.agents.gpu_operator import Operator
from gpuyard_simulate.agents.hardware import LAYOUT, Hardware, hardware_of, layout_text
from gpuyard_simulate.agents.plugin_config import STARTED, ConfigRefused, PluginConfig, config_for
from gpuyard_simulate.drivers import upgrading
from gpuyard_simulate.tolerations import daemon_set_reaches

FAKE: Final = "kwok.x-k8s.io/node"
_DEVICE_PREFIX: Final = "nvidia.com/"
NodePatch = dict[str, str | None]


@dataclass(frozen=True, slots=True)
class Event:
    """An Event for people who inspect the node."""

    reason: str
    message: str
    component: str


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of one node; empty when it needs none."""

    labels: NodePatch = field(default_factory=dict)
    annotations: NodePatch = field(default_factory=dict)
    capacity: NodePatch = field(default_factory=dict)
    allocatable: NodePatch = field(default_factory=dict)
    events: tuple[Event, ...] = ()

    reboots: bool = False
    """Whether the node reboots, and every pod on it ends."""
    is_pending: bool = False
    """Whether an operand pod of the operator does not start."""
    requeue: float | None = None
    """When to evaluate the node again, in Unix time: its driver responds then."""

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


def is_fake_node(node: Mapping[str, Any]) -> bool:
    """Whether a node is a fake one."""
    return bool(node["metadata"].get("annotations", {}).get(FAKE) == "fake")


def refuses_pod(node: Mapping[str, Any], pod: Mapping[str, Any], operator: Operator | None) -> str:
    """Why the node rejects a pod that was scheduled to it; "" when it accepts it."""
    if not is_fake_node(node):
        return ""
    spec, metadata = pod["spec"], node["metadata"]
    containers = [*(spec.get("initContainers") or []), *spec["containers"]]
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    if why := gke_plugin.pod_rejection_reason(
        metadata.get("labels") or {}, allocatable, containers
    ):
        return why
    if operator is None:
        return ""
    try:
        started = (metadata.get("annotations") or {}).get(STARTED)
        config, _ = config_for(metadata.get("labels") or {}, operator, started)
    except ConfigRefused:
        return ""
    return pod_rejection_reason(containers, config)


def changes(
    node: Mapping[str, Any],
    operator: Operator | None,
    gpu_pods: Callable[[], int],
    agents: frozenset[str] = frozenset(),
    adapters: rdma.RunningPlugin | None = None,
    now: float = 0.0,
) -> Changes:
    """The fakes' changes of a node. `gpu_pods` is called only when the answer matters.

    `agents` run there as pods of the cluster's own, which a cloud's node waits for; `adapters` is the one
    that advertises network adapters. `now` is Unix time.
    """
    hardware = hardware_of(node)
    if hardware is None:
        return Changes()
    draft = _Draft(node, hardware, cloud_node(node, agents), now)
    reached = operator is not None and draft.reached(operator)
    if operator and reached and hardware.machine.gpu is not None:
        if draft.has_driver(operator):
            draft.cut(operator, gpu_pods)
            draft.discover(operator)
        else:
            draft.waits = True  # for the driver, before anything else starts
    if adapters is not None:
        draft.hand_out(adapters)
    return draft.finish()


class _Draft:
    """The changes of one node, collected from one fake after the other."""

    def __init__(
        self, node: Mapping[str, Any], hardware: Hardware, cloud: CloudNode | None, now: float
    ) -> None:
        metadata = node["metadata"]
        self._node = node
        self._status = node.get("status") or {}
        self._labels: Mapping[str, str] = metadata.get("labels") or {}
        self._annotations: Mapping[str, str] = metadata.get("annotations") or {}
        self._hardware = hardware
        self._pending = False
        self._restarts = False
        self._pod = ""
        self._cloud = cloud
        self._devices: dict[str, str] = {}
        self._again = cloud.gpus_from if cloud is not None and cloud.gpus_from > now else None
        if cloud is not None and cloud.devices is not None and self._again is None:
            self._devices = {name: str(count) for name, count in cloud.devices.items()}
        own = kubelet.labels(metadata["name"], hardware.machine)
        self._new_labels: NodePatch = {k: v for k, v in own.items() if k not in self._labels}
        self._new_annotations: NodePatch = {}
        self._events: list[Event] = []
        self.waits = False

    def reached(self, operator: Operator) -> bool:
        """Whether its pods run here: a taint keeps out pods without a toleration, and ends none that runs."""
        if self._labels.get(OPERANDS_LABEL) == "false":
            return False
        return feature_discovery.RUNS in self._labels or daemon_set_reaches(
            operator.tolerations, self._node
        )

    def has_driver(self, operator: Operator) -> bool:
        """Whether a driver is installed: without one no agent finds a GPU."""
        if self._again is not None:
            return False
        if self._cloud is not None and self._cloud.has_driver:
            return True
        self._pod = self._driver_pod(operator)
        return (self._cloud is None or operator.driver) and not upgrading.failure_reason(self._node)

    def _driver_pod(self, operator: Operator) -> str:
        """The driver version: a new driver pod has the newest, a running one keeps its own."""
        current: str | None = self._annotations.get(upgrading.POD)
        wanted = (current or operator.driver_version) if operator.driver_version else None
        if wanted != current:
            self._new_annotations[upgrading.POD] = wanted
        return wanted or ""

    def _driver_of(self) -> str:
        """What the operator installs where the image has no driver; driver queries return the same."""
        if self._cloud is None or not self._cloud.has_driver:
            return self._pod
        return self._cloud.driver_version

    def cut(self, operator: Operator, gpu_pods: Callable[[], int]) -> None:
        """Let the mig-manager take its next step."""
        state = self._labels.get(mig_manager.STATE_LABEL)
        step = mig_manager.next_step(
            mig_manager.NodeMarks(self._labels, self._annotations),
            self._hardware,
            operator.mig,
            gpu_pods=gpu_pods() if state == "pending" else 0,
            reboots=operator.reboots,
        )
        self._pending = (step.state if step else state) in mig_manager.WORKING
        if step is None:
            return
        self._restarts = True
        self._new_labels |= mig_manager.clients(step.state, self._labels)
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
        """Labels and devices: both agents read the same file; no devices while GPUs are being partitioned."""
        try:
            # its pod is another one after partitioning
            started = None if self._restarts else self._annotations.get(STARTED)
            config, started_with = config_for(self._labels, operator, started)
            if started_with != self._annotations.get(STARTED):
                self._new_annotations[STARTED] = started_with
            driver = feature_discovery.driver_labels(self._driver_of())
            self._label(driver | feature_discovery.labels(self._hardware, config))
            if not self._pending and self._plugin_of_operator(operator):
                result = devices(self._hardware, config)
                if self._mps_serves(config):
                    self._devices = {name: str(count) for name, count in result.items()}
                else:
                    self.waits = True
        except ConfigRefused as problem:
            self.waits = True
            self._events.append(Event("DevicePluginFailed", str(problem), "nvidia-device-plugin"))

    def _mps_serves(self, config: PluginConfig) -> bool:
        """Whether nothing waits for the MPS daemon, which starts once the node's label selects it."""
        running = self._annotations.get(mps.RUNNING)
        if config.sharing != "mps":
            if running is not None:
                self._new_annotations[mps.RUNNING] = None
            return True
        expected = mps.mps_daemon_settings(self._hardware, config)
        if running != expected and self._labels.get(mps.CAPABLE) == "true":
            self._new_annotations[mps.RUNNING] = expected
        return running == expected

    def hand_out(self, plugin: rdma.RunningPlugin) -> None:
        """Network adapters, by the plugin's configuration at its start."""
        text, started_with = plugin.read(self._annotations.get(rdma.STARTED))
        if started_with != self._annotations.get(rdma.STARTED):
            self._new_annotations[rdma.STARTED] = started_with
        try:
            result = rdma.advertised(self._annotations.get(rdma.ADAPTERS), text)
            self._devices |= {name: str(count) for name, count in result.items()}
        except rdma.AdaptersRefused as problem:
            self._events.append(Event("DevicePluginFailed", str(problem), rdma.IMAGE))

    def _plugin_of_operator(self, operator: Operator) -> bool:
        """Whether the operator's device plugin runs there, not only one of the image or the cloud."""
        is_enabled = self._labels.get(DEVICE_PLUGIN_LABEL) != "false"
        return is_enabled and (self._cloud is None or operator.device_plugin)

    def _label(self, result: feature_discovery.NodeLabels) -> None:
        owned = self._annotations.get(feature_discovery.OWNED)
        self._new_labels |= feature_discovery.change(self._labels, owned, result)
        names = ",".join(sorted(result))
        if names != owned:
            self._new_annotations[feature_discovery.OWNED] = names

    def finish(self) -> Changes:
        """Only the differences; devices that are no longer advertised are removed."""
        return Changes(
            self._new_labels,
            self._new_annotations,
            _difference(self._status.get("capacity") or {}, self._has(whole=True)),
            _difference(self._status.get("allocatable") or {}, self._has(whole=False)),
            tuple(self._events),
            self._new_labels.get(mig_manager.STATE_LABEL) == "rebooting",
            self.waits,
            self._again,
        )

    def _has(self, *, whole: bool) -> dict[str, str]:
        """Capacity, or what of it is for pods."""
        cloud = self._cloud
        if cloud is None:
            return {**kubelet.capacity(self._hardware.machine), **self._devices}
        return cloud.with_devices(cloud.capacity if whole else cloud.allocatable, self._devices)


def _difference(current: Mapping[str, str], expected: Mapping[str, str]) -> NodePatch:
    removed: NodePatch = {
        name: None
        for name in current
        if name.startswith((_DEVICE_PREFIX, EFA, f"{rdma.PREFIX}/")) and name not in expected
    }
    return removed | {name: value for name, value in expected.items() if current.get(name) != value}
