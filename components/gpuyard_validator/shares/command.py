"""The command line: one share is looked at by the pod that has it."""

import argparse
import sys
from collections.abc import Sequence

from gpuyard_validator.host import Host
from gpuyard_validator.load.cuda import CudaCard
from gpuyard_validator.nvml import NvmlReader
from gpuyard_validator.results import Code, Report
from gpuyard_validator.shares.checks import SHARES, judge
from gpuyard_validator.shares.measure import Means, find_out
from gpuyard_validator.shares.record import Seen, Wanted, read_seen, read_wanted
from gpuyard_validator.spoken import explained, parser_of, spoken
from gpuyard_validator.together import job_of


def main(arguments: Sequence[str] | None = None) -> int:
    """0 passed, 1 failed, 3 it cannot run."""
    parser = parser_of(__doc__, "shares", "/expectations/share.json", SHARES)
    add = parser.add_argument
    add("--job", default="", help="the Job of which all pods run at once; none for one alone")
    add("--seconds", type=float, default=300.0, help="for so long it waits for the others")
    given = parser.parse_args(arguments)
    if given.explain:
        sys.stdout.write(explained(SHARES, given.explain, "sharing, each share"))
        return Code.PASSED
    return spoken(lambda: _judged(given), given.termination_log)


def _judged(given: argparse.Namespace) -> Report:
    wanted = read_wanted(given.expect.read_text(encoding="utf-8"))
    return judge(wanted, _seen(given, wanted))


def _seen(given: argparse.Namespace, wanted: Wanted) -> Seen:
    """By this pod, or by another that wrote it down."""
    if given.seen is not None:
        return read_seen(given.seen.read_text(encoding="utf-8"))
    means = Means(
        reader=NvmlReader(Host()),
        card=lambda: CudaCard(0),
        ask=job_of(given.job) if given.job else None,
        seconds=given.seconds,
    )
    return find_out(wanted, means)
