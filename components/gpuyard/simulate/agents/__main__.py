"""`python -m gpuyard.simulate.agents --kubeconfig FILE`: the fake node agents as one process."""

import argparse
import sys
from pathlib import Path

from gpuyard.errors import GpuYardError
from gpuyard.simulate.agents.loop import Agents
from gpuyard.simulate.api import connect


def main() -> int:
    """Run until ended; returns the exit code when it cannot start."""
    parser = argparse.ArgumentParser(prog="gpuyard.simulate.agents", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True, help="of the simulated cluster")
    options = parser.parse_args()
    try:
        Agents(connect(options.kubeconfig)).run()
    except GpuYardError as problem:
        sys.stderr.write(f"{problem}\n")
        return problem.exit_code
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
