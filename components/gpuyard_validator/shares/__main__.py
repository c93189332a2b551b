"""The share probe, which a pod runs on its own share: `python -m gpuyard_validator.shares`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from gpuyard_validator.host import Host
from gpuyard_validator.load.cuda import CudaCard
from gpuyard_validator.nvml import NvmlReader
from gpuyard_validator.probe import probe_parser, run_probe
from gpuyard_validator.rendezvous import job_of
from gpuyard_validator.results import Report
from gpuyard_validator.shares.checks import SHARES, ShareObservation, judge, read_expectations
from gpuyard_validator.shares.measure import ProbeInputs, measure_share
from gpuyard_validator.values import decode, parse_json


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0 passed, 1 failed, 3 cannot run."""
    expect = Path("/expectations/share.json")
    parser = probe_parser("gpuyard_validator.shares", __doc__, SHARES, expect)
    add = parser.add_argument
    add("--seen", type=Path, help="evaluate the record of another pod")
    add(
        "--job", default="", help="name of the Job whose pods run at once; omit it for a single pod"
    )
    add("--seconds", type=float, default=300.0, help="seconds to wait for the other pods")
    options = parser.parse_args(arguments)
    return run_probe(options, SHARES, lambda: _report(options))


def _report(options: argparse.Namespace) -> Report:
    expected = read_expectations(options.expect.read_text(encoding="utf-8"))
    if options.seen is not None:
        recorded = parse_json(options.seen.read_text(encoding="utf-8"), "seen")
        return judge(expected, decode(ShareObservation, recorded))
    means = ProbeInputs(
        machine=NvmlReader(Host()).read,
        card=lambda: CudaCard(0),
        ask=job_of(options.job) if options.job else None,
        seconds=options.seconds,
    )
    return judge(expected, measure_share(expected, means))


if __name__ == "__main__":
    sys.exit(main())
