"""The command line: expectations, source of the snapshot, output of the report."""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from gpuyard_validator import report as reports
from gpuyard_validator.background import collectives_seconds, measure_gpu_loads
from gpuyard_validator.checks import CHECKS
from gpuyard_validator.expectations import (
    PROFILES,
    QUICK,
    SOAK,
    Expectations,
    read_expectations,
    schema,
    validated,
)
from gpuyard_validator.host import Host
from gpuyard_validator.inventory import inventory_document
from gpuyard_validator.inventory import schema as inventory_schema
from gpuyard_validator.nccl.agent import NodeAssignment, run_agent
from gpuyard_validator.nccl.arithmetic import GIB, Operation
from gpuyard_validator.nccl.coordinator import CollectiveRun
from gpuyard_validator.nccl.record import Collectives, Work
from gpuyard_validator.nvml import NvmlReader, NvmlWatch
from gpuyard_validator.rendezvous import job_of, wait_for_others
from gpuyard_validator.results import Code, Report
from gpuyard_validator.run import validate
from gpuyard_validator.snapshot import CannotRead, Reader, SnapshotReader, snapshot_json
from gpuyard_validator.values import Malformed

TOKEN_BYTES = 16
JOIN_SHARE, STEP_SHARE = 0.4, 0.2
"""Shares of the time that is left after the load on each node: until all nodes join, and for each step."""
ROUNDS, SOAK_ROUNDS, LARGE_GIB = 20, 2000, 80


def main(arguments: Sequence[str] | None = None) -> int:
    """Validate once. Returns 0 passed, 1 failed, 2 no check applied, 3 cannot run."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        return _do(options)
    except (OSError, UnicodeError, Malformed, CannotRead) as problem:
        message = f"cannot run: {problem}\n"
        sys.stderr.write(message)
        if options.termination_log:
            _write(options.termination_log, message[: reports.DIGEST_BYTES // 4])
        return Code.CANNOT_RUN


def _do(options: argparse.Namespace) -> int:
    if words := _text(options):
        sys.stdout.write(words)
        return Code.PASSED
    reader = _reader(options.snapshot, options.root)
    if options.record:
        _write(options.record, snapshot_json(reader.read()))
        return Code.PASSED
    if options.inventory:
        nodes = options.nodes.read_text(encoding="utf-8") if options.nodes else None
        _write(options.inventory, inventory_document(reader.read(), nodes))
        return Code.PASSED
    if options.expect is None:
        raise CannotRead("--expect FILE is required")
    expected = read_expectations(options.expect.read_text(encoding="utf-8"))
    if options.profile:
        expected = validated(replace(expected, profile=options.profile))
    machine = reader.read()
    if expected.profile != QUICK and options.snapshot is None:
        machine = measure_gpu_loads(expected, machine, NvmlWatch(), options.deadline)
    if options.first and expected.profile != QUICK:
        machine = replace(machine, collectives=run_collectives(options, expected, machine.node))
    names = [name for name in options.check or CHECKS if name not in options.leave_out]
    chosen = {name: CHECKS[name] for name in names}
    report = validate(expected, machine, chosen, _today())
    _report(report, options)
    if report.code is Code.PASSED and options.together:
        wait_for_others(job_of(options.together))
    return report.code


def _text(options: argparse.Namespace) -> str:
    """Options that print information about the program and need no machine."""
    if options.schema or options.inventory_schema:
        return json.dumps(schema() if options.schema else inventory_schema(), indent=2) + "\n"
    return explained(options.explain) if options.explain else ""


def run_collectives(options: argparse.Namespace, expected: Expectations, node: str) -> Collectives:
    """The result of the collectives with the other nodes.

    Raises:
        CannotRead: the run cannot start.
    """
    token = options.token_file.read_bytes().strip() if options.token_file else b""
    if len(token) < TOKEN_BYTES:
        raise CannotRead(f"--token-file FILE is required, with at least {TOKEN_BYTES} secret bytes")
    host, _, port = options.first.rpartition(":")
    together = expected.collectives
    if (
        not port.isdecimal()
        or not host
        or together is None
        or not 0 <= options.index < together.nodes
    ):
        raise CannotRead("--first HOST:PORT is required, and --index N below the number of nodes")
    seconds = collectives_seconds(expected.profile, options.deadline)
    run = CollectiveRun(
        nodes=together.nodes,
        gpus=expected.gpus,
        work=collective_work(expected),
        token=token,
        on=_today(),
        join_seconds=seconds * JOIN_SHARE,
        step_seconds=seconds * STEP_SHARE,
    )
    return run_agent(
        NodeAssignment(
            run=run,
            index=options.index,
            node=node,
            host=host.strip("[]"),
            port=int(port),
            seconds=seconds,
        )
    )


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def collective_work(expected: Expectations) -> Work:
    """Messages of the sizes that have thresholds, where two of them fit into memory; repeated in profile soak."""
    large = expected.memory_gib >= LARGE_GIB
    return Work(
        operations=tuple(each.value for each in Operation),
        size=(8 if large else 1) * GIB,
        rounds=SOAK_ROUNDS if expected.profile == SOAK else ROUNDS,
        halving_size=GIB // 4,
    )


def _reader(snapshot: Path | None, root: Path) -> Reader:
    if snapshot is None:
        return NvmlReader(Host(root))
    return SnapshotReader(snapshot.read_text(encoding="utf-8"))


def _report(report: Report, options: argparse.Namespace) -> None:
    """The digest to stderr, the complete report to stdout, other formats to the given files."""
    digest = reports.report_summary(report)
    sys.stdout.write(reports.as_json(report))
    sys.stderr.write(digest)
    if options.termination_log:
        _write(options.termination_log, reports.termination_message(report))
    if options.junit:
        _write(options.junit, reports.as_junit(report))
    if options.prometheus:
        _write(options.prometheus, reports.as_prometheus(report, time.time()))


def explained(name: str) -> str:
    """The description of one check."""
    check = CHECKS[name]
    scope = "the node" if check.node else "each GPU"
    must = (
        "a skipped check counts as failed"
        if check.is_required
        else "a skipped check is reported and does not fail"
    )
    return (
        f"{check.id} ({check.group}, {scope})\n  fails when {check.description}\n"
        f"  then: {check.remediation}\n  required: {must}\n"
    )


def _write(path: Path, text: str) -> None:
    """Write all or nothing, so that a reader never sees half a file; a mounted file is written in place."""
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(text, encoding="utf-8")
    try:
        temporary.replace(path)
    except OSError:
        temporary.unlink()
        path.write_text(text, encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gpuyard_validator", description=__doc__)
    add = parser.add_argument
    add("--expect", type=Path, help="what the node must be, as JSON from the plan")
    add("--snapshot", type=Path, help="read a recorded machine instead of this one")
    add("--record", type=Path, help="write a snapshot of this machine and evaluate nothing")
    add(
        "--inventory",
        type=Path,
        help="write the machine inventory that a stack file takes, and evaluate nothing",
    )
    add("--nodes", type=Path, help="output of `kubectl get nodes -o json`, for --inventory")
    add("--root", type=Path, default=Path("/"), help="where the host's /proc and /sys are mounted")
    add(
        "--check",
        action="append",
        choices=CHECKS,
        metavar="CHECK",
        help="run only this check; repeatable",
    )
    add(
        "--leave-out",
        action="append",
        default=[],
        choices=CHECKS,
        metavar="CHECK",
        help="skip this check; repeatable",
    )
    add(
        "--together",
        metavar="JOB",
        help="after passing, stay until all pods of this Job run or have ended",
    )
    add("--termination-log", type=Path, help="write the digest as the pod's termination message")
    add("--junit", type=Path, help="write the results as a JUnit file")
    add(
        "--prometheus",
        type=Path,
        help="write the results for the node exporter's textfile collector",
    )
    add("--profile", choices=PROFILES, help="instead of the document's")
    add("--first", metavar="HOST:PORT", help="address of the first node, which coordinates the run")
    add(
        "--index",
        type=int,
        default=int(os.environ.get("JOB_COMPLETION_INDEX") or 0),
        help="index of this node; by default the completion index of an Indexed Job",
    )
    add("--token-file", type=Path, help="secret shared by all nodes of the run")
    add("--deadline", type=float, default=600.0, help="time limit of the whole run in seconds")
    add(
        "--inventory-schema",
        action="store_true",
        help="print the JSON Schema of the --inventory output",
    )
    add("--schema", action="store_true", help="print the JSON Schema of expectations")
    add("--explain", choices=CHECKS, metavar="CHECK", help="describe one check")
    return parser
