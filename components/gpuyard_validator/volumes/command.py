"""The command line: volumes are read by a pod that has them."""

import argparse
import sys
from collections.abc import Sequence

from gpuyard_validator.host import Host
from gpuyard_validator.results import Code, Report
from gpuyard_validator.spoken import explained, parser_of, spoken
from gpuyard_validator.volumes.checks import VOLUMES, judge
from gpuyard_validator.volumes.measure import find_out
from gpuyard_validator.volumes.record import Seen, Wanted, read_seen, read_wanted


def main(arguments: Sequence[str] | None = None) -> int:
    """0 passed, 1 failed, 3 it cannot run."""
    given = parser_of(__doc__, "volumes", "/expectations/volumes.json", VOLUMES).parse_args(
        arguments
    )
    if given.explain:
        sys.stdout.write(explained(VOLUMES, given.explain, "storage, one node of a pool"))
        return Code.PASSED
    return spoken(lambda: _judged(given), given.termination_log)


def _judged(given: argparse.Namespace) -> Report:
    wanted = read_wanted(given.expect.read_text(encoding="utf-8"))
    return judge(wanted, _seen(given, wanted))


def _seen(given: argparse.Namespace, wanted: Wanted) -> Seen:
    """By this pod, or by another that wrote it down."""
    if given.seen is not None:
        return read_seen(given.seen.read_text(encoding="utf-8"))
    return find_out(wanted, Host().node())
