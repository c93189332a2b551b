"""Node images: the NVIDIA software in each, and what installs the rest.

An image is a family, such as `al2023-nvidia`; the cloud has its own name for each architecture. On GKE the
same disk image works with GKE's device plugin or with the GPU Operator, so it has two entries.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gpuyard_core.catalogue.sharing import SharingMethod
from gpuyard_core.catalogue.sources import Source
from gpuyard_core.catalogue.tables import read_yaml


class SoftwarePart(StrEnum):
    """A component of a node's GPU software, by the operator's name."""

    DRIVER = "driver"
    TOOLKIT = "toolkit"
    DEVICE_PLUGIN = "devicePlugin"
    MIG_MANAGER = "migManager"


DEPLOY_LABEL: Mapping[SoftwarePart, str] = {
    SoftwarePart.DRIVER: "nvidia.com/gpu.deploy.driver",
    SoftwarePart.TOOLKIT: "nvidia.com/gpu.deploy.container-toolkit",
    SoftwarePart.DEVICE_PLUGIN: "nvidia.com/gpu.deploy.device-plugin",
    SoftwarePart.MIG_MANAGER: "nvidia.com/gpu.deploy.mig-manager",
}
"""Labels that, with the value "false" on a node, disable a component of the operator (state_manager.go of v26.7.0)."""


class ComponentOwner(StrEnum):
    """What installs a component."""

    IMAGE = "image"
    OPERATOR = "GPU Operator"
    GKE = "GKE"
    DAEMONSET = "Google's DaemonSet"
    HOST = "the host"
    RUNTIME = "the container runtime"
    DRA_DRIVER = "the DRA driver"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeImage:
    """One image family."""

    name: str
    cloud: str
    """aws, gcp, or none for nodes of your own."""
    variants: Mapping[str, str]
    """The cloud's names by architecture; empty for images that are not the cloud's."""
    owners: Mapping[SoftwarePart, ComponentOwner]
    driver: str | None = None
    """The included driver; None if it has none, or if gpuyard does not choose it."""
    fractions: bool = True
    """Whether fractions of a GPU have their driver, such as the GRID driver of EC2 images."""
    gpudirect_rdma: bool = True
    """Whether GKE supports GPUDirect-RDMA on it."""
    sharing: frozenset[SharingMethod] = frozenset(SharingMethod)
    """Sharing methods with which a node advertises the planned resources."""
    unsupported_reason: str = ""
    """Why the other methods do not work."""
    efa: bool = False
    """Includes the EFA driver."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Values of the operator's chart that it needs, which apply to the whole cluster.

    The key below `env` of a component is the name of a variable.
    """
    node_labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that its nodes always need."""
    source: Source

    @property
    def uses_operator(self) -> bool:
        """Whether the GPU Operator installs at least one component."""
        return ComponentOwner.OPERATOR in self.owners.values()


IMAGES: Mapping[str, NodeImage] = read_yaml("images", Mapping[str, NodeImage])
"""Images by name, each cloud's preferred one first."""


def images_of(cloud: str) -> tuple[NodeImage, ...]:
    """The images of one cloud, preferred first; empty for simulated nodes."""
    return tuple(image for image in IMAGES.values() if image.cloud == cloud)


def find_image(spelling: str, images: Iterable[NodeImage]) -> tuple[NodeImage, str | None] | None:
    """One of a cloud's images by its catalogue name, or by the cloud's name, which includes the architecture.

    None if no image has that name. If a name of the cloud has two images, as on GKE, the first is returned.
    """
    lowered = spelling.lower()
    for image in images:
        if image.name == lowered:
            return image, None
        named = [arch for arch, variant in image.variants.items() if variant.lower() == lowered]
        if named:
            return image, named[0] if len(named) == 1 else None
    return None
