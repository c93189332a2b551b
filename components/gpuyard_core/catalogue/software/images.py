"""Node images: the NVIDIA software in each, and what installs the rest.

An image is a family, such as `al2023-nvidia`; the cloud has its own name for each architecture. On GKE the
same disk image works with GKE's device plugin or with the GPU Operator, so it has two entries.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from gpuyard_core.catalogue.sharing import SharingMethod
from gpuyard_core.catalogue.sources import Source
from gpuyard_core.names import OPERANDS_LABEL

_CHECKED = date(2026, 11, 21)
AL2023 = Source(
    "awslabs/amazon-eks-ami v20260714: CHANGELOG, install-nvidia-driver.sh, nvidia-kmod-load.sh; driver 580.178.04 on"
    " nodes of release 1.36.3-20260911, in public runs of 2026-09-16; that of v20260930 is unknown",
    date(2026, 11, 28),
    as_of=date(2026, 9, 11),
)
BOTTLEROCKET = Source(
    "bottlerocket-os: bottlerocket-kernel-kit #429 (driver; no newer one was found), #285 (GRID), QUICKSTART-EKS.md"
    " and settings 1.54 (device plugin)",
    _CHECKED,
    as_of=_CHECKED,
)
UBUNTU_EKS = Source(
    "NVIDIA/cloud-native-docs amazon-eks.rst and platform-support.rst 26.7",
    _CHECKED,
    as_of=_CHECKED,
)
GKE_OPERATOR = Source(
    "NVIDIA/cloud-native-docs google-gke.rst 26.7: prerequisites, quota, Google driver installer, MIG manager",
    _CHECKED,
    as_of=_CHECKED,
)
GKE_MANAGED = Source(
    "GoogleCloudPlatform/container-engine-accelerators pkg/gpu/nvidia (2026-06-11)",
    _CHECKED,
    as_of=date(2026, 6, 11),
)
OWN = Source(
    "NVIDIA/gpu-operator v26.7.0, values.yaml and state_manager.go",
    _CHECKED,
    as_of=date(2026, 8, 20),
)


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
    fabric_manager: bool = False
    """Includes NVIDIA Fabric Manager, without which CUDA does not work on NVSwitch machines."""
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


def _owners(
    driver: ComponentOwner,
    toolkit: ComponentOwner,
    device_plugin: ComponentOwner,
    mig: ComponentOwner,
) -> Mapping[SoftwarePart, ComponentOwner]:
    return dict(zip(SoftwarePart, (driver, toolkit, device_plugin, mig), strict=True))


_ALL_OPERATOR = _owners(
    ComponentOwner.OPERATOR,
    ComponentOwner.OPERATOR,
    ComponentOwner.OPERATOR,
    ComponentOwner.OPERATOR,
)
_COS_PATH = "/home/kubernetes/bin/nvidia"
_COS = "COS_CONTAINERD"
_REBOOTS = {"migManager.env.WITH_REBOOT": "true"}
"""The GPU of a virtual machine changes its MIG mode when the machine reboots (gpu-operator-mig.rst)."""
_ON_GKE = {"toolkit.env.RUNTIME_CONFIG_SOURCE": "file", **_REBOOTS}
"""Without it, from GKE 1.33 on the toolkit would overwrite GKE's containerd configuration with defaults."""


def _bottlerocket(fips: str) -> NodeImage:
    return NodeImage(
        name=f"bottlerocket-nvidia{fips.lower().replace('_', '-')}",
        cloud="aws",
        variants={
            "amd64": f"BOTTLEROCKET_x86_64_NVIDIA{fips}",
            "arm64": f"BOTTLEROCKET_ARM_64_NVIDIA{fips}",
        },
        owners=_owners(
            ComponentOwner.IMAGE, ComponentOwner.IMAGE, ComponentOwner.IMAGE, ComponentOwner.IMAGE
        ),
        driver="580.159.03",
        sharing=frozenset({SharingMethod.NONE, SharingMethod.TIME_SLICING, SharingMethod.MPS}),
        unsupported_reason="Bottlerocket partitions all GPUs of a node identically at boot by its "
        "own setting; the MIG manager of the GPU Operator cannot repartition "
        "them",
        fabric_manager=True,
        source=BOTTLEROCKET,
    )


IMAGES: Mapping[str, NodeImage] = {
    image.name: image
    for image in (
        NodeImage(
            name="al2023-nvidia",
            cloud="aws",
            variants={"amd64": "AL2023_x86_64_NVIDIA", "arm64": "AL2023_ARM_64_NVIDIA"},
            owners=_owners(
                ComponentOwner.IMAGE,
                ComponentOwner.IMAGE,
                ComponentOwner.OPERATOR,
                ComponentOwner.OPERATOR,
            ),
            driver="580.178.04",
            efa=True,
            fabric_manager=True,
            settings=_REBOOTS,
            source=AL2023,
        ),
        _bottlerocket(""),
        _bottlerocket("_FIPS"),
        NodeImage(
            name="ubuntu-eks",
            cloud="aws",
            variants={"amd64": "CUSTOM", "arm64": "CUSTOM"},
            owners=_ALL_OPERATOR,
            fractions=False,
            settings=_REBOOTS,
            source=UBUNTU_EKS,
        ),
        NodeImage(
            name="cos",
            cloud="gcp",
            variants={"amd64": _COS, "arm64": _COS},
            owners=_owners(
                ComponentOwner.DAEMONSET,
                ComponentOwner.OPERATOR,
                ComponentOwner.OPERATOR,
                ComponentOwner.OPERATOR,
            ),
            settings={
                "hostPaths.driverInstallDir": _COS_PATH,
                "toolkit.installDir": _COS_PATH,
                **_ON_GKE,
            },
            node_labels={"gke-no-default-nvidia-gpu-device-plugin": "true"},
            source=GKE_OPERATOR,
        ),
        NodeImage(
            name="cos-gke",
            cloud="gcp",
            variants={"amd64": _COS, "arm64": _COS},
            owners=_owners(
                ComponentOwner.GKE, ComponentOwner.GKE, ComponentOwner.GKE, ComponentOwner.GKE
            ),
            sharing=frozenset(SharingMethod) - {SharingMethod.DRA},
            unsupported_reason=(
                "GKE's device plugin manages its GPUs, and no DRA driver runs alongside it"
            ),
            node_labels={OPERANDS_LABEL: "false"},
            source=GKE_MANAGED,
        ),
        NodeImage(
            name="ubuntu-gke",
            cloud="gcp",
            variants={"amd64": "UBUNTU_CONTAINERD"},
            owners=_ALL_OPERATOR,
            gpudirect_rdma=False,
            settings=_ON_GKE,
            node_labels={"gke-no-default-nvidia-gpu-device-plugin": "true"},
            source=GKE_OPERATOR,
        ),
        NodeImage(name="own", cloud="none", variants={}, owners=_ALL_OPERATOR, source=OWN),
        NodeImage(
            name="own-driver",
            cloud="none",
            variants={},
            owners=_owners(
                ComponentOwner.HOST,
                ComponentOwner.OPERATOR,
                ComponentOwner.OPERATOR,
                ComponentOwner.OPERATOR,
            ),
            source=OWN,
        ),
        NodeImage(
            name="own-driver-toolkit",
            cloud="none",
            variants={},
            owners=_owners(
                ComponentOwner.HOST,
                ComponentOwner.HOST,
                ComponentOwner.OPERATOR,
                ComponentOwner.OPERATOR,
            ),
            source=OWN,
        ),
    )
}
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
