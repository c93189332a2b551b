"""Nodes of GKE: disks, kernel modules that secure boot rejects, and the additional networks of a fabric."""

from collections.abc import Mapping

from gpuyard_core.catalogue.lists import find_list
from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.catalogue.software.images import ComponentOwner

FABRIC_RANGES = ("192.168.0.0/16", "172.31.0.0/16", "10.255.0.0/16")
"""Address ranges of additional networks: the first that does not overlap with the cluster's."""
HOST_PREFIX, DEVICE_PREFIX, RDMA_PREFIX = 18, 20, 21
"""Their prefix lengths: /18 for hosts, /20 for 4,092 nodes, and eight /21 for RDMA with 2,044 nodes each
(networks.sizes)."""
PREDEFINED_SUBNET = "default-subnet-1-"
"""Prefix of the subnetwork that GKE creates with a bare metal network; followed by the network's name
(networks.predefined)."""
PROFILE_URL = (
    "https://www.googleapis.com/compute/beta/projects/",
    "/global/networkProfiles/",
)
"""The URL of a network profile: the project is in the middle, zone and kind are at the end (networks.profile)."""


# ── disks ─────────────────────────────────────────────────────────────────────────────────────────
HYPERDISK_ONLY = find_list("hyperdisk-only")
"""Prefixes of machines without Persistent Disk."""
LOCAL_SSD_GB = 375
"""Size of one local SSD, as GKE counts them (nodes.local-ssd)."""
_SSD_UNCOUNTED = ("a4x-",)
"""Prefixes of machines with local disks of another size; GKE sets their number (gke-a4x.yaml has none)."""


def boot_disk(machine: str) -> str:
    """The boot disk type of nodes of a machine type."""
    return "hyperdisk-balanced" if machine.startswith(HYPERDISK_ONLY) else "pd-balanced"


def local_ssds(machine: Machine) -> int | None:
    """The number of local disks of the machine; None without local disks, or if GKE sets the number."""
    if machine.name.startswith(_SSD_UNCOUNTED):
        return None
    return machine.nvme_gb // LOCAL_SSD_GB or None


# ── how nodes boot ────────────────────────────────────────────────────────────────────────────────
METAL_SUFFIX = "-metal"
METAL_HUGE_PAGES = 4096
"""Huge pages of 2 MiB on a bare metal machine (nodes.metal)."""
METAL_LABELS: Mapping[str, str] = {"cloud.google.com/gke-dpv2-unified-cni": "cni-migration"}
DRANET_LABELS: Mapping[str, str] = {"cloud.google.com/gke-networking-dra-driver": "true"}
"""Labels of nodes whose network cards pods claim."""
QUEUED_LABELS: Mapping[str, str] = {"cloud.google.com/gke-queued": "true"}
"""Labels of nodes with queued provisioning: GKE adds a taint with the same key, but no label (nodes.labels)."""

DRIVER_BY: Mapping[str, str] = {ComponentOwner.GKE.value: "DEFAULT"}
NO_DRIVER = "INSTALLATION_DISABLED"
"""The GKE setting with which GKE does not install the driver (nodes.driver)."""
UNSIGNED_DRIVER = frozenset({ComponentOwner.OPERATOR.value})
"""What installs kernel modules that secure boot rejects."""

DRIVER_INSTALLER = "nvidia-driver-installer"
"""Google's name of the DaemonSet that installs its driver if GKE does not."""
INSTALLER_IMAGE = "cos-nvidia-installer:fixed"
"""An image on the disk of Container-Optimized OS; no registry has it (nodes.installer)."""
INSTALLER_PAUSE = (
    "gke.gcr.io/pause:3.8@sha256:880e63f94b145e46f1b1082bb71b85e21f16b99b180b9996407d61240ceb9830"
)
"""The container that keeps running once the driver is installed."""
DISTRIBUTION_LABEL = "cloud.google.com/gke-os-distribution"
"""GKE's label of every node: cos or ubuntu."""
_LATEST_DRIVER = ("a4x-",)
"""Prefixes of machines whose GPUs need a newer driver than the installer's default."""


def requests_latest_driver(machine: str) -> bool:
    """Whether Google's installer must be set to the latest driver of the image."""
    return machine.startswith(_LATEST_DRIVER)


def is_metal(machine: str) -> bool:
    """Whether the machine is bare metal, without Shielded VM features."""
    return machine.endswith(METAL_SUFFIX)


ARM_FAMILIES = ("c4a-", "n4a-", "t2a-")
"""Prefixes of Arm machines without GPUs: GKE taints their nodes unless the node pool disables it (nodes.arm-taint)."""
ARM_UNTAINTED_SINCE = "1.35"


def is_arm_host(machine: str) -> bool:
    """Whether nodes of a machine without GPUs are tainted for their architecture."""
    return machine.startswith(ARM_FAMILIES)


# ── identity of nodes ─────────────────────────────────────────────────────────────────────────────
NODE_ROLES = ("roles/container.defaultNodeServiceAccount", "roles/artifactregistry.reader")
NODE_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
"""Roles limit what a node may do; access scopes are the legacy method, and would only limit it further
(nodes.node-roles)."""

# ── keys ──────────────────────────────────────────────────────────────────────────────────────────
KEY_ROLE = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
KEY_USERS = ("container-engine-robot", "compute-system")
"""Service agents of a project: GKE encrypts the content of etcd, Compute Engine the disks (nodes.key)."""
GPU_MODEL_LABEL = "cloud.google.com/gke-accelerator"
"""GKE's label of nodes with GPUs: its name of the GPU model."""
GPU_DRIVER_LABEL = "cloud.google.com/gke-gpu-driver-version"
"""GKE's label of nodes whose driver it installs: `default` or `latest`."""
POOL_OF_NODE = "cloud.google.com/gke-nodepool"
"""The label with the node pool of a node."""

REGIONAL_ZONES = 3
"""How many zones GKE picks for a regional cluster without `zones`."""
