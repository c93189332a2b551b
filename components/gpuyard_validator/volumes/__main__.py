"""The volume probe, which a pod runs on its volumes: `python -m gpuyard_validator.volumes`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from gpuyard_validator.host import Host
from gpuyard_validator.probe import probe_parser, run_probe
from gpuyard_validator.results import Report
from gpuyard_validator.values import decode, parse_json
from gpuyard_validator.volumes.checks import VOLUMES, VolumeObservation, judge, read_expectations
from gpuyard_validator.volumes.measure import measure_volumes


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0 passed, 1 failed, 3 cannot run."""
    expect = Path("/expectations/volumes.json")
    parser = probe_parser("gpuyard_validator.volumes", __doc__, VOLUMES, expect)
    parser.add_argument("--seen", type=Path, help="evaluate the record of another pod")
    options = parser.parse_args(arguments)
    return run_probe(options, VOLUMES, lambda: _report(options))


def _report(options: argparse.Namespace) -> Report:
    expected = read_expectations(options.expect.read_text(encoding="utf-8"))
    if options.seen is not None:
        recorded = parse_json(options.seen.read_text(encoding="utf-8"), "seen")
        return judge(expected, decode(VolumeObservation, recorded))
    return judge(expected, measure_volumes(expected, Host().node()))


if __name__ == "__main__":
    sys.exit(main())
