"""What people install on a cluster of a cloud beside the platform, played: no chart can be had here.

The GPU Operator, whose ClusterPolicy the agents of fake nodes read; Google's driver installer, which is a
DaemonSet; Kueue's configuration, since a simulated cluster brings Kueue itself.
"""

from typing import Any

from gpuyard.catalogue.software.images import Owner, SoftwarePart
from gpuyard.names import (
    CLUSTER_POLICY,
    GPU,
    MIG_CONFIGMAP,
    PLUGIN_CONFIGMAP,
)
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.kueue.configuration import kueue_configuration_object
from gpuyard.simulate.agents.cloud_node import DRIVER_INSTALLER
from gpuyard.simulate.api import MANAGER, Api, ApiObject

_PATHS = {
    "ConfigMap": "/api/v1/namespaces/kueue-system/configmaps",
    "ClusterPolicy": "/apis/nvidia.com/v1/clusterpolicies",
    "DaemonSet": "/apis/apps/v1/namespaces/kube-system/daemonsets",
}
_GPUS_ARE_TAINTED = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}


def play(api: Api, plan: PlatformPlan) -> str:
    """Put them into the cluster; says which."""
    made = objects(plan)
    for each in made:
        path = f"{_PATHS[each['kind']]}/{each['metadata']['name']}"
        query = f"?fieldManager={MANAGER}&force=true"
        api.call("PATCH", path + query, each, "application/apply-patch+yaml")
    return ", ".join(each["metadata"]["name"] for each in made)


def objects(plan: PlatformPlan) -> list[ApiObject]:
    """As their charts make them, with the values that the plan says."""
    config = kueue_configuration_object(plan)
    place = {key: config["metadata"][key] for key in ("name", "namespace")}
    made: list[ApiObject] = [{**config, "metadata": place}]
    if plan.operator is not None:
        made.append(_cluster_policy(plan))
    if any(_driver_of(pool) == Owner.DAEMONSET for pool in plan.pools):
        kinds = sorted({str(pool.machine.accelerator) for pool in plan.pools})
        made.append(_daemon_set(DRIVER_INSTALLER, "cloud.google.com/gke-accelerator", kinds))
    return made


def _driver_of(pool: Any) -> str:
    return pool.node_software.owners[SoftwarePart.DRIVER.value] if pool.node_software else ""


def _cluster_policy(plan: PlatformPlan) -> ApiObject:
    """Parts that the plan turns off are off, and the ConfigMaps are those of the platform."""
    enabled = plan.operator.enabled if plan.operator else {}
    parts: dict[str, Any] = {name: {"enabled": on} for name, on in enabled.items()}
    spec = {
        "operator": {"runtimeClass": "nvidia"},
        "daemonsets": {"tolerations": [_GPUS_ARE_TAINTED]},
        **{name: {"enabled": False} for name in ("dcgm", "dcgmExporter", "nodeStatusExporter")},
        "gfd": {"enabled": True},
        **parts,
        "devicePlugin": {
            **parts.get("devicePlugin", {}),
            "config": {"name": PLUGIN_CONFIGMAP, "default": ""},
        },
        "migManager": {
            **parts.get("migManager", {}),
            "config": {"name": MIG_CONFIGMAP, "default": "all-disabled"},
        },
    }
    return {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": CLUSTER_POLICY},
        "spec": spec,
    }


def _daemon_set(name: str, label: str, values: list[str]) -> ApiObject:
    match = {"key": label, "operator": "In", "values": values}
    on = {"nodeSelectorTerms": [{"matchExpressions": [match]}]}
    labels = {"name": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": "kube-system"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "containers": [{"name": "main", "image": f"played.invalid/{name}:played"}],
                    "tolerations": [_GPUS_ARE_TAINTED],
                    "affinity": {
                        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": on}
                    },
                },
            },
        },
    }
