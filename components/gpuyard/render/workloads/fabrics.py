"""What pods of several nodes have for the fabric of their pool, and why they use TCP instead."""

from collections.abc import Sequence

from gpuyard.plan.pools.topology import uses_rdma_device_plugin
from gpuyard.plan.records import PlatformPlan, TeamPlan
from gpuyard.plan.workloads.training import fabric_rejection
from gpuyard.render.data_files import read_data
from gpuyard.render.mirror import mirrored
from gpuyard.render.objects import Object
from gpuyard.render.workloads.resources import PodResources
from gpuyard_core.catalogue.cluster.nccl import EFA_POD_HUGE_PAGES
from gpuyard_core.names import EFA, GPU, HUGE_PAGES, RDMA, nccl_name

_DAEMON: Object = {"cpu": "1", "memory": "2Gi"}
"""Requests and limits of a receive daemon."""


def missing_fabric(plan: PlatformPlan, teams: Sequence[TeamPlan], pods: PodResources) -> str:
    """Why pods of several nodes use TCP instead of the fabric of their pool; empty if they do not."""
    pool, nccl = pods.pool, pods.pool.nccl
    if pods.pods == 1 or pods.channel:
        return ""
    if nccl is None:
        return f"no fabric between nodes of {pool.name} is known"
    interfaces = plan.provider.network_interfaces(pool.machine)
    if nccl.fabric == "EFA" and interfaces and not _adapters(plan, pods):
        return f"{pods.count} of {pool.machine.gpus} GPUs have no EFA interface of their own"
    needs = _parts_of(plan, nccl.fabric)
    if needs and not plan.provider.pod_networks(plan, pool):
        return f"no network names of {nccl.fabric} are known for {pool.machine.name}"
    if needs and not pods.is_whole_node:
        return f"only a pod with all GPUs of its node has the networks of {nccl.fabric}"
    return fabric_rejection(plan.spec, teams, nccl.fabric) if needs else ""


def _parts_of(plan: PlatformPlan, fabric: str) -> Object:
    """What pods need besides resources; nothing on nodes that no cloud creates."""
    parts = read_data("workloads/fabrics.yaml")
    return dict(parts.get(fabric, {})) if plan.provider.sells_machines else {}


def pod_fabric(plan: PlatformPlan, teams: Sequence[TeamPlan], pods: PodResources) -> Object:
    """What the pods have for the fabric; nothing for a single pod, or if they use TCP."""
    nccl = pods.pool.nccl
    if nccl is None or pods.pods == 1 or missing_fabric(plan, teams, pods):
        return {}
    parts = _parts_of(plan, nccl.fabric)
    if parts and not plan.provider.pod_networks(plan, pods.pool):
        return {}  # pods of one NVLink domain, without adapters
    result: Object = {
        "env_from": [nccl_name(pods.pool.stable_name)] if nccl.variables else [],
        "env": dict(parts.get("env", {})),
        "mounts": list(parts.get("mounts", [])),
        "volumes": list(parts.get("volumes", [])),
        "resources": _adapters(plan, pods),
        "locks_memory": nccl.fabric in {"EFA", "infiniband", "roce"},
        "init": [],
        "annotations": {},
    }
    if parts:
        result["annotations"] = _network_annotations(plan, pods, parts)
        result["init"] = [_helper(plan, parts)]
        result |= {"cpu": 1, "memory": 2} if "daemon" in parts else {}
    return result


def _adapters(plan: PlatformPlan, pods: PodResources) -> dict[str, str]:
    """Adapters as extended resources: the pod's part of a node's EFA interfaces, or all adapters.

    Huge pages only where every node runs from the start: autoscalers do not know that a new node
    has some.
    """
    pool = pods.pool
    if plan.provider.network_interfaces(pool.machine) and pool.nccl and pool.nccl.fabric == "EFA":
        gpus = pods.count if pods.resource == GPU else 0
        count = pool.machine.efa_interfaces * gpus // pool.machine.gpus
        always = pods.is_whole_node and pool.start_nodes == pool.nodes.high
        pages = {HUGE_PAGES: f"{EFA_POD_HUGE_PAGES}Mi"} if always else {}
        return {EFA: str(count), **pages} if count else {}
    return {RDMA: "1"} if uses_rdma_device_plugin(pool.fabric) else {}


def _network_annotations(plan: PlatformPlan, pods: PodResources, parts: Object) -> dict[str, str]:
    """GKE's annotations: the networks of the pod's interfaces, and the devices of its daemon."""
    networks = ["default", *plan.provider.pod_networks(plan, pods.pool)]
    rows = ",\n".join(
        f'  {{"interfaceName":"eth{n}","network":"{name}"}}' for n, name in enumerate(networks)
    )
    result = {
        "networking.gke.io/default-interface": "eth0",
        "networking.gke.io/interfaces": f"[\n{rows}\n]\n",
    }
    if daemon := parts.get("daemon"):
        gpus = [f"nvidia{n}" for n in range(pods.pool.machine.gpus)]
        paths = "".join(f"- path: /dev/{name}\n" for name in (*gpus, *parts["devices"]))
        result[f"devices.gke.io/container.{daemon['name']}"] = paths
    return result


def _helper(plan: PlatformPlan, parts: Object) -> Object:
    """The receive daemon, which runs as long as the pod, or the container that copies a plugin."""
    runs = {"restartPolicy": "Always"} if "daemon" in parts else {}
    container = dict(parts.get("daemon") or parts["installer"])
    return {
        **container,
        "image": mirrored(plan.spec, container["image"]),
        **runs,
        "resources": {"requests": dict(_DAEMON), "limits": dict(_DAEMON)},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            **container.get("securityContext", {}),
        },
    }
