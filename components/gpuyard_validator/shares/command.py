"""The command line: one share is looked at by the pod that has it."""

import argparse
from collections.abc import Sequence

from gpuyard_validator.host import Host
from gpuyard_validator.load.cuda import CudaCard
from gpuyard_validator.nvml import NvmlReader
from gpuyard_validator.shares.checks import SHARES, judge
from gpuyard_validator.shares.measure import Means, find_out
from gpuyard_validator.shares.record import Seen, Wanted, read_seen, read_wanted
from gpuyard_validator.spoken import Small
from gpuyard_validator.together import job_of


def main(arguments: Sequence[str] | None = None) -> int:
    """0 passed, 1 failed, 3 it cannot run."""
    program = Small(
        name="shares",
        doc=__doc__,
        expect="/expectations/share.json",
        checks=SHARES,
        where="sharing, each share",
        read_wanted=read_wanted,
        read_seen=read_seen,
        find_out=_find_out,
        judge=judge,
        options=_add_options,
    )
    return program.main(arguments)


def _add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--job", default="", help="the Job of which all pods run at once; none for one alone")
    add("--seconds", type=float, default=300.0, help="for so long it waits for the others")


def _find_out(given: argparse.Namespace, wanted: Wanted) -> Seen:
    means = Means(
        reader=NvmlReader(Host()),
        card=lambda: CudaCard(0),
        ask=job_of(given.job) if given.job else None,
        seconds=given.seconds,
    )
    return find_out(wanted, means)
