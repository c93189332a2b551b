"""Recovery after an interrupted deployment, on any backend: see `recover`."""

from gpuyard.recovery.creations import Creation
from gpuyard.recovery.recover import RecoveryResult, recover
from gpuyard.recovery.stack import PulumiStack

__all__ = ["Creation", "PulumiStack", "RecoveryResult", "recover"]
