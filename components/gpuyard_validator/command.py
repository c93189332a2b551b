"""The command line: what is expected, who is read, and where the report goes."""

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
from gpuyard_validator.background import at_work, left
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
from gpuyard_validator.snapshot import CannotRead, Reader, SnapshotReader, recorded
from gpuyard_validator.values import Malformed

TOKEN_BYTES = 16
JOIN_SHARE, STEP_SHARE = 0.4, 0.2
"""Of what is left after work on each node: until all nodes are there, and for each step."""
ROUNDS, SOAK_ROUNDS, LARGE_GIB = 20, 2000, 80


def main(arguments: Sequence[str] | None = None) -> int:
    """One look. 0 passed, 1 failed, 2 nothing applied, 3 it cannot run."""
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
        _write(options.record, recorded(reader.read()))
        return Code.PASSED
    if options.inventory:
        nodes = options.nodes.read_text(encoding="utf-8") if options.nodes else None
        _write(options.inventory, inventory_document(reader.read(), nodes))
        return Code.PASSED
    if options.expect is None:
        raise CannotRead("give --expect FILE")
    expected = read_expectations(options.expect.read_text(encoding="utf-8"))
    if options.profile:
        expected = validated(replace(expected, profile=options.profile))
    machine = reader.read()
    if expected.profile != QUICK and options.snapshot is None:
        machine = at_work(expected, machine, NvmlWatch(), options.deadline)
    if options.first and expected.profile != QUICK:
        machine = replace(machine, collectives=measured(options, expected, machine.node))
    names = [name for name in options.check or CHECKS if name not in options.leave_out]
    chosen = {name: CHECKS[name] for name in names}
    report = validate(expected, machine, chosen, _today())
    _report(report, options)
    if report.code is Code.PASSED and options.together:
        wait_for_others(job_of(options.together))
    return report.code


def _text(options: argparse.Namespace) -> str:
    """What is asked of the program itself, and of no machine."""
    if options.schema or options.inventory_schema:
        return json.dumps(schema() if options.schema else inventory_schema(), indent=2) + "\n"
    return explained(options.explain) if options.explain else ""


def measured(options: argparse.Namespace, expected: Expectations, node: str) -> Collectives:
    """What collectives come to, together with the other nodes.

    Raises:
        CannotRead: the run cannot be begun.
    """
    token = options.token_file.read_bytes().strip() if options.token_file else b""
    if len(token) < TOKEN_BYTES:
        raise CannotRead(
            f"give --token-file FILE with at least {TOKEN_BYTES} bytes that strangers lack"
        )
    host, _, port = options.first.rpartition(":")
    together = expected.collectives
    if (
        not port.isdecimal()
        or not host
        or together is None
        or not 0 <= options.index < together.nodes
    ):
        raise CannotRead("give --first HOST:PORT, and --index N below the number of nodes")
    seconds = left(expected.profile, options.deadline)
    run = CollectiveRun(
        nodes=together.nodes,
        gpus=expected.gpus,
        work=work_of(expected),
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


def work_of(expected: Expectations) -> Work:
    """Messages as large as floors are for, where two of them fit; in the profile soak again and again."""
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
    """The digest for people to stderr, the whole for programs to stdout, the rest where it was asked for."""
    digest = reports.digest(report)
    sys.stdout.write(reports.as_json(report))
    sys.stderr.write(digest)
    if options.termination_log:
        _write(options.termination_log, reports.termination_message(report))
    if options.junit:
        _write(options.junit, reports.as_junit(report))
    if options.prometheus:
        _write(options.prometheus, reports.as_prometheus(report, time.time()))


def explained(name: str) -> str:
    """One check in words."""
    check = CHECKS[name]
    scope = "the node" if check.node else "each GPU"
    must = "not run counts as failed" if check.is_required else "not run is told, and does not fail"
    return (
        f"{check.id} ({check.group}, {scope})\n  fails when {check.description}\n"
        f"  then: {check.remediation}\n  required: {must}\n"
    )


def _write(path: Path, text: str) -> None:
    """All or nothing, so that who reads it meanwhile sees the old one; a mounted file is written in place."""
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
    add("--expect", type=Path, help="what the node must be, as JSON that the plan has written")
    add("--snapshot", type=Path, help="a recorded machine instead of this one")
    add("--record", type=Path, help="write what this machine is, and judge nothing")
    add("--inventory", type=Path, help="write what a platform is planned by, and judge nothing")
    add("--nodes", type=Path, help="what `kubectl get nodes -o json` wrote, for --inventory")
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
    add("--profile", choices=PROFILES, help="instead of the document's")
    add("--first", metavar="HOST:PORT", help="the first node, where all nodes of a run meet")
    add(
        "--index",
        type=int,
        default=int(os.environ.get("JOB_COMPLETION_INDEX") or 0),
        help="which of the nodes this is; else what an Indexed Job calls it",
    )
    add("--token-file", type=Path, help="what all nodes of a run know, and nobody else")
    add("--deadline", type=float, default=600.0, help="seconds for the whole run")
    add(
        "--inventory-schema", action="store_true", help="the JSON Schema of what --inventory writes"
    )
    add("--schema", action="store_true", help="the JSON Schema of expectations")
    add("--explain", choices=CHECKS, metavar="CHECK", help="one check in words")
    return parser
