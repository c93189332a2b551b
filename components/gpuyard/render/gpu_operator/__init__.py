"""NVIDIA's GPU Operator: chart, agent configurations, and requirements of an existing operator."""

from gpuyard.render.gpu_operator.configurations import mig_parted_config, plugin_config
from gpuyard.render.gpu_operator.objects import gpu_operator_objects

__all__ = ["gpu_operator_objects", "mig_parted_config", "plugin_config"]
