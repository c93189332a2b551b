"""NVIDIA's GPU Operator: its chart and values, what its agents read, and what another's must be told."""

from gpuyard.render.gpu_operator.configurations import mig_parted_config, plugin_config
from gpuyard.render.gpu_operator.objects import gpu_operator_objects

__all__ = ["gpu_operator_objects", "mig_parted_config", "plugin_config"]
