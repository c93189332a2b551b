"""Google's driver installer, for nodes whose image has no driver and where GKE installs none.

It is Google's own DaemonSet for Container-Optimized OS. Two things differ: it excludes nodes with
Ubuntu, whose disk lacks its image, and machines that need the newest driver have a DaemonSet of
their own.
"""

from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.render.gcp.fabric import all_links, fabric_name
from gpuyard.render.gpu_operator.objects import PRIORITY_CLASS
from gpuyard.render.mirror import mirrored
from gpuyard.render.objects import Object, managed_object, node_affinity, node_agent
from gpuyard_core.catalogue.gke.nodes import (
    DISTRIBUTION_LABEL,
    DRIVER_INSTALLER,
    GPU_DRIVER_LABEL,
    GPU_MODEL_LABEL,
    INSTALLER_IMAGE,
    INSTALLER_PAUSE,
    requests_latest_driver,
)
from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_core.catalogue.software.images import ComponentOwner
from gpuyard_core.names import GKE_NETWORKING_GROUP, INSTANCE_TYPE_LABEL

_NVIDIA = "/home/kubernetes/bin/nvidia"
_MOUNTS = {
    "dev": ("/dev", "/dev"),
    "vulkan-icd-mount": (f"{_NVIDIA}/vulkan/icd.d", "/etc/vulkan/icd.d"),
    "nvidia-install-dir-host": (_NVIDIA, "/usr/local/nvidia"),
    "root-mount": ("/", "/root"),
    "cos-tools": ("/var/lib/cos-tools", "/build/cos-tools"),
}
"""Volumes: their path on the node, and where the installer expects them."""
_PLACES = {
    "NVIDIA_INSTALL_DIR": "nvidia-install-dir-host",
    "VULKAN_ICD_DIR": "vulkan-icd-mount",
    "COS_TOOLS_DIR": "cos-tools",
}


def node_agents(plan: PlatformPlan) -> list[Object]:
    """Additional networks, and Google's driver installer unless the cluster exists already."""
    drivers = [] if plan.spec.cluster_exists else driver_objects(plan)
    return [*network_objects(plan), *drivers]


def driver_objects(plan: PlatformPlan) -> list[Object]:
    """One DaemonSet for each installation mode that a pool needs."""
    needed = {requests_latest_driver(p.machine.type_name) for p in plan.pools if _by_installer(p)}
    return [_installer(plan, latest=latest) for latest in sorted(needed)]


def _by_installer(pool: PoolPlan) -> bool:
    software = pool.node_software
    return software is not None and ComponentOwner.DAEMONSET.value in software.owners.values()


def _installer(plan: PlatformPlan, *, latest: bool) -> Object:
    name = f"{DRIVER_INSTALLER}-latest" if latest else DRIVER_INSTALLER
    pod = {
        "priorityClassName": PRIORITY_CLASS,
        "automountServiceAccountToken": False,
        "affinity": _nodes(latest=latest),
        "tolerations": [{"operator": "Exists"}],
        "hostNetwork": True,
        "hostPID": True,
        "initContainers": [_container(latest=latest)],
        "containers": [{"name": "pause", "image": mirrored(plan.spec, INSTALLER_PAUSE)}],
        "volumes": [{"name": n, "hostPath": {"path": at}} for n, (at, _) in _MOUNTS.items()],
    }
    return node_agent(plan.name, name, "k8s-app", pod)


def _nodes(*, latest: bool) -> Object:
    """Nodes with GPUs whose driver has no other source."""
    machines = sorted({m.type_name for m in MACHINES.values() if requests_latest_driver(m.name)})
    terms = [
        (GPU_MODEL_LABEL, "Exists", None),
        (GPU_DRIVER_LABEL, "DoesNotExist", None),
        ("cloud.google.com/gke-confidential-nodes-instance-type", "DoesNotExist", None),
        (DISTRIBUTION_LABEL, "In", ["cos"]),
        (INSTANCE_TYPE_LABEL, "In" if latest else "NotIn", machines),
    ]
    matches = [
        {"key": key, "operator": how, **({"values": values} if values else {})}
        for key, how, values in terms
    ]
    return node_affinity(matches)


def _container(*, latest: bool) -> Object:
    env = [
        {"name": f"{word}_{end}", "value": _MOUNTS[volume][side]}
        for word, volume in _PLACES.items()
        for side, end in enumerate(("HOST", "CONTAINER"))
    ]
    return {
        "name": DRIVER_INSTALLER,
        "image": INSTALLER_IMAGE,
        "imagePullPolicy": "Never",
        # It loads modules into the node's kernel.
        "securityContext": {"privileged": True},
        "resources": {"requests": {"cpu": "150m"}},
        "env": [*env, {"name": "ROOT_MOUNT_DIR", "value": _MOUNTS["root-mount"][1]}],
        "command": ["bash", "-c", _script(latest=latest)],
        "volumeMounts": [
            {"name": n, "mountPath": mount_path} for n, (_, mount_path) in _MOUNTS.items()
        ],
    }


def _script(*, latest: bool) -> str:
    """A loaded driver stays: it cannot be replaced while programs use it."""
    install = "/cos-gpu-installer install"
    if latest:
        readable = f"chmod 755 {_MOUNTS['root-mount'][1]}{_NVIDIA}"
        install = f"{install} --version=latest && {readable}"
    return f"lsmod | grep nvidia || {{ {install}; }}"


# ── additional networks ───────────────────────────────────────────────────────────────────────────
_VERSION = f"{GKE_NETWORKING_GROUP}/v1"
_PARAMETERS = "GKENetworkParamSet"


def network_objects(plan: PlatformPlan) -> list[Object]:
    """Two objects for each additional network: its location, and its name for pods' interfaces.

    Cards that pods claim have none: resource claims find them.
    """
    named = {link.pod_network_name: link for link in all_links(plan) if link.mode}
    return [
        each
        for name, link in named.items()
        for each in (
            managed_object(
                plan.name,
                _VERSION,
                _PARAMETERS,
                name,
                spec={
                    "vpc": fabric_name(plan, link.network),
                    "vpcSubnet": fabric_name(plan, link.subnetwork),
                    "deviceMode": link.mode,
                },
            ),
            managed_object(
                plan.name,
                _VERSION,
                "Network",
                name,
                spec={
                    "type": "Device",
                    "parametersRef": {
                        "group": GKE_NETWORKING_GROUP,
                        "kind": _PARAMETERS,
                        "name": name,
                    },
                },
            ),
        )
    ]
