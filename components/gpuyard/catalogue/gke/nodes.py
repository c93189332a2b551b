"""Nodes of GKE: their boot disks, the local disks that come with a machine, and what secure boot refuses."""

from collections.abc import Mapping
from datetime import date

from gpuyard.catalogue.machines import Machine
from gpuyard.catalogue.software.images import ComponentOwner
from gpuyard.catalogue.sources import Source

_LOOKED_UP = date(2026, 11, 23)
_TOOLKIT = "cluster-toolkit v1.95.0 at 1047080"

# ── disks ─────────────────────────────────────────────────────────────────────────────────────────
HYPERDISK_ONLY = (
    "a3-ultragpu-",
    "a4-",
    "a4x-",
    "g4-",
    "c4-",
    "c4a-",
    "c4d-",
    "n4-",
    "n4a-",
    "n4d-",
)
"""Machines that take no persistent disk, as their names begin."""
HYPERDISK_SOURCE = Source(
    f"{_TOOLKIT}, disk_type of gke-a4x.yaml and gke-a4x-max-bm.yaml; the other families from Compute Engine,"
    " about Hyperdisk, and unseen on a node pool",
    _LOOKED_UP,
    verified=False,
    as_of=_LOOKED_UP,
)
LOCAL_SSD_GB = 375
"""Size of one local SSD, as GKE counts them."""
LOCAL_SSD_SOURCE = Source(
    f"{_TOOLKIT}, modules/compute/gke-node-pool/disk_definitions.tf: 16 on A3 High and Mega with eight GPUs, 32 on"
    " A3 Ultra and A4, as ephemeral storage; the smaller ones by their sizes",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
_SSD_UNCOUNTED = ("a4x-",)
"""Machines whose local disks have another size; GKE counts them itself (gke-a4x.yaml gives no number)."""


def boot_disk(machine: str) -> str:
    """The type of disk that nodes of a machine type boot from."""
    return "hyperdisk-balanced" if machine.startswith(HYPERDISK_ONLY) else "pd-balanced"


def local_ssds(machine: Machine) -> int | None:
    """Local disks that come with the machine; None where there are none, or GKE counts them itself."""
    if machine.name.startswith(_SSD_UNCOUNTED):
        return None
    return machine.nvme_gb // LOCAL_SSD_GB or None


# ── how nodes boot ────────────────────────────────────────────────────────────────────────────────
METAL_SUFFIX = "-metal"
METAL_SOURCE = Source(
    f"{_TOOLKIT}, gke-a4x-max-bm.yaml: enable_shielded_nodes false, 4096 huge pages of 2 MiB, and the label of"
    " Dataplane V2's new network plugin",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
METAL_HUGE_PAGES = 4096
"""Of 2 MiB, on a machine of bare metal."""
METAL_LABELS: Mapping[str, str] = {"cloud.google.com/gke-dpv2-unified-cni": "cni-migration"}
DRANET_LABELS: Mapping[str, str] = {"cloud.google.com/gke-networking-dra-driver": "true"}
"""On nodes whose network cards pods claim."""
QUEUED_LABELS: Mapping[str, str] = {"cloud.google.com/gke-queued": "true"}
"""On nodes of queued provisioning: GKE taints them with the same key, and adds no label."""
LABELS_SOURCE = Source(
    f"{_TOOLKIT}, kubernetes_labels of gke-node-pool/main.tf",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)

DRIVER_BY: Mapping[str, str] = {ComponentOwner.GKE.value: "DEFAULT"}
NO_DRIVER = "INSTALLATION_DISABLED"
"""What GKE is told where somebody else brings the driver."""
UNSIGNED_DRIVER = frozenset({ComponentOwner.OPERATOR.value})
"""Who brings kernel modules that secure boot refuses."""
DRIVER_SOURCE = Source(
    "NVIDIA/cloud-native-docs google-gke.rst 26.7: the driver of the GPU Operator needs secure boot off; Google's"
    " own is signed",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)

DRIVER_INSTALLER = "nvidia-driver-installer"
"""What Google calls the DaemonSet that brings its driver where GKE was told not to."""
INSTALLER_IMAGE = "cos-nvidia-installer:fixed"
"""Container-Optimized OS has it on its disk, and no registry has it."""
INSTALLER_PAUSE = (
    "gke.gcr.io/pause:3.8@sha256:880e63f94b145e46f1b1082bb71b85e21f16b99b180b9996407d61240ceb9830"
)
"""What runs on when the driver is there."""
INSTALLER_SOURCE = Source(
    "GoogleCloudPlatform/container-engine-accelerators at 992db812, nvidia-driver-installer/cos: daemonset-preloaded.yaml"
    " and, for A4X, daemonset-preloaded-latest-a4x.yaml. Its second init container cuts GPUs only where GKE was told a"
    " partition size (partition_gpu.go), and is left out",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
DISTRIBUTION_LABEL = "cloud.google.com/gke-os-distribution"
"""GKE's own, on every node: cos or ubuntu."""
_LATEST_DRIVER = ("a4x-",)
"""Machines whose GPUs the installer's first choice is too old for, as their names begin."""


def requests_latest_driver(machine: str) -> bool:
    """Whether Google's installer has to be told to take the newest driver that the image knows."""
    return machine.startswith(_LATEST_DRIVER)


def is_metal(machine: str) -> bool:
    """Whether the machine is no virtual one: nothing vouches for how it boots."""
    return machine.endswith(METAL_SUFFIX)


ARM_FAMILIES = ("c4a-", "n4a-", "t2a-")
"""Machines of Arm without GPUs, as their names begin: GKE taints their nodes, unless it is told not to."""
ARM_UNTAINTED_SINCE = "1.35"
ARM_TAINT_SOURCE = Source(
    "TaintConfig of GKE's v1 API: unspecified is ARM. GKE release notes of 2026-07-28, second-hand: a node pool takes"
    " the field with a control plane of 1.35.0-gke.2141000 and later",
    date(2026, 11, 25),
    verified=False,
    as_of=date(2026, 7, 28),
)


def is_arm_host(machine: str) -> bool:
    """Whether nodes of a machine without GPUs are tainted for their architecture."""
    return machine.startswith(ARM_FAMILIES)


# ── who nodes are ─────────────────────────────────────────────────────────────────────────────────
NODE_ROLES = ("roles/container.defaultNodeServiceAccount", "roles/artifactregistry.reader")
NODE_ROLES_SOURCE = Source(
    "GKE, configure node service accounts: the least role of a node, and what it needs beside it to pull images from"
    " Artifact Registry (CIS GKE 2.0.0, 5.2.1)",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
NODE_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
"""Roles bound what a node may do; scopes are the older way, and would only be in theirs."""

# ── keys ──────────────────────────────────────────────────────────────────────────────────────────
KEY_ROLE = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
KEY_USERS = ("container-engine-robot", "compute-system")
"""Service agents of a project: GKE encrypts what etcd holds, Compute Engine the disks."""
KEY_SOURCE = Source(
    "GKE, application-layer secrets encryption and customer-managed keys: which service agent needs the key",
    _LOOKED_UP,
    verified=False,
    as_of=_LOOKED_UP,
)
GPU_MODEL_LABEL = "cloud.google.com/gke-accelerator"
"""On every node with GPUs: their model, as GKE calls it."""
GPU_DRIVER_LABEL = "cloud.google.com/gke-gpu-driver-version"
"""On nodes for which GKE brings the driver: which, `default` or `latest`."""
POOL_OF_NODE = "cloud.google.com/gke-nodepool"
"""The label that says which node pool made a node."""

REGIONAL_ZONES = 3
"""Zones that GKE picks for a regional cluster that names none."""
