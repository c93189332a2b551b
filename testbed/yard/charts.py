"""Stand-ins for what you install on a cloud's cluster with the platform; charts cannot be downloaded here.

The GPU Operator, whose ClusterPolicy the agents of fake nodes read; Kueue's configuration, because a
simulated cluster has its own Kueue; in an existing GKE cluster Google's driver installer; on GKE the DRA
driver; the kinds of prometheus-operator; Karpenter's kinds, and the nodes that its pools start with.
"""

import json
from typing import Any

from gpuyard.plan.records import OperatorParts, PlatformPlan, PoolPlan
from gpuyard.render.aws.karpenter.nodes import karpenter_pools
from gpuyard.render.aws.pools import disk_gib
from gpuyard.render.gcp.in_cluster.driver import driver_objects
from gpuyard.render.gpu_operator.dra_driver import dra_driver_release
from gpuyard.render.gpu_operator.values import operator_values
from gpuyard.render.kueue.configuration import kueue_configuration_object
from gpuyard.render.nodes import fake_node_objects
from gpuyard.spec.platform import Cloud
from gpuyard.spec.sections import Prometheus
from gpuyard_core.catalogue.kubernetes.karpenter import POOL_OF_NODE
from gpuyard_core.catalogue.software.images import IMAGES
from gpuyard_core.names import (
    CLUSTER_POLICY,
    MIG_CONFIGMAP,
    PLUGIN_CONFIGMAP,
)
from gpuyard_simulate import crds
from gpuyard_simulate.agents.cloud_node import DRIVER, EFA_INTERFACES, KUBELET
from gpuyard_simulate.api import MANAGER, Api, ApiObject
from gpuyard_simulate.claims.slices import device_classes
from gpuyard_simulate.tools import find_tools
from testbed.plugins.cloud.inside.node import Kept, gib, resources, usual

_NODES = "/api/v1/nodes"
_PATHS = {
    "ConfigMap": "/api/v1/namespaces/kueue-system/configmaps",
    "ClusterPolicy": "/apis/nvidia.com/v1/clusterpolicies",
    "DaemonSet": "/apis/apps/v1/namespaces/kube-system/daemonsets",
}


def play(api: Api, plan: PlatformPlan) -> str:
    """Install them into the cluster; returns their names."""
    created = objects(plan)
    for each in created:
        path = f"{_PATHS[each['kind']]}/{each['metadata']['name']}"
        query = f"?fieldManager={MANAGER}&force=true"
        api.call("PATCH", path + query, each, "application/apply-patch+yaml")
    names = [each["metadata"]["name"] for each in created]
    return ", ".join([*names, *_play_monitoring(api, plan), *_play_karpenter(api, plan)])


def _play_monitoring(api: Api, plan: PlatformPlan) -> list[str]:
    """The kinds of prometheus-operator, and the namespace of an existing Prometheus; no program reads their objects."""
    observed = plan.observability
    if observed is None or not observed.has_operator:
        return []
    if observed.mode is Prometheus.EXISTING:
        place = {"name": observed.namespace}
        api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": place})
    for each in crds.monitoring_crds(find_tools()):
        api.apply(each)
    return ["the kinds of prometheus-operator"]


def _play_karpenter(api: Api, plan: PlatformPlan) -> list[str]:
    """Its CRDs and first nodes; returns a description. There is no autoscaler, so no nodes are added later."""
    pools = karpenter_pools(plan)
    expected = {node["metadata"]["name"]: node for each in pools for node in _nodes(plan, each)}
    existing = {
        node["metadata"]["name"]
        for node in api.call("GET", f"{_NODES}?labelSelector={POOL_OF_NODE}")["items"]
    }
    for name in existing - expected.keys():
        api.call("DELETE", f"{_NODES}/{name}")
    # An existing node keeps the taints that programs in the cluster added.
    for name in expected.keys() - existing:
        api.call("POST", _NODES, expected[name])
    if not pools:
        return []
    for each in crds.karpenter_crds(find_tools()):
        api.apply(each)
    return [f"Karpenter with {len(expected)} nodes, and no autoscaling"]


def _nodes(plan: PlatformPlan, pool: PoolPlan) -> list[ApiObject]:
    """The nodes that a pool starts with, with the image that Karpenter selects for machines with GPUs."""
    machine, disk = pool.machine, gib(disk_gib(plan, pool))
    capacity, allocatable = resources(machine, disk, Kept(usual(machine)))
    notes = {
        KUBELET: json.dumps({"capacity": capacity, "allocatable": allocatable}),
        EFA_INTERFACES: str(machine.efa_interfaces),
        DRIVER: str(IMAGES["al2023-nvidia"].driver),
    }
    created = fake_node_objects(plan, pool)
    for meta in (node["metadata"] for node in created):
        meta["annotations"] |= notes
        meta["labels"][POOL_OF_NODE] = pool.stable_name
    return created


def objects(plan: PlatformPlan) -> list[ApiObject]:
    """As their charts create them, with the plan's values."""
    config = kueue_configuration_object(plan)
    created: list[ApiObject] = [_unowned(config)]
    if plan.operator is not None:
        created.append(_cluster_policy(plan, plan.operator))
    if plan.cloud is Cloud.GCP and plan.spec.cluster_exists:
        created += [_unowned(each) for each in driver_objects(plan)]
    return created


def _unowned(obj: ApiObject) -> ApiObject:
    """The object as Google publishes it, without an owner label."""
    place = {key: obj["metadata"][key] for key in ("name", "namespace")}
    return {**obj, "metadata": place}


def _cluster_policy(plan: PlatformPlan, brought: OperatorParts) -> ApiObject:
    """Parts that the plan turns off are off, and the ConfigMaps are those of the platform."""
    parts: dict[str, Any] = {name: {"enabled": on} for name, on in brought.enabled.items()}
    tolerations = operator_values(plan, brought)["daemonsets"]["tolerations"]
    spec = {
        "operator": {"runtimeClass": "nvidia"},
        "daemonsets": {"tolerations": tolerations},
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


def claim_driver(plan: PlatformPlan) -> list[ApiObject]:
    """The objects of the DRA driver's chart on GKE, with the plan's values; none elsewhere.

    Its device classes and its kubelet plugin follow the templates of v0.4.1: one container for GPUs, one for
    compute domains where they are on. Its namespace is the platform's and exists after the deployment.
    """
    release = dra_driver_release(plan)
    if release is None:
        return []
    values, name = release.values, f"{release.name}-kubelet-plugin"
    kinds = {"gpus": "gpus", "computeDomains": "compute-domains"}
    on = [word for key, word in kinds.items() if values["resources"][key]["enabled"]]
    image = f"{values['image']['repository']}:{values['image']['tag']}"
    placed = {key: values["kubeletPlugin"][key] for key in ("nodeSelector", "tolerations")}
    labels = {"app.kubernetes.io/name": release.name}
    pod = {**placed, "containers": [{"name": each, "image": image} for each in on]}
    daemon_set: ApiObject = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": release.namespace},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
    return [*device_classes(domains="compute-domains" in on), daemon_set]
