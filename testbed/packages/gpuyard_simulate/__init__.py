"""The simulated cluster: a real control plane, real Kueue, fake nodes and fake node agents."""

from gpuyard_simulate.cluster import (
    Outcome,
    PartStatus,
    Status,
    down,
    every_status,
    reset,
    status,
    up,
)

__all__ = ["Outcome", "PartStatus", "Status", "down", "every_status", "reset", "status", "up"]
