"""The operator's namespace, what its agents read there, and what lets them in.

Where another's operator runs, the namespace is not ours: it holds two ConfigMaps more, of names of their own.
"""

from collections.abc import Iterable

from gpuyard.names import (
    CLUSTER_POLICY,
    GPU_CLUSTER,
    GPU_OPERATOR_NAMESPACE,
    MIG_CONFIGMAP,
    OPERATOR_QUOTA,
    PLUGIN_CONFIGMAP,
    POD_SECURITY_LABEL,
)
from gpuyard.plan.records import PlatformPlan, Taint
from gpuyard.plan.sharing.claims import installs_claims
from gpuyard.plan.software.gpu_operator import config_map_names, joins_operator
from gpuyard.render.gpu_operator.configurations import mig_parted_config, plugin_config
from gpuyard.render.gpu_operator.upgrades import policy_upgrades
from gpuyard.render.objects import Object, managed_object, namespace_object, toleration_object
from gpuyard.render.text import yaml_text
from gpuyard.spec.platform import Cloud

PRIORITY_CLASS = "system-node-critical"
"""Of all that the operator starts: where GPUs are full of jobs, it still finds its place on the node."""
_PODS = 100
"""As many as NVIDIA's page for GKE lets in: the operator's own, and one on each node of the system."""
_PODS_PER_NODE = 16
"""On a node with GPUs: 13 kinds at most, and what is replaced while its successor starts."""


def gpu_operator_objects(plan: PlatformPlan) -> list[Object]:
    """The namespace and both configurations; on simulated nodes also the policy that a chart would make.

    Nothing where no node is: the operator of the clusters that have them does it.
    """
    if plan.queueing.dispatch:
        return []
    objects = [] if installs_claims(plan.spec) else _configurations(plan)
    if joins_operator(plan.spec):
        return objects
    labels = {POD_SECURITY_LABEL: "privileged"}
    objects.insert(0, namespace_object(plan.name, GPU_OPERATOR_NAMESPACE, labels))
    if plan.cloud is Cloud.GCP:
        objects.insert(1, _quota(plan))
    if plan.simulated:
        objects.append(_gpu_cluster(plan) if installs_claims(plan.spec) else _cluster_policy(plan))
    return objects


def _configurations(plan: PlatformPlan) -> list[Object]:
    """What agents of counted GPUs read."""
    mig, plugin = config_map_names(plan.spec)
    plugins = {pool.plugin_config: yaml_text(plugin_config(pool)) for pool in plan.pools}
    return [
        _config_map(plan, mig, {"config.yaml": yaml_text(mig_parted_config(plan))}),
        _config_map(plan, plugin, plugins),
    ]


def operator_namespace(plan: PlatformPlan) -> str:
    """Where the operator runs and reads."""
    if joins_operator(plan.spec):
        return plan.spec.gpu_operator.namespace
    return GPU_OPERATOR_NAMESPACE


def _config_map(plan: PlatformPlan, name: str, data: dict[str, str]) -> Object:
    return managed_object(
        plan.name, "v1", "ConfigMap", name, namespace=operator_namespace(plan), data=data
    )


def _quota(plan: PlatformPlan) -> Object:
    """GKE lets pods of critical priority into a namespace only where a quota counts them."""
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
        # Required, and written though it is the default: an empty mapping can be made, but once anything was
        # in it, server-side apply leaves null, which the API server refuses.
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
    """As the chart makes it of its values, for fakes that answer claims."""
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
    """Node agents run on every pool, so they tolerate the key of each taint whatever its value."""
    taints = {str(t): t for pool in plan.pools for t in plan.initial_taints(pool)}
    return [_any_value(taint) for taint in _by_key(taints.values())]


def _by_key(taints: Iterable[Taint]) -> list[Taint]:
    return list({t.key: t for t in taints}.values())


def _any_value(taint: Taint) -> Object:
    toleration = toleration_object(taint)
    return {"key": toleration["key"], "operator": "Exists", "effect": toleration["effect"]}
