"""Configurations of the node agents: how they partition and share GPUs, pool by pool."""

from typing import Any

from gpuyard.plan.records import GpuLayout, PlatformPlan, PoolPlan
from gpuyard.plan.sharing.gke_sharing import is_gke_managed
from gpuyard_core.catalogue.sharing import SharingMethod
from gpuyard_core.names import GPU


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
