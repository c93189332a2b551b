"""GPU Operator configuration: how it is told to share GPUs, pool by pool.

`mig.strategy` stays empty: the operator turns any other value into an environment variable that overrules
the strategy in every pool's own device-plugin configuration.
"""

from collections.abc import Iterable
from typing import Any

from gpuyard.catalogue.sharing import SharingMethod
from gpuyard.names import (
    CLUSTER_POLICY,
    GPU,
    GPU_OPERATOR_NAMESPACE,
    MIG_CONFIGMAP,
    PLUGIN_CONFIGMAP,
    POD_SECURITY_LABEL,
)
from gpuyard.plan.records import GpuLayout, PlatformPlan, PoolPlan, Taint
from gpuyard.render.objects import Object, made, namespace_object, toleration_object
from gpuyard.render.text import yaml_text


def gpu_operator_objects(plan: PlatformPlan) -> list[Object]:
    """The namespace and both configurations; on simulated nodes also the policy that a chart would make.

    Nothing where no node is: the operator of the clusters that have them does it.
    """
    if plan.queueing.dispatch:
        return []
    objects = [
        namespace_object(plan.name, GPU_OPERATOR_NAMESPACE, {POD_SECURITY_LABEL: "privileged"}),
        _config_map(plan.name, MIG_CONFIGMAP, {"config.yaml": yaml_text(mig_parted_config(plan))}),
        _config_map(
            plan.name,
            PLUGIN_CONFIGMAP,
            {p.plugin_config: yaml_text(plugin_config(p)) for p in plan.pools},
        ),
    ]
    if plan.simulated:
        objects.append(_cluster_policy(plan))
    return objects


def _config_map(owner: str, name: str, data: dict[str, str]) -> Object:
    return made(owner, "v1", "ConfigMap", name, namespace=GPU_OPERATOR_NAMESPACE, data=data)


def mig_parted_config(plan: PlatformPlan) -> dict[str, Any]:
    """Every layout under the name that its pool's node label carries; `all-disabled` is the default label."""
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

    A request for several shares is refused: they would be turns on the same GPU, not more of it.
    """
    config: dict[str, Any] = {"version": "v1", "flags": {"migStrategy": pool.mig_strategy}}
    if pool.replicas > 1:
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


def _cluster_policy(plan: PlatformPlan) -> Object:
    taints = {str(t): t for pool in plan.pools for t in pool.taints}
    spec = {
        # Required, and written though it is the default: an empty mapping can be made, but once anything was
        # in it, server-side apply leaves null, which the API server refuses.
        "operator": {"runtimeClass": "nvidia"},
        "daemonsets": {"tolerations": [_any_value(t) for t in _by_key(taints.values())]},
        "driver": {"enabled": False},
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
    return made(plan.name, "nvidia.com/v1", "ClusterPolicy", CLUSTER_POLICY, spec=spec)


def _by_key(taints: Iterable[Taint]) -> list[Taint]:
    return list({t.key: t for t in taints}.values())


def _any_value(taint: Taint) -> Object:
    """Node agents run on every pool, so they tolerate the key whatever its value."""
    toleration = toleration_object(taint)
    return {"key": toleration["key"], "operator": "Exists", "effect": toleration["effect"]}
