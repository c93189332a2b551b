"""The command line: what is expected, who is read, and where the report goes."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from gpuyard_validator import report as reports
from gpuyard_validator.checks import CHECKS
from gpuyard_validator.expectations import read_expectations, schema
from gpuyard_validator.host import Host
from gpuyard_validator.nvml import NvmlReader
from gpuyard_validator.results import Code, Report
from gpuyard_validator.run import validate
from gpuyard_validator.snapshot import CannotRead, Reader, SnapshotReader, recorded
from gpuyard_validator.together import job_of, wait_for_others
from gpuyard_validator.values import Malformed


def main(arguments: Sequence[str] | None = None) -> int:
    """One look. 0 passed, 1 failed, 2 nothing applied, 3 it cannot run."""
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        return _do(given)
    except (OSError, UnicodeError, Malformed, CannotRead) as problem:
        said = f"cannot run: {problem}\n"
        sys.stderr.write(said)
        if given.termination_log:
            _write(given.termination_log, said[: reports.DIGEST_BYTES // 4])
        return Code.CANNOT_RUN


def _do(given: argparse.Namespace) -> int:
    if given.schema:
        sys.stdout.write(json.dumps(schema(), indent=2) + "\n")
        return Code.PASSED
    if given.explain:
        sys.stdout.write(explained(given.explain))
        return Code.PASSED
    reader = _reader(given.snapshot, given.root)
    if given.record:
        _write(given.record, recorded(reader.read()))
        return Code.PASSED
    if given.expect is None:
        raise CannotRead("give --expect FILE")
    expected = read_expectations(given.expect.read_text(encoding="utf-8"))
    names = [name for name in given.check or CHECKS if name not in given.leave_out]
    chosen = {name: CHECKS[name] for name in names}
    report = validate(expected, reader.read(), chosen)
    _tell(report, given)
    if report.code is Code.PASSED and given.together:
        wait_for_others(job_of(given.together))
    return report.code


def _reader(snapshot: Path | None, root: Path) -> Reader:
    if snapshot is None:
        return NvmlReader(Host(root))
    return SnapshotReader(snapshot.read_text(encoding="utf-8"))


def _tell(report: Report, given: argparse.Namespace) -> None:
    """The digest for people to stderr, the whole for programs to stdout, the rest where it was asked for."""
    said = reports.digest(report)
    sys.stdout.write(reports.as_json(report))
    sys.stderr.write(said)
    if given.termination_log:
        _write(given.termination_log, said)
    if given.junit:
        _write(given.junit, reports.as_junit(report))
    if given.prometheus:
        _write(given.prometheus, reports.as_prometheus(report, time.time()))


def explained(name: str) -> str:
    """One check in words."""
    check = CHECKS[name]
    scope = "the node" if check.node else "each GPU"
    must = "not run counts as failed" if check.must else "not run is told, and does not fail"
    return (
        f"{check.id} ({check.group}, {scope})\n  fails when {check.says}\n"
        f"  then: {check.do}\n  required: {must}\n"
    )


def _write(path: Path, text: str) -> None:
    """All or nothing, so that who reads it meanwhile sees the old one; a mounted file is written in place."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text, encoding="utf-8")
    try:
        beside.replace(path)
    except OSError:
        beside.unlink()
        path.write_text(text, encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gpuyard_validator", description=__doc__)
    add = parser.add_argument
    add("--expect", type=Path, help="what the node must be, as JSON that the plan has written")
    add("--snapshot", type=Path, help="a recorded machine instead of this one")
    add("--record", type=Path, help="write what this machine is, and judge nothing")
    add("--root", type=Path, default=Path("/"), help="where the host's /proc and /sys are")
    add(
        "--check",
        action="append",
        choices=CHECKS,
        metavar="CHECK",
        help="this one alone; again for more",
    )
    add(
        "--leave-out",
        action="append",
        default=[],
        choices=CHECKS,
        metavar="CHECK",
        help="not this one; again for more",
    )
    add(
        "--together",
        metavar="JOB",
        help="having passed, stay until all pods of this Job run or have ended",
    )
    add("--termination-log", type=Path, help="the digest, as the pod's last words")
    add("--junit", type=Path, help="the results as a JUnit file")
    add("--prometheus", type=Path, help="the results for the node exporter's textfile collector")
    add("--schema", action="store_true", help="the JSON Schema of expectations")
    add("--explain", choices=CHECKS, metavar="CHECK", help="one check in words")
    return parser
