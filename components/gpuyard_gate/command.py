"""The command line."""

from collections.abc import Sequence

from gpuyard_gate.loop import run
from gpuyard_gate.reconcile import read_settings, reconcile


def main(arguments: Sequence[str] | None = None) -> int:
    """Reconciles every few seconds."""
    return run("gpuyard_gate", read_settings, reconcile, arguments)
