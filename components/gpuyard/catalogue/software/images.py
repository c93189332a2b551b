"""Node images: what a node boots from, what of NVIDIA's software is in it, and who must bring the rest.

An image is a family, `al2023-nvidia`; for each architecture the cloud has its own name for it. On GKE the same
disk image can be run in two ways, by GKE's own device plugin or by the GPU Operator, so it stands here twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from gpuyard.catalogue.sharing import SharingMethod
from gpuyard.catalogue.sources import Source
from gpuyard.names import OPERANDS_LABEL

_CHECKED = date(2026, 11, 21)
AL2023 = Source(
    "awslabs/amazon-eks-ami v20260714: CHANGELOG, install-nvidia-driver.sh, nvidia-kmod-load.sh; driver 580.178.04 on"
    " nodes of release 1.36.3-20260911, as public runs of 2026-09-16 say; that of v20260930 was not seen",
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
    """A part of a node's GPU software; the operator's name of it."""

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
"""Set to "false" on a node, it keeps that part of the operator off it (state_manager.go of v26.7.0)."""


class ComponentOwner(StrEnum):
    """Who brings a part."""

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
    """By architecture: what the cloud calls it; empty for images that are not the cloud's."""
    owners: Mapping[SoftwarePart, ComponentOwner]
    driver: str | None = None
    """The driver inside; None when none is, or somebody else chooses it."""
    grid: bool = False
    """Holds the driver for parts of a GPU (GRID) too, and takes it by itself."""
    sharing: frozenset[SharingMethod] = frozenset(SharingMethod)
    """Ways of sharing under which a node advertises what our plans say."""
    unsupported_reason: str = ""
    """Why the other ways do not work."""
    efa: bool = False
    """Holds the EFA driver."""
    fabric_manager: bool = False
    """Holds NVIDIA's fabric manager, without which NVSwitch machines have no CUDA."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Values of the operator's chart that it needs and that hold for the whole cluster.

    Below `env` of a part stands the name of a variable.
    """
    node_labels: Mapping[str, str] = field(default_factory=dict)
    """Labels its nodes need whatever else there is."""
    source: Source

    @property
    def uses_operator(self) -> bool:
        """True when the GPU Operator brings at least one part."""
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
"""A GPU that a virtual machine has changes its MIG mode when the machine starts anew (gpu-operator-mig.rst)."""
_ON_GKE = {"toolkit.env.RUNTIME_CONFIG_SOURCE": "file", **_REBOOTS}
"""From GKE 1.33 on the toolkit would else write containerd's defaults over GKE's own configuration."""


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
        grid=True,
        sharing=frozenset({SharingMethod.NONE, SharingMethod.TIME_SLICING, SharingMethod.MPS}),
        unsupported_reason="Bottlerocket cuts GPUs by a setting of its own when a node boots, all alike; the operator's MIG"
        " manager cannot",
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
            grid=True,
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
            unsupported_reason="GKE's own device plugin counts its GPUs, and no driver answers claims beside it",
            node_labels={OPERANDS_LABEL: "false"},
            source=GKE_MANAGED,
        ),
        NodeImage(
            name="ubuntu-gke",
            cloud="gcp",
            variants={"amd64": "UBUNTU_CONTAINERD"},
            owners=_ALL_OPERATOR,
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
"""By name, each cloud's preferred one first."""


def images_of(cloud: str) -> tuple[NodeImage, ...]:
    """The images of one cloud, preferred first; none where nodes boot from nothing."""
    return tuple(image for image in IMAGES.values() if image.cloud == cloud)


def find_image(spelling: str, cloud: str) -> tuple[NodeImage, str | None] | None:
    """An image of a cloud by our name, or by the cloud's own, which says the architecture too.

    None when that cloud has no image of that name. A name of the cloud's that stands for two images, as on
    GKE, is the first of them.
    """
    lowered = spelling.lower()
    for image in images_of(cloud):
        if image.name == lowered:
            return image, None
        named = [arch for arch, variant in image.variants.items() if variant.lower() == lowered]
        if named:
            return image, named[0] if len(named) == 1 else None
    return None
