"""The fake device plugin: which `nvidia.com/*` resources a node advertises, and how many."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from gpuyard_core.manifests.quantities import quantity
from gpuyard_core.names import MOST_SHARES
from gpuyard_simulate.agents.hardware import Hardware
from gpuyard_simulate.agents.plugin_config import ConfigRefused, PluginConfig

GPU: Final = "nvidia.com/gpu"
RENAMED: Final = ".shared"


def devices(hardware: Hardware, config: PluginConfig) -> dict[str, int]:
    """Resources by name.

    Raises:
        ConfigRefused: the plugin exits with an error, so the node advertises nothing.
    """
    counted = _shared(_unshared(hardware, config.strategy), hardware, config)
    return {name: count for name, count in sorted(counted.items()) if count}


def pod_rejection_reason(containers: Iterable[Mapping[str, Any]], config: PluginConfig) -> str:
    """Why the plugin rejects a container, as the kubelet words it; "" when it does not."""
    if not config.one_share:
        return ""
    shared = {name + (RENAMED if config.rename else "") for name in config.replicas}
    for container in containers:
        for name, value in ((container.get("resources") or {}).get("limits") or {}).items():
            count = quantity(value) or 0
            if name in shared and count > MOST_SHARES:
                return (
                    "Pod was rejected: Allocate failed due to rpc error: code = Unknown desc = invalid"
                    f' allocation request for "{name}": invalid request: maximum request size for shared'
                    f" resources is {MOST_SHARES}; found {count}, which is unexpected"
                )
    return ""


def _unshared(hardware: Hardware, strategy: str) -> Counter[str]:
    """Devices before sharing, by strategy."""
    slices = hardware.slices()
    if strategy == "none":  # every GPU counts as one, partitioned or not
        return Counter({GPU: len(hardware.layout)})
    if strategy == "mixed":
        product = hardware.product
        results = Counter({GPU: hardware.whole})
        for name, count in slices.items():
            profile = product.profile(name) if product else None
            if profile is None:
                raise ConfigRefused(f"MIG profile {name} does not match any resource")
            results[profile.resource] += count
        return results
    if hardware.whole == len(hardware.layout):
        return Counter({GPU: hardware.whole})
    if any(gpu is not None and not gpu for gpu in hardware.layout):
        raise ConfigRefused("strategy single: a GPU with MIG on has no slices")
    if hardware.whole:
        raise ConfigRefused("strategy single: MIG is on for some GPUs and off for others")
    if len(slices) > 1:
        raise ConfigRefused("strategy single: more than one MIG profile on the node")
    return Counter({GPU: slices.total()})


def _shared(result: Counter[str], hardware: Hardware, config: PluginConfig) -> Counter[str]:
    """Devices as advertised: each with the number of shares in the configuration."""
    if config.sharing == "mps" and hardware.whole != len(hardware.layout):
        raise ConfigRefused("MPS is not supported for MIG devices")
    shared: Counter[str] = Counter()
    for name, count in result.items():
        replicas = config.replicas_of(name)
        renamed = config.rename and replicas > 1
        shared[name + RENAMED if renamed else name] += count * replicas
    return shared
