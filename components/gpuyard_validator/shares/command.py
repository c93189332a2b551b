"""The command line: one share is looked at by the pod that has it."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from gpuyard_validator import report as reports
from gpuyard_validator.host import Host
from gpuyard_validator.load.cuda import CudaCard
from gpuyard_validator.nvml import NvmlReader
from gpuyard_validator.results import Code
from gpuyard_validator.shares.checks import SHARES, judge
from gpuyard_validator.shares.measure import Means, find_out
from gpuyard_validator.shares.record import Seen, Wanted, read_seen, read_wanted
from gpuyard_validator.snapshot import CannotRead
from gpuyard_validator.together import job_of
from gpuyard_validator.values import Malformed


def main(arguments: Sequence[str] | None = None) -> int:
    """0 passed, 1 failed, 3 it cannot run."""
    given = _parser().parse_args(arguments)
    if given.explain:
        sys.stdout.write(explained(given.explain))
        return Code.PASSED
    try:
        wanted = read_wanted(given.expect.read_text(encoding="utf-8"))
        report = judge(wanted, _seen(given, wanted))
    except (OSError, UnicodeError, ValueError, Malformed, CannotRead) as problem:
        said = f"cannot run: {problem}\n"
        sys.stderr.write(said)
        _write(given.termination_log, said[: reports.DIGEST_BYTES // 4])
        return Code.CANNOT_RUN
    sys.stdout.write(reports.as_json(report))
    sys.stderr.write(reports.digest(report))
    _write(given.termination_log, reports.last_words(report))
    return report.code


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


def explained(name: str) -> str:
    """One check in words."""
    says, do = SHARES[name]
    return (
        f"{name} (sharing, each share)\n  fails when {says}\n  then: {do}\n"
        "  required: not run counts as failed\n"
    )


def _write(path: Path | None, text: str) -> None:
    if path is not None:
        path.write_text(text, encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gpuyard_validator.shares", description=__doc__)
    add = parser.add_argument
    add(
        "--expect", type=Path, default=Path("/expectations/share.json"), help="what a share must be"
    )
    add("--job", default="", help="the Job of which all pods run at once; none for one alone")
    add("--seconds", type=float, default=300.0, help="for so long it waits for the others")
    add("--seen", type=Path, help="what another pod has seen, to be judged here")
    add("--termination-log", type=Path, help="the digest, as the pod's last words")
    add("--explain", choices=SHARES, metavar="CHECK", help="one check in words")
    return parser
