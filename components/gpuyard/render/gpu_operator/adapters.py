"""Network adapters of your own nodes, which the RDMA device plugin assigns to requesting pods.

The plugin shares: a requesting pod gets every adapter of the fabric, and NCCL uses those that the
stack file lists. The plugin selects adapters by vendor and link type, since it does not know NCCL's
names. It runs in the operator's namespace, which allows pods access to devices of their node.
"""

import json
from collections.abc import Mapping

from gpuyard.plan.pools.topology import SHARED_BY, uses_rdma_device_plugin
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.plan.renames import short_digest
from gpuyard.render.gpu_operator.objects import (
    PRIORITY_CLASS,
    agent_tolerations,
    operator_namespace,
)
from gpuyard.render.objects import Object, managed_object, node_agent, pool_affinity
from gpuyard.render.pulled_image import agent_image
from gpuyard.spec.sections import FabricKind
from gpuyard_core.catalogue.software.charts import RDMA_PLUGIN
from gpuyard_core.names import RDMA, fabric_plugin_name

_LINKS: Mapping[FabricKind, str] = {
    FabricKind.INFINIBAND: "infiniband",
    FabricKind.ROCE: "ether",
}
_VENDOR = "15b3"
"""Mellanox: the vendor id of NVIDIA's adapters."""
_PLUGINS, _REGISTRY = "/var/lib/kubelet/device-plugins", "/var/lib/kubelet/plugins_registry"


def adapter_objects(plan: PlatformPlan) -> list[Object]:
    """Configuration and plugin for each fabric; none if no pool uses the plugin."""
    if plan.queueing.dispatch:
        return []
    results: list[Object] = []
    for kind in _LINKS:
        pools = [
            p
            for p in plan.pools
            if p.fabric and p.fabric.kind is kind and uses_rdma_device_plugin(p.fabric)
        ]
        if pools:
            results += _of_fabric(plan, kind, pools)
    return results


def _of_fabric(plan: PlatformPlan, kind: FabricKind, pools: list[PoolPlan]) -> list[Object]:
    name, space, text = (
        fabric_plugin_name(plan.name, kind.value),
        operator_namespace(plan),
        _text(kind),
    )
    # The plugin reads its file once: a changed text gets another name, which restarts the pods.
    config = f"{name}-{short_digest(text)}"
    pod = _pod(plan, pools, config)
    return [
        managed_object(
            plan.name, "v1", "ConfigMap", config, namespace=space, data={"config.json": text}
        ),
        node_agent(plan.name, name, "app.kubernetes.io/name", pod, space),
    ]


def _text(kind: FabricKind) -> str:
    prefix, _, name = RDMA.partition("/")
    entry = {
        "resourcePrefix": prefix,
        "resourceName": name,
        "rdmaHcaMax": SHARED_BY,
        "selectors": {"vendors": [_VENDOR], "linkTypes": [_LINKS[kind]]},
    }
    return json.dumps({"periodicUpdateInterval": 300, "configList": [entry]}, indent=2) + "\n"


def _pod(plan: PlatformPlan, pools: list[PoolPlan], config: str) -> Object:
    folders = {"device-plugins": _PLUGINS, "plugins-registry": _REGISTRY, "devices": "/dev"}
    return {
        "priorityClassName": PRIORITY_CLASS,
        "automountServiceAccountToken": False,
        "hostNetwork": True,
        "tolerations": agent_tolerations(plan),
        "affinity": pool_affinity(pools),
        "containers": [
            {
                "name": "plugin",
                "image": agent_image(plan, RDMA_PLUGIN).reference,
                "resources": {"requests": {"cpu": "10m", "memory": "50Mi"}},
                # It reads the node's devices and configures links.
                "securityContext": {"privileged": True},
                "volumeMounts": [
                    {"name": "config", "mountPath": "/k8s-rdma-shared-dev-plugin"},
                    *({"name": n, "mountPath": path} for n, path in folders.items()),
                ],
            }
        ],
        "volumes": [
            {"name": "config", "configMap": {"name": config}},
            *({"name": n, "hostPath": {"path": path}} for n, path in folders.items()),
        ],
    }
