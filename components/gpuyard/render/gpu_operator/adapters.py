"""Network adapters of nodes of your own: the RDMA device plugin hands them to pods that ask for them.

It shares: a pod that asks has every adapter of the fabric, and NCCL takes those that the stack file names. It
tells adapters by vendor and link type, for it knows no names as NCCL has them. It stands in the operator's
namespace, which lets pods have devices of their node.
"""

import json
from collections.abc import Mapping

from gpuyard.catalogue.software.charts import RDMA_PLUGIN
from gpuyard.catalogue.software.digests import pinned
from gpuyard.names import RDMA, adapters_name
from gpuyard.plan.digests import short_digest
from gpuyard.plan.pools.fabrics import SHARED_BY, has_device_plugin
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.render.gpu_operator.objects import (
    PRIORITY_CLASS,
    agent_tolerations,
    operator_namespace,
)
from gpuyard.render.mirror import mirrored
from gpuyard.render.objects import Object, managed_object, on_pools
from gpuyard.spec.sections import FabricKind

_LINKS: Mapping[FabricKind, str] = {
    FabricKind.INFINIBAND: "infiniband",
    FabricKind.ROCE: "ether",
}
_VENDOR = "15b3"
"""Mellanox, whose adapters NVIDIA's are."""
_PLUGINS, _REGISTRY = "/var/lib/kubelet/device-plugins", "/var/lib/kubelet/plugins_registry"


def adapter_objects(plan: PlatformPlan) -> list[Object]:
    """For each fabric what the plugin reads, and the plugin; nothing where nobody is to hand out adapters."""
    if plan.queueing.dispatch:
        return []
    results: list[Object] = []
    for kind in _LINKS:
        pools = [
            p
            for p in plan.pools
            if p.fabric and p.fabric.kind is kind and has_device_plugin(p.fabric)
        ]
        if pools:
            results += _of_fabric(plan, kind, pools)
    return results


def _of_fabric(plan: PlatformPlan, kind: FabricKind, pools: list[PoolPlan]) -> list[Object]:
    name, space, text = adapters_name(plan.name, kind.value), operator_namespace(plan), _text(kind)
    # It reads its file once: another text has another name, and pods of it start anew.
    config = f"{name}-{short_digest(text)}"
    labels = {"app.kubernetes.io/name": name}
    spec = {
        "selector": {"matchLabels": labels},
        "updateStrategy": {"type": "RollingUpdate"},
        "template": {"metadata": {"labels": labels}, "spec": _pod(plan, pools, config)},
    }
    skip = {"pulumi.com/skipAwait": "true"}  # nodes come and go
    return [
        managed_object(
            plan.name, "v1", "ConfigMap", config, namespace=space, data={"config.json": text}
        ),
        managed_object(
            plan.name, "apps/v1", "DaemonSet", name, namespace=space, annotations=skip, spec=spec
        ),
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
        "affinity": on_pools(pools),
        "containers": [
            {
                "name": "plugin",
                "image": f"{mirrored(plan.spec, RDMA_PLUGIN.image)}:{_tag()}",
                "resources": {"requests": {"cpu": "10m", "memory": "50Mi"}},
                # It reads devices of the node, and sets links up.
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


def _tag() -> str:
    return pinned(RDMA_PLUGIN.image, RDMA_PLUGIN.tag)
