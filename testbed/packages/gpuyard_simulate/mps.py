"""The fake MPS daemon (k8s-device-plugin v0.20): its settings of GPUs before the plugin advertises shares.

It runs where feature discovery has labelled the node, so it starts after the label; the plugin waits until it
is alive. It reads the same file as the plugin, when it starts.
"""

import json
from typing import Final

from gpuyard_simulate.agents.device_plugin import RENAMED
from gpuyard_simulate.agents.hardware import Hardware
from gpuyard_simulate.agents.plugin_config import ConfigRefused, PluginConfig

CAPABLE: Final = "nvidia.com/mps.capable"
"""The label by which its DaemonSet finds a node."""
RUNNING: Final = "sim.gpuyard.dev/mps"
"""On the node: JSON, the running daemon's settings by resource."""
ROOT: Final = "/run/nvidia/mps"
_VOLTA: Final = (7, 5)
_MOST_BEFORE: Final = 16
"""Clients of a GPU that is older than the program takes for Volta (cmd/mps-control-daemon/mps/device.go)."""


def mps_daemon_settings(hardware: Hardware, config: PluginConfig) -> str:
    """Its settings, as JSON: GPUs in exclusive process mode, and limits for each client.

    Raises:
        ConfigRefused: it does not start, and is retried forever.
    """
    gpu = hardware.machine.gpu
    set_: dict[str, dict[str, object]] = {}
    for resource, replicas in sorted(config.replicas.items()):
        if gpu is None:
            continue
        if gpu.compute_capability < _VOLTA and replicas > _MOST_BEFORE:
            raise ConfigRefused(
                f"invalid device maximum allowed replicas exceeded: {replicas} > {_MOST_BEFORE}"
            )
        name = resource + (RENAMED if config.rename else "")
        set_[name] = {
            "compute_mode": "EXCLUSIVE_PROCESS",
            "pipe": f"{ROOT}/{name}/pipe",
            "shm": f"{ROOT}/{name}/shm",
            "memory_mib": gpu.memory_gib * 1024 // replicas,
            "threads_percent": 100 // replicas,
        }
    return json.dumps(set_)
