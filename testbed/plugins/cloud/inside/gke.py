"""Nodes of a GKE node pool, from the pool and its cluster. There is no user data: the pool's fields have all settings."""

import re
from collections.abc import Iterable
from datetime import date
from typing import Any

from gpuyard_core.catalogue.machines import Machine, find_machine
from gpuyard_core.catalogue.sources import Source
from gpuyard_simulate.agents.cloud_node import GOOGLE_DRIVER
from testbed.plugins.cloud import shapes
from testbed.plugins.cloud.inside.node import (
    EFFECTS,
    SHORT,
    Kept,
    Node,
    digest,
    gib,
    local_bytes,
    numbers,
    resources,
    topology,
    usual,
)
from testbed.plugins.cloud.inside.user_data import BadUserData
from testbed.plugins.cloud.rules.looking import at, items, text
from testbed.plugins.cloud.service import machines
from testbed.plugins.cloud.service.ties import Resource

POOL = "gcp:container/nodePool:NodePool"
_CUSTOM = re.compile(r"(?P<family>[a-z0-9]+)-custom-(?P<cpus>\d+)-(?P<mib>\d+)")
_PODS = 110
_SSD_GB = 375
_NO_PLUGIN = "gke-no-default-nvidia-gpu-device-plugin"
_NAME = 63
_SHARING = {"TIME_SHARING": "time-sharing", "MPS": "mps"}
# How many instances of a size GKE makes on one GPU: partition_gpu.go of container-engine-accelerators.
_PARTS = {
    **dict.fromkeys(("1g.5gb", "1g.10gb", "1g.18gb", "1g.23gb"), 7),
    **dict.fromkeys(("1g.20gb", "1g.35gb", "1g.45gb", "1g.47gb", "1g.24gb"), 4),
    **dict.fromkeys(("2g.10gb", "2g.20gb", "2g.35gb", "2g.45gb", "2g.47gb"), 3),
    **dict.fromkeys(("3g.20gb", "3g.40gb", "3g.71gb", "3g.90gb", "3g.93gb", "2g.48gb"), 2),
    **dict.fromkeys(("4g.20gb", "4g.40gb", "4g.71gb", "4g.90gb", "4g.93gb", "4g.96gb"), 1),
    **dict.fromkeys(("7g.40gb", "7g.80gb", "7g.141gb", "7g.180gb", "7g.186gb"), 1),
}


def nodes(pool: Resource, existing: Iterable[Resource]) -> list[Node]:
    """The nodes that this pool has now."""
    blocked = list(existing)
    (cluster,) = machines.clusters_of(pool.inputs, blocked)
    machine = _machine(pool)
    zones = machines.zones_of(pool, blocked)
    return [
        _node(pool, cluster, machine, zones[number % len(zones)], number, number // len(zones))
        for number in numbers(_count(pool, len(zones)), pool.state)
    ]


def _machine(pool: Resource) -> Machine:
    name = text(pool.inputs, "nodeConfig.machineType") or "e2-medium"
    value = (items(pool.inputs, "nodeConfig.guestAccelerators") or [{}])[0]
    short = str(value.get("type", "")).removeprefix("nvidia-tesla-")
    result = find_machine(name) or find_machine(f"{name}+{value.get('count')}x{short}")
    if result is None and (own := _CUSTOM.fullmatch(name)):
        day = date.fromisoformat(shapes.CREATED[:10])
        source = Source("its own name", day, as_of=day)
        return Machine(
            name=name,
            cloud="gcp",
            vcpus=int(own["cpus"]),
            memory_gib=int(own["mib"]) // 1024,
            source=source,
        )
    if result is None:
        raise BadUserData(f"Invalid value for field 'machineType': {name!r}", "ERROR")
    return result


def _count(pool: Resource, zones: int) -> int:
    """Node counts are per zone; an autoscaler keeps the current total above its minimum."""
    if at(pool.inputs, "queuedProvisioning.enabled"):
        return 0  # nodes start when a request of the cluster needs them
    blocked = at(pool.state, "nodeCount")
    each = blocked if blocked is not None else at(pool.state, "initialNodeCount") or 0
    least = at(pool.state, "autoscaling.totalMinNodeCount") or 0
    least = max(int(least), zones * int(at(pool.state, "autoscaling.minNodeCount") or 0))
    return max(0, max(int(each) * zones, least) - int(pool.state.get(SHORT) or 0))


def _node(
    pool: Resource, cluster: Resource, machine: Machine, zone: str, number: int, nth: int
) -> Node:
    config: Any = pool.inputs.get("nodeConfig") or {}
    name = _name(cluster.inputs["name"], pool.inputs["name"], zone, number)
    pages = int(at(config, "linuxNodeConfig.hugepagesConfig.hugepageSize2m") or 0) * 2
    disk, retained = _disk(config, machine)
    pods = at(pool.inputs, "maxPodsPerNode") or at(cluster.inputs, "defaultMaxPodsPerNode")
    capacity, allocatable = resources(
        machine,
        disk,
        Kept(
            reserved={**usual(machine), "ephemeral-storage": str(retained)},
            pods=int(pods or _PODS),
            huge_pages_mib=pages,
        ),
    )
    gpu = (items(config, "guestAccelerators") or [None])[0]
    installs = gpu is not None and _driver(gpu) != "INSTALLATION_DISABLED"
    return Node(
        name=name,
        group=pool.id,
        provider_id=f"gce://{text(pool.state, 'project')}/{zone}/{name}",
        labels=_labels(pool, config, machine, zone, name, nth),
        taints=_taints(config, machine, gpu),
        capacity=capacity,
        allocatable=allocatable,
        driver=gpu is None or installs,
        driver_version=GOOGLE_DRIVER if installs else "",
        devices=_devices(config, gpu),
        gpus=int(gpu["count"]) if gpu else 0,
    )


def _name(cluster: str, pool: str, zone: str, number: int) -> str:
    end = f"-{digest(cluster, pool, zone)[:8]}-{digest(cluster, pool, zone, number)[:4]}"
    return f"gke-{cluster}-{pool}"[: _NAME - len(end)].rstrip("-") + end


def _disk(config: Any, machine: Machine) -> tuple[int, int]:
    """Bytes for pods and the part that GKE reserves: its documentation of node sizes, ephemeral storage."""
    value = at(config, "ephemeralStorageLocalSsdConfig.localSsdCount")
    if value is not None:
        count = int(value) or machine.nvme_gb // _SSD_GB
        own = (
            local_bytes(machine) if count * _SSD_GB >= machine.nvme_gb else count * _SSD_GB * 10**9
        )
        return own, gib({1: 50, 2: 75}.get(count, 100))
    size = int(at(config, "diskSizeGb") or 100)
    return gib(size), int(gib(1) * min(size * 0.5, 6 + size * 0.35, 100))


# ── GPUs ──────────────────────────────────────────────────────────────────────────────────────────
def _driver(gpu: Any) -> str:
    """The driver version; by default GKE installs its own."""
    return text(gpu, "gpuDriverInstallationConfig.gpuDriverVersion") or "DEFAULT"


def _devices(config: Any, gpu: Any) -> dict[str, int] | None:
    """GKE's device plugin advertises shares and slices as nvidia.com/gpu too; without a driver it finds none."""
    if gpu is None or _NO_PLUGIN in (config.get("labels") or {}):
        return None
    if _driver(gpu) == "INSTALLATION_DISABLED":
        return {}
    size = text(gpu, "gpuPartitionSize")
    parts = _PARTS.get(size, 0) if size else 1
    if not parts:
        return {}  # no valid partition size: the installer fails, and the plugin never starts
    clients = int(at(gpu, "gpuSharingConfig.maxSharedClientsPerGpu") or 1)
    return {"nvidia.com/gpu": int(gpu["count"]) * parts * clients}


# ── labels and taints ─────────────────────────────────────────────────────────────────────────────
def _labels(
    pool: Resource, config: Any, machine: Machine, zone: str, name: str, nth: int
) -> dict[str, str]:
    region = zone.rpartition("-")[0]
    spot, flex = at(config, "spot") is True, at(config, "flexStart") is True
    image = text(config, "imageType")
    cloud = {
        "beta.kubernetes.io/arch": machine.arch,
        "beta.kubernetes.io/instance-type": machine.type_name,
        "beta.kubernetes.io/os": "linux",
        "cloud.google.com/gke-boot-disk": text(config, "diskType") or "pd-balanced",
        "cloud.google.com/gke-container-runtime": "containerd",
        "cloud.google.com/gke-cpu-scaling-level": str(machine.vcpus),
        "cloud.google.com/gke-nodepool": pool.inputs["name"],
        "cloud.google.com/gke-os-distribution": "ubuntu" if "UBUNTU" in image else "cos",
        "cloud.google.com/gke-provisioning": "spot"
        if spot
        else "flex-start"
        if flex
        else "standard",
        "cloud.google.com/machine-family": machine.type_name.partition("-")[0],
        "failure-domain.beta.kubernetes.io/region": region,
        "failure-domain.beta.kubernetes.io/zone": zone,
        "kubernetes.io/arch": machine.arch,
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": machine.type_name,
        "topology.gke.io/zone": zone,
        "topology.kubernetes.io/region": region,
        "topology.kubernetes.io/zone": zone,
    }
    if at(pool.inputs, "networkConfig.enablePrivateNodes"):
        cloud["cloud.google.com/private-node"] = "true"
    if at(config, "ephemeralStorageLocalSsdConfig.localSsdCount") is not None:
        cloud["cloud.google.com/gke-ephemeral-storage-local-ssd"] = "true"
    if spot:
        cloud["cloud.google.com/gke-spot"] = "true"
    if flex:
        cloud["cloud.google.com/gke-flex-start"] = "true"
    if text(config, "workloadMetadataConfig.mode") == "GKE_METADATA":
        cloud["iam.gke.io/gke-metadata-server-enabled"] = "true"
    together = pool.inputs["name"] if at(pool.inputs, "placementPolicy.type") == "COMPACT" else ""
    suggestion = topology(machine, zone, nth, together=together, name=name)
    # Labels of the cloud cannot be overridden.
    return {**(config.get("labels") or {}), **suggestion, **_gpu_labels(config), **cloud}


def _gpu_labels(config: Any) -> dict[str, str]:
    gpu = (items(config, "guestAccelerators") or [None])[0]
    if gpu is None:
        return {}
    results = {
        "cloud.google.com/gke-accelerator": gpu["type"],
        "cloud.google.com/gke-accelerator-count": str(gpu["count"]),
        "cloud.google.com/gke-gpu": "true",
    }
    if (version := _driver(gpu)) != "INSTALLATION_DISABLED":
        results["cloud.google.com/gke-gpu-driver-version"] = version.lower()
    if size := text(gpu, "gpuPartitionSize"):
        results["cloud.google.com/gke-gpu-partition-size"] = size
    if strategy := text(gpu, "gpuSharingConfig.gpuSharingStrategy"):
        results["cloud.google.com/gke-gpu-sharing-strategy"] = _SHARING[strategy]
        clients = at(gpu, "gpuSharingConfig.maxSharedClientsPerGpu")
        results["cloud.google.com/gke-max-shared-clients-per-gpu"] = str(clients)
    return results


def _taints(config: Any, machine: Machine, gpu: Any) -> tuple[dict[str, str], ...]:
    """The pool's taints, and those that GKE adds to nodes with GPUs or Arm processors."""
    results = [
        {"key": each["key"], "value": each.get("value", ""), "effect": EFFECTS[each["effect"]]}
        for each in items(config, "taints")
    ]
    added = []
    if gpu is not None:
        added.append({"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"})
    if machine.arch == "arm64" and text(config, "taintConfig.architectureTaintBehavior") != "NONE":
        added.append({"key": "kubernetes.io/arch", "value": "arm64", "effect": "NoSchedule"})
    keys = {(each["key"], each["effect"]) for each in results}
    return (*results, *(each for each in added if (each["key"], each["effect"]) not in keys))
