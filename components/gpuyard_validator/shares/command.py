"""The command line of the share probe, which a pod runs on its own share."""

import argparse
from collections.abc import Sequence

from gpuyard_validator.host import Host
from gpuyard_validator.load.cuda import CudaCard
from gpuyard_validator.nvml import NvmlReader
from gpuyard_validator.probe import ValidatorCommand
from gpuyard_validator.rendezvous import job_of
from gpuyard_validator.shares.checks import SHARES, judge
from gpuyard_validator.shares.measure import ProbeInputs, measure_share
from gpuyard_validator.shares.record import (
    ShareExpectations,
    ShareObservation,
    read_expectations,
    read_observation,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0 passed, 1 failed, 3 cannot run."""
    program = ValidatorCommand(
        name="shares",
        doc=__doc__,
        expect="/expectations/share.json",
        checks=SHARES,
        where="sharing, each share",
        read_wanted=read_expectations,
        read_seen=read_observation,
        measure=_find_out,
        judge=judge,
        options=_add_options,
    )
    return program.main(arguments)


def _add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--job", default="", help="name of the Job whose pods run at once; omit it for a single pod"
    )
    add("--seconds", type=float, default=300.0, help="seconds to wait for the other pods")


def _find_out(options: argparse.Namespace, expected: ShareExpectations) -> ShareObservation:
    means = ProbeInputs(
        reader=NvmlReader(Host()),
        card=lambda: CudaCard(0),
        ask=job_of(options.job) if options.job else None,
        seconds=options.seconds,
    )
    return measure_share(expected, means)
