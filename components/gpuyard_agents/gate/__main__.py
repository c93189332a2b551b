"""`python -m gpuyard_agents.gate --settings FILE`: reconciles every few seconds."""

import sys
from collections.abc import Sequence

from gpuyard_agents.agent import run
from gpuyard_agents.gate.reconcile import Settings, reconcile


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    return run("gpuyard_agents.gate", Settings, reconcile, arguments)


if __name__ == "__main__":
    sys.exit(main())
