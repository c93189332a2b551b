"""The operator's namespace, configurations of its agents, and the quota that admits its pods.

The namespace of an existing operator is not gpuyard's: only ConfigMaps with unique names are added.
"""

from typing import Any

from gpuyard.plan.records import GpuLayout, PlatformPlan, PoolPlan
from gpuyard.plan.sharing.dra import operator_serves_dra_claims
from gpuyard.plan.sharing.gke_sharing import is_gke_managed
from gpuyard.plan.software.support import config_map_names, counters_config_map, joins_operator
from gpuyard.render.data_files import filled_data
from gpuyard.render.objects import Object, managed_object, namespace_object
from gpuyard.render.observability.counters import COUNTERS_FILE, counters_text
from gpuyard.render.text import yaml_text
from gpuyard_core.catalogue.sharing import SharingMethod
from gpuyard_core.names import (
    CLUSTER_POLICY,
    GPU,
    GPU_CLUSTER,
    GPU_OPERATOR_NAMESPACE,
    MIG_CONFIGMAP,
    OPERATOR_QUOTA,
    PLUGIN_CONFIGMAP,
    POD_SECURITY_LABEL,
    PODSET_LABEL,
    system_namespace,
)


def mig_parted_config(plan: PlatformPlan) -> dict[str, Any]:
    """Every layout, by the value of its pool's node label; `all-disabled` is the default value."""
    configs: dict[str, Any] = {"all-disabled": [{"devices": "all", "mig-enabled": False}]}
    for pool in plan.pools:
        if pool.mig_config:
            configs[pool.mig_config] = _devices(pool)
    return {"version": "v1", "mig-configs": configs}


def _devices(pool: PoolPlan) -> list[dict[str, Any]]:
    cut = {i for layout in pool.layouts for i in layout.gpus}
    whole = [i for i in range(pool.gpus_per_node) if i not in cut]
    entries = [_layout(layout, pool.gpus_per_node) for layout in pool.layouts]
    if whole:
        entries.append({"devices": whole, "mig-enabled": False})
    return entries


def _layout(layout: GpuLayout, gpus: int) -> dict[str, Any]:
    devices = "all" if len(layout.gpus) == gpus else list(layout.gpus)
    return {"devices": devices, "mig-enabled": True, "mig-devices": dict(layout.counts)}


def plugin_config(pool: PoolPlan) -> dict[str, Any]:
    """The device plugin's configuration for one pool.

    Requests for several shares are denied: they would be time slices of the same GPU, not more of
    it.
    """
    config: dict[str, Any] = {"version": "v1", "flags": {"migStrategy": pool.mig_strategy}}
    if pool.replicas > 1 and not is_gke_managed(pool):
        method = "mps" if pool.sharing is SharingMethod.MPS else "timeSlicing"
        shared = [a.resource.removesuffix(".shared") for a in pool.advertised if a.resource != GPU]
        config["sharing"] = {
            method: {
                "renameByDefault": True,
                "failRequestsGreaterThanOne": True,  # names.MOST_SHARES
                "resources": [{"name": name, "replicas": pool.replicas} for name in shared],
            }
        }
    return config


def chart_upgrades() -> Any:
    """How the operator upgrades drivers, as values of its chart."""
    return filled_data(_FILE, "upgrades", queued=PODSET_LABEL)


def policy_upgrades() -> dict[str, Any]:
    """The same fields as the chart writes them into the ClusterPolicy."""
    renamed = {"gpuPodDeletion": "podDeletion"}
    return {renamed.get(word, word): value for word, value in chart_upgrades().items()}


_FILE = "gpu_operator/values.yaml"
PRIORITY_CLASS = "system-node-critical"
"""Of all operator pods: they still fit on a node whose GPUs are fully used."""
_PODS = 100
"""As many as NVIDIA's page for GKE allows: the operator's own, and one on each system node."""
_PODS_PER_NODE = 16
"""On a node with GPUs: at most 13 kinds, and pods that are replaced while their successors
start."""


def gpu_operator_objects(plan: PlatformPlan) -> list[Object]:
    """The namespace and both configurations; on simulated nodes also the chart's policy.

    None if the cluster has no nodes: the operators of the worker clusters have them.
    """
    if plan.queueing.dispatch:
        return []
    objects = [] if operator_serves_dra_claims(plan.spec) else _configurations(plan)
    if plan.observability is not None:
        counters = {COUNTERS_FILE: counters_text()}
        objects.append(_config_map(plan, counters_config_map(plan.spec), counters))
    if joins_operator(plan.spec):
        return objects
    labels = {POD_SECURITY_LABEL: "privileged"}
    objects.insert(0, namespace_object(plan.name, GPU_OPERATOR_NAMESPACE, labels))
    if plan.provider.requires_priority_quota:
        objects.insert(1, _quota(plan))
    if plan.simulated:
        objects.append(
            _gpu_cluster(plan) if operator_serves_dra_claims(plan.spec) else _cluster_policy(plan)
        )
    return objects


def _configurations(plan: PlatformPlan) -> list[Object]:
    """Configurations of the agents for GPUs of the device plugin."""
    mig, plugin = config_map_names(plan.spec)
    plugins = {pool.plugin_config: yaml_text(plugin_config(pool)) for pool in plan.pools}
    return [
        _config_map(plan, mig, {"config.yaml": yaml_text(mig_parted_config(plan))}),
        _config_map(plan, plugin, plugins),
    ]


def operator_namespace(plan: PlatformPlan) -> str:
    """The namespace in which the operator runs and its agents read."""
    if joins_operator(plan.spec):
        return plan.spec.gpu_operator.namespace
    return GPU_OPERATOR_NAMESPACE


def _config_map(plan: PlatformPlan, name: str, data: dict[str, str]) -> Object:
    return managed_object(
        plan.name, "v1", "ConfigMap", name, namespace=operator_namespace(plan), data=data
    )


def _quota(plan: PlatformPlan) -> Object:
    """GKE admits pods of critical priority only in a namespace with a quota for them."""
    nodes = sum(pool.nodes.high for pool in plan.pools)
    classes = {
        "scopeName": "PriorityClass",
        "operator": "In",
        "values": [PRIORITY_CLASS, "system-cluster-critical"],
    }
    spec = {
        "hard": {"pods": str(_PODS + _PODS_PER_NODE * nodes)},
        "scopeSelector": {"matchExpressions": [classes]},
    }
    return managed_object(
        plan.name,
        "v1",
        "ResourceQuota",
        OPERATOR_QUOTA,
        namespace=GPU_OPERATOR_NAMESPACE,
        spec=spec,
    )


def _cluster_policy(plan: PlatformPlan) -> Object:
    spec = filled_data(
        _FILE,
        "cluster_policy",
        agents=agent_tolerations(plan),
        driver=plan.software["driver"],
        upgrades=policy_upgrades(),
        plugin_config=PLUGIN_CONFIGMAP,
        mig_config=MIG_CONFIGMAP,
    )
    return managed_object(plan.name, "nvidia.com/v1", "ClusterPolicy", CLUSTER_POLICY, spec=spec)


def _gpu_cluster(plan: PlatformPlan) -> Object:
    """As the chart creates it from its values, for fakes that serve claims."""
    version, agents = plan.software["dra-driver"], agent_tolerations(plan)
    spec = filled_data(
        _FILE, "gpu_cluster", version=version, agents=agents, racks=spans_racks(plan)
    )
    return managed_object(plan.name, "nvidia.com/v1alpha1", "GPUCluster", GPU_CLUSTER, spec=spec)


def spans_racks(plan: PlatformPlan) -> bool:
    """Whether pods of several nodes use NVLink by ComputeDomains."""
    return any(pool.dra and pool.dra.compute_domains for pool in plan.pools)


def agent_tolerations(plan: PlatformPlan) -> list[Object]:
    """Node agents run on every pool, so they tolerate the key of each taint with any value."""
    taints = {str(t): t for pool in plan.pools for t in plan.initial_taints(pool)}
    last = {taint.key: taint for taint in taints.values()}
    return [
        {"key": taint.key, "operator": "Exists", "effect": taint.effect} for taint in last.values()
    ]


def driver_record(plan: PlatformPlan, pool: PoolPlan, driver: str) -> Object:
    """The record of one pool; it changes with the driver, in each deployment that rolls one out."""
    return managed_object(
        plan.name,
        "v1",
        "ConfigMap",
        f"gpuyard-driver-{pool.stable_name}",
        namespace=system_namespace(plan.name),
        data={"driver": driver},
    )
