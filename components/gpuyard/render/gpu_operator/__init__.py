"""NVIDIA's GPU Operator: chart, agent configurations, and requirements of an existing operator."""

from gpuyard.render.gpu_operator.objects import (
    gpu_operator_objects,
    mig_parted_config,
    plugin_config,
)

__all__ = ["gpu_operator_objects", "mig_parted_config", "plugin_config"]
