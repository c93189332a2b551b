"""Serve the metrics of a simulated cluster: `python -m gpuyard_simulate.metrics --kubeconfig FILE --port PORT`."""

import argparse
import signal
import sys
from pathlib import Path

from gpuyard_simulate.api import connect
from gpuyard_simulate.metrics.cluster import reader
from gpuyard_simulate.metrics.server import Exporters, serving


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="gpuyard_simulate.metrics")
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument(
        "--counters", metavar="NAMESPACE/NAME/KEY", help="the ConfigMap of the list of counters"
    )
    options = parser.parse_args()
    source = None
    if options.counters:
        namespace, name, key = options.counters.split("/")
        source = (namespace, name, key)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    with serving(Exporters(reader(connect(options.kubeconfig), source)), options.port) as address:
        sys.stdout.write(f"http://{address}\n")
        sys.stdout.flush()
        signal.sigwait({signal.SIGTERM, signal.SIGINT})


if __name__ == "__main__":
    main()
