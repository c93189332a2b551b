"""A node of a fake cloud: annotations describe its kubelet, its image and its devices.

The fake cloud writes them when the instance starts. A node without them is a plain fake with all of its
machine's resources.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gpuyard_core.catalogue.gke.nodes import DISTRIBUTION_LABEL, requests_latest_driver
from gpuyard_core.names import EFA, INSTANCE_TYPE_LABEL

KUBELET: Final = "sim.gpuyard.dev/kubelet"
"""JSON: capacity and allocatable, without devices."""
EFA_INTERFACES: Final = "sim.gpuyard.dev/efa-interfaces"
"""Number of attached EFA interfaces; the EFA device plugin advertises them where it runs."""
DRIVER: Final = "sim.gpuyard.dev/driver"
"""`none` where neither image nor cloud installs a GPU driver, otherwise the version where known."""
_NONE: Final = "none"
DEVICES: Final = "sim.gpuyard.dev/devices"
"""JSON: resources that a device plugin of the image or the cloud advertises; none without it."""
GPUS_FROM: Final = "sim.gpuyard.dev/gpus-from"
"""Unix time from which on the driver responds; without it the node has started."""

# Images of pods that identify agents on a node: their names before the tag.
EFA_PLUGIN: Final = "aws-efa-k8s-device-plugin"
DRIVER_INSTALLER: Final = "cos-nvidia-installer"
"""Of an init container of Google's DaemonSet."""
LATEST_INSTALLER: Final = f"{DRIVER_INSTALLER} --version=latest"
"""The same, configured to install the newest driver."""
GOOGLE_DRIVER: Final = "580.126.20"
"""Version that GKE and Google's DaemonSet install. On a real node it follows from the node image and the GPU;
this is one that NVIDIA/aicr at d36b498 installs on GKE (docs/integrator/gke-gb200-networking.md)."""


@dataclass(frozen=True, slots=True)
class CloudNode:
    """Content of a node's annotations."""

    capacity: Mapping[str, str]
    allocatable: Mapping[str, str]
    efa: int = 0
    driver: bool = True
    driver_version: str = ""
    """Of the image, the cloud or Google's DaemonSet; empty where unknown."""
    devices: Mapping[str, int] | None = None
    agents: frozenset[str] = field(default_factory=frozenset[str])
    """Agents that run there, by their images."""
    installers: frozenset[str] = frozenset()
    """Agents that install a driver which this node can load."""
    gpus_from: float = 0.0

    @property
    def has_driver(self) -> bool:
        """Whether the image, the cloud or Google's DaemonSet has installed a driver, or is about to."""
        return self.driver or not self.installers.isdisjoint(self.agents)

    def with_devices(
        self, amounts: Mapping[str, str], devices: Mapping[str, str]
    ) -> dict[str, str]:
        """Capacity or allocatable, with EFA where its plugin runs, and with devices."""
        efa = {EFA: str(self.efa)} if self.efa and EFA_PLUGIN in self.agents else {}
        return {**amounts, **efa, **devices}


def cloud_node(node: Mapping[str, Any], agents: frozenset[str]) -> CloudNode | None:
    """The fake cloud's description of a node; None for a node without one."""
    notes = node["metadata"].get("annotations") or {}
    if KUBELET not in notes:
        return None
    kubelet = json.loads(notes[KUBELET])
    driver = notes.get(DRIVER, "")
    installers = _installers(node["metadata"].get("labels") or {})
    installed = "" if installers.isdisjoint(agents) else GOOGLE_DRIVER
    return CloudNode(
        capacity=kubelet["capacity"],
        allocatable=kubelet["allocatable"],
        efa=int(notes.get(EFA_INTERFACES, 0)),
        driver=driver != _NONE,
        driver_version=installed if driver == _NONE else driver,
        devices=json.loads(notes[DEVICES]) if DEVICES in notes else None,
        agents=agents,
        installers=installers,
        gpus_from=float(notes.get(GPUS_FROM, 0)),
    )


def _installers(labels: Mapping[str, str]) -> frozenset[str]:
    """Only Container-Optimized OS contains the installer image; its default driver is too old for some GPUs."""
    if labels.get(DISTRIBUTION_LABEL) != "cos":
        return frozenset()
    latest = requests_latest_driver(labels.get(INSTANCE_TYPE_LABEL, ""))
    return frozenset([LATEST_INSTALLER] if latest else [LATEST_INSTALLER, DRIVER_INSTALLER])


def agent_in(pod: Mapping[str, Any]) -> str:
    """Which agent of a node a running pod is; "" for any other pod."""
    if (pod.get("status") or {}).get("phase") != "Running":
        return ""
    spec = pod["spec"]
    if any(_image(each) == EFA_PLUGIN for each in spec["containers"]):
        return EFA_PLUGIN
    for each in spec.get("initContainers") or ():
        # only a privileged container can load a kernel module
        privileged = (each.get("securityContext") or {}).get("privileged") is True
        if privileged and _image(each) == DRIVER_INSTALLER:
            latest = "--version=latest" in " ".join(each.get("command") or ())
            return LATEST_INSTALLER if latest else DRIVER_INSTALLER
    return ""


def _image(container: Mapping[str, Any]) -> str:
    image = str(container.get("image", ""))
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]
