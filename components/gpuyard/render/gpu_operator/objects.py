"""The operator's namespace, configurations of its agents, and the quota that admits its pods.

The namespace of an existing operator is not gpuyard's: only ConfigMaps with unique names are added.
"""

from collections.abc import Iterable

from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.plan.sharing.dra import operator_serves_dra_claims
from gpuyard.plan.software.support import config_map_names, counters_config_map, joins_operator
from gpuyard.render.gpu_operator.configurations import mig_parted_config, plugin_config
from gpuyard.render.gpu_operator.upgrades import policy_upgrades
from gpuyard.render.objects import Object, managed_object, namespace_object, toleration_object
from gpuyard.render.observability.counters import COUNTERS_FILE, counters_text
from gpuyard.render.text import yaml_text
from gpuyard_core.manifests.pods import Taint
from gpuyard_core.names import (
    CLUSTER_POLICY,
    GPU_CLUSTER,
    GPU_OPERATOR_NAMESPACE,
    MIG_CONFIGMAP,
    OPERATOR_QUOTA,
    PLUGIN_CONFIGMAP,
    POD_SECURITY_LABEL,
    system_namespace,
)

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
    spec = {
        # Required, and set although it is the default: an empty mapping can be created, but once it
        # had a field, server-side apply leaves null, which the API server rejects.
        "operator": {"runtimeClass": "nvidia"},
        "daemonsets": {"tolerations": agent_tolerations(plan)},
        "driver": {
            "enabled": True,
            "version": plan.software["driver"],
            "upgradePolicy": policy_upgrades(),
        },
        "toolkit": {"enabled": False},
        "devicePlugin": {"enabled": True, "config": {"name": PLUGIN_CONFIGMAP, "default": ""}},
        "dcgm": {"enabled": False},
        "dcgmExporter": {"enabled": False},
        "gfd": {"enabled": True},
        "nodeStatusExporter": {"enabled": False},
        "migManager": {
            "enabled": True,
            "config": {"name": MIG_CONFIGMAP, "default": "all-disabled"},
        },
    }
    return managed_object(plan.name, "nvidia.com/v1", "ClusterPolicy", CLUSTER_POLICY, spec=spec)


def _gpu_cluster(plan: PlatformPlan) -> Object:
    """As the chart creates it from its values, for fakes that serve claims."""
    racks = any(pool.dra and pool.dra.compute_domains for pool in plan.pools)
    spec = {
        "draDriver": {
            "version": f"v{plan.software['dra-driver']}",
            "computeDomains": {"enabled": racks},
        },
        "daemonsets": {"tolerations": agent_tolerations(plan)},
        "dcgm": {"enabled": False},
        "dcgmExporter": {"enabled": False},
    }
    return managed_object(plan.name, "nvidia.com/v1alpha1", "GPUCluster", GPU_CLUSTER, spec=spec)


def agent_tolerations(plan: PlatformPlan) -> list[Object]:
    """Node agents run on every pool, so they tolerate the key of each taint with any value."""
    taints = {str(t): t for pool in plan.pools for t in plan.initial_taints(pool)}
    return [_any_value(taint) for taint in _by_key(taints.values())]


def _by_key(taints: Iterable[Taint]) -> list[Taint]:
    return list({t.key: t for t in taints}.values())


def _any_value(taint: Taint) -> Object:
    toleration = toleration_object(taint)
    return {"key": toleration["key"], "operator": "Exists", "effect": toleration["effect"]}


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
