"""`python -m gpuyard_simulate.agents --kubeconfig FILE`: the fake node agents as one process."""

import argparse
import sys
from functools import partial
from pathlib import Path

from gpuyard_core.errors import GpuYardError
from gpuyard_simulate.agents.kueue_restart import KueueRestart
from gpuyard_simulate.agents.loop import Agents, say
from gpuyard_simulate.api import connect
from gpuyard_simulate.claims.driver import FakeDraDriver
from gpuyard_simulate.tools import Tools


def main() -> int:
    """Run until stopped; returns the exit code when it cannot start."""
    parser = argparse.ArgumentParser(prog="gpuyard_simulate.agents", description=__doc__)
    parser.add_argument(
        "--kubeconfig", type=Path, required=True, help="kubeconfig of the simulated cluster"
    )
    parser.add_argument("--cluster", help="name of the cluster, for restarts of Kueue")
    parser.add_argument("--tools", type=Path, help="folder of the programs")
    options = parser.parse_args()
    try:
        api = connect(options.kubeconfig)
        if options.cluster:
            renew = partial(_renew, options.cluster, options.tools)
            KueueRestart(api, renew, say).start()
        FakeDraDriver(api, say).start()
        Agents(api).run()
    except GpuYardError as problem:
        sys.stderr.write(f"{problem}\n")
        return problem.exit_code
    except KeyboardInterrupt:
        pass
    return 0


def _renew(name: str, tools: Path) -> bool:
    # imported on demand: it doubles the size of the process
    from gpuyard_simulate.cluster import renew_kueue

    return renew_kueue(name, Tools(tools))


if __name__ == "__main__":
    sys.exit(main())
