"""User data: kubelet settings, local disks and the registry mirror of a pool's nodes.

The same settings in the format of each image: NodeConfig for Amazon Linux, TOML for Bottlerocket,
and a script for images that join the cluster with one.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.render.aws.place import EksNodeInputs
from gpuyard.render.cloud.graph import Base64, Joined
from gpuyard.render.text import yaml_text
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.sections import Numa
from gpuyard_core.catalogue.kubernetes.eks_nodes import CUSTOM, DISK_EVICTION, DISK_RESERVED
from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.catalogue.reserves import EVICTION_MIB, kubelet_cpu, kubelet_gib
from gpuyard_core.catalogue.sharing import SharingMethod

_ALIGNED = frozenset({Numa.RESTRICTED, Numa.SINGLE})
"""Policies that have no effect on CPUs unless a pod has exclusive CPUs."""
_LOCAL = ("/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods")


# ── kubelet ───────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class KubeletSettings:
    """Kubelet settings of a pool's nodes."""

    topology: str
    """The topology policy; empty: the kubelet's default."""
    static_cpus: bool
    """Whether a pod that requests whole CPUs gets them exclusively."""
    reserved: Mapping[str, str]
    """Reserved resources; empty if machines differ, and each image computes them for its
    machine."""
    eviction: Mapping[str, str]
    """The thresholds below which the kubelet evicts pods."""


def kubelet_of(pool: PoolPlan, machines: tuple[Machine, ...]) -> KubeletSettings:
    """The settings from which the plan computed the allocatable resources."""
    machine, *others = machines
    reserved = {
        "cpu": f"{round(kubelet_cpu(machine) * 1000)}m",
        "memory": f"{round(kubelet_gib(machine) * 1024) - EVICTION_MIB}Mi",
        "ephemeral-storage": DISK_RESERVED,
    }
    return KubeletSettings(
        topology="" if pool.numa is Numa.NONE else pool.numa.value,
        static_cpus=pool.numa in _ALIGNED,
        reserved={} if others else reserved,
        eviction={"memory.available": f"{EVICTION_MIB}Mi", **DISK_EVICTION},
    )


# ── formats of images ─────────────────────────────────────────────────────────────────────────────
def pool_user_data(
    plan: PlatformPlan,
    pool: PoolPlan,
    machines: tuple[Machine, ...],
    variant: str,
    foundation: EksNodeInputs,
) -> Base64:
    """User data of a pool's nodes, in the format of their image."""
    kubelet = kubelet_of(pool, machines)
    local_disks = all(machine.nvme_gb for machine in machines)
    if variant.startswith("BOTTLEROCKET"):
        return Base64(bottlerocket(plan.spec, pool, kubelet, local_disks=local_disks))
    if variant == CUSTOM:
        return Base64(
            custom_image_script(plan, pool, kubelet, foundation, machines, local_disks=local_disks)
        )
    return Base64(node_config(plan.spec, kubelet, machines, local_disks=local_disks))


def system_user_data(plan: PlatformPlan) -> Base64 | None:
    """User data of system nodes; none unless images come from a mirror."""
    return Base64(_mime(_mirror_part(plan.spec))) if plan.spec.mirror else None


def node_config(
    spec: PlatformSpec,
    kubelet: KubeletSettings,
    machines: tuple[Machine, ...],
    *,
    local_disks: bool,
) -> str:
    """For nodeadm; EKS writes the cluster part, and merges the two."""
    config: dict[str, Any] = {}
    if kubelet.topology:
        config["topologyManagerPolicy"] = kubelet.topology
    if kubelet.static_cpus:
        config["cpuManagerPolicy"] = "static"
    if kubelet.reserved:
        config["kubeReserved"] = dict(kubelet.reserved)
    config["evictionHard"] = dict(kubelet.eviction)
    node: dict[str, Any] = {"kubelet": {"config": config}}
    if local_disks:
        node["instance"] = {"localStorage": {"strategy": "RAID0"}}
    head = {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig"}
    part = ("application/node.eks.aws", yaml_text({**head, "spec": node}))
    locked = [_shell(_LOCKED)] if _locks_memory(machines) else []
    return _mime(part, *([_mirror_part(spec)] if spec.mirror else []), *locked)


def bottlerocket(
    spec: PlatformSpec, pool: PoolPlan, kubelet: KubeletSettings, *, local_disks: bool
) -> str:
    """Bottlerocket's settings; it includes the device plugin, so GPU sharing is a setting here."""
    kubernetes: dict[str, Any] = {}
    if kubelet.topology:
        kubernetes["topology-manager-policy"] = kubelet.topology
    if kubelet.static_cpus:
        kubernetes["cpu-manager-policy"] = "static"
    tables: dict[str, Mapping[str, Any]] = {
        "settings.kubernetes": kubernetes,
        "settings.kubernetes.kube-reserved": kubelet.reserved,
        "settings.kubernetes.eviction-hard": kubelet.eviction,
    }
    if local_disks:
        tables["settings.bootstrap-commands.local-disks"] = {
            "commands": [
                ["apiclient", "ephemeral-storage", "init"],
                ["apiclient", "ephemeral-storage", "bind", "--dirs", *_LOCAL],
            ],
            "essential": True,
            "mode": "always",
        }
    tables |= _sharing(pool)
    if spec.mirror:
        tables["[settings.container-registry.mirrors]"] = {
            "registry": "*",
            "endpoint": [_registry(spec.mirror.images)[1]],
        }
    return "\n".join(_table(name, values) for name, values in tables.items() if values)


def _sharing(pool: PoolPlan) -> dict[str, Mapping[str, Any]]:
    plugin = "settings.kubelet-device-plugins.nvidia"
    if pool.replicas <= 1:
        return {}
    shares: dict[str, Any] = {"replicas": pool.replicas, "rename-by-default": True}
    if pool.sharing is SharingMethod.MPS:
        return {plugin: {"device-sharing-strategy": "mps"}, f"{plugin}.mps": shares}
    shares["fail-requests-greater-than-one"] = True
    return {
        plugin: {"device-sharing-strategy": "time-slicing"},
        f"{plugin}.time-slicing": shares,
    }


def custom_image_script(
    plan: PlatformPlan,
    pool: PoolPlan,
    kubelet: KubeletSettings,
    foundation: EksNodeInputs,
    machines: tuple[Machine, ...],
    *,
    local_disks: bool,
) -> Joined:
    """For custom images: EKS merges nothing, so the script includes all that a node needs."""
    flags = {
        "node-labels": _pairs(pool.labels),
        "register-with-taints": ",".join(map(str, plan.initial_taints(pool))),
        "topology-manager-policy": kubelet.topology,
        "cpu-manager-policy": "static" if kubelet.static_cpus else "",
        "kube-reserved": _pairs(kubelet.reserved),
        "eviction-hard": ",".join(f"{key}<{value}" for key, value in kubelet.eviction.items()),
    }
    kubelet_args = " ".join(f"--{name}={value}" for name, value in flags.items() if value)
    return Joined(
        "#!/bin/bash\nset -euo pipefail\n",
        _local_disks() if local_disks else "",
        _mirror_files(plan.spec.mirror.images) if plan.spec.mirror else "",
        _LOCKED if _locks_memory(machines) else "",
        "/etc/eks/bootstrap.sh ",
        foundation.cluster,
        " --apiserver-endpoint ",
        foundation.endpoint,
        " --b64-cluster-ca ",
        foundation.authority,
        f" --kubelet-extra-args '{kubelet_args}'\n",
    )


def _pairs(values: Mapping[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in values.items())


def _local_disks() -> str:
    """All instance store disks as one array, before containerd writes to the root disk."""
    return (
        "disks=$(find -L /dev/disk/by-id -name 'nvme-Amazon_EC2_NVMe_Instance_Storage_*' ! -name '*_ns-*'"
        " -exec realpath {} + | sort -u)\n"
        'mdadm --create /dev/md0 --level=0 --force --run --raid-devices="$(wc -w <<<"$disks")" $disks\n'
        "mkfs.xfs -q /dev/md0\nmkdir -p /mnt/local\nmount /dev/md0 /mnt/local\n"
        f"for folder in {' '.join(_LOCAL)}; do\n"
        '  mkdir -p "$folder" "/mnt/local$folder"\n'
        '  cp -a "$folder/." "/mnt/local$folder/"\n'
        '  mount --bind "/mnt/local$folder" "$folder"\n'
        "done\n"
    )


# ── the mirror ────────────────────────────────────────────────────────────────────────────────────
def _registry(images: str) -> tuple[str, str]:
    """The host of a mirror, and the URL of its path for containerd."""
    host, _, path = images.rstrip("/").partition("/")
    return host, f"https://{host}/v2/{path}" if path else f"https://{host}"


def _mirror_files(images: str) -> str:
    """Shell: every registry through the mirror first, and the mirror itself directly."""
    host, url = _registry(images)
    below = "  override_path = true\n" if url.count("/v2/") else ""
    return (
        f"mkdir -p /etc/containerd/certs.d/_default /etc/containerd/certs.d/{host}\n"
        "cat >/etc/containerd/certs.d/_default/hosts.toml <<'END'\n"
        f'[host."{url}"]\n  capabilities = ["pull", "resolve"]\n{below}END\n'
        f"cat >/etc/containerd/certs.d/{host}/hosts.toml <<'END'\n"
        f'server = "https://{host}"\nEND\n'
    )


def _mirror_part(spec: PlatformSpec) -> tuple[str, str]:
    """Runs before nodeadm starts the kubelet."""
    return _shell(_mirror_files(spec.mirror.images if spec.mirror else ""))


# ── locked memory ─────────────────────────────────────────────────────────────────────────────────
_UNIT = "/etc/systemd/system/containerd.service.d"
_LOCKED = (
    f"mkdir -p {_UNIT}\nprintf '[Service]\\nLimitMEMLOCK=infinity\\n' >{_UNIT}/50-locked-memory.conf\n"
    "systemctl daemon-reload\nsystemctl try-restart containerd || :\n"
)
"""Shell: pods may lock memory without a capability, which Pod Security denies to teams.
Bottlerocket does so itself if it finds EFA (docs/decisions/0035)."""


def _locks_memory(machines: tuple[Machine, ...]) -> bool:
    """Whether a fabric of these machines needs locked memory."""
    return any(machine.efa_interfaces for machine in machines)


# ── formats ───────────────────────────────────────────────────────────────────────────────────────
def _shell(text: str) -> tuple[str, str]:
    """A part that runs before nodeadm starts containerd and kubelet."""
    return "text/x-shellscript", f"#!/bin/bash\nset -euo pipefail\n{text}"


def _mime(*parts: tuple[str, str]) -> str:
    """One document of several parts, as cloud-init and EKS read it; the same bytes each time."""
    body = "".join(f"--//\nContent-Type: {kind}\n\n{text}\n" for kind, text in parts)
    return f'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="//"\n\n{body}--//--\n'


_BARE = re.compile(r"[A-Za-z0-9_-]+")


def _table(name: str, values: Mapping[str, Any]) -> str:
    """A table of TOML; its strings, lists and booleans have the syntax of JSON."""
    lines = [
        f"{key if _BARE.fullmatch(key) else json.dumps(key)} = {json.dumps(value)}\n"
        for key, value in values.items()
    ]
    return f"[{name}]\n{''.join(lines)}"
