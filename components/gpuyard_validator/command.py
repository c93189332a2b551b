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
from gpuyard_validator.load.parent import WORKER, LoadRun, Watch, combine_loads, run_load
from gpuyard_validator.load.record import ALONE, Load, LoadPlan, Task
from gpuyard_validator.nccl.agent import NodeAssignment, run_agent
from gpuyard_validator.nccl.arithmetic import GIB, Operation
from gpuyard_validator.nccl.coordinator import CollectiveRun
from gpuyard_validator.nccl.record import Collectives, Work
from gpuyard_validator.nvml import NvmlReader, NvmlWatch
from gpuyard_validator.probe import probe_parser, run_probe
from gpuyard_validator.rendezvous import job_of, wait_for_others
from gpuyard_validator.results import Code, Report
from gpuyard_validator.run import validate
from gpuyard_validator.snapshot import CannotRead, Snapshot, read_snapshot, snapshot_json
from gpuyard_validator.values import NOT_QUERIED, Answer, Missing

ALONE_SHARE, SOAK_SHARE, END_SHARE = 0.2, 0.3, 0.05
"""Shares of the run time: load on each GPU alone, the training steps, and what may follow them."""
GPU_SECONDS = 120.0
"""Maximum for one GPU alone: contexts on all GPUs of a node, loading a library of 0.5 GB, and the load."""
TASK_SECONDS = 1.0
NO_BF16 = ("Volta", "Turing")


def collectives_seconds(profile: str, seconds: float) -> float:
    """The collectives' share of the run time; every node computes the same value."""
    if profile == SOAK:
        return seconds * (1 - ALONE_SHARE - SOAK_SHARE - END_SHARE)
    return seconds * (1 - ALONE_SHARE)


def measure_gpu_loads(
    expected: Expectations,
    machine: Snapshot,
    watch: Watch,
    seconds: float,
    command: Sequence[str] = WORKER,
) -> Snapshot:
    """The machine with the results of its GPUs. Partitioned, shared and unresponsive GPUs get no load."""
    if expected.sharing != "none":
        return machine
    indexes = [gpu.index for gpu in machine.gpus if gpu.answers is True]
    numbers = "fp16" if expected.architecture in NO_BF16 else "bf16"
    todo = LoadPlan(tasks=tuple(ALONE), numbers=numbers, seconds=TASK_SECONDS)
    results: dict[int, Answer[Load]] = {}
    until = time.monotonic() + seconds * ALONE_SHARE
    for index in indexes:
        most = min(GPU_SECONDS, until - time.monotonic())
        if most > 0:
            shift = LoadRun(gpus=(index,), todo=todo, timeout_seconds=most)
            results |= run_load(shift, watch, command)
    well = tuple(n for n in indexes if not isinstance(results.get(n, NOT_QUERIED), Missing))
    if expected.profile == SOAK and well:
        long = replace(todo, tasks=(Task.STEP,), seconds=seconds * SOAK_SHARE)
        shift = LoadRun(gpus=well, todo=long, timeout_seconds=seconds * (SOAK_SHARE + END_SHARE))
        after = run_load(shift, watch, command)
        results |= {n: combine_loads(results[n], after[n]) for n in well}
    gpus = tuple(replace(gpu, load=results.get(gpu.index, NOT_QUERIED)) for gpu in machine.gpus)
    return replace(machine, gpus=gpus)


TOKEN_BYTES = 16
JOIN_SHARE, STEP_SHARE = 0.4, 0.2
"""Shares of the time that is left after the load on each node: until all nodes join, and for each step."""
ROUNDS, SOAK_ROUNDS, LARGE_GIB = 20, 2000, 80


def main(arguments: Sequence[str] | None = None) -> int:
    """Validate once. Returns 0 passed, 1 failed, 2 no check applied, 3 cannot run."""
    options = _parser().parse_args(arguments)
    return run_probe(
        options, CHECKS, lambda: _evaluate(options), lambda report: _finish(report, options)
    )


def _evaluate(options: argparse.Namespace) -> Report | None:
    """The report; none where the options print or record something instead."""
    if options.schema or options.inventory_schema:
        document = schema() if options.schema else inventory_schema()
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
        return None
    if options.record:
        _write(options.record, snapshot_json(_read_machine(options)))
        return None
    if options.inventory:
        nodes = options.nodes.read_text(encoding="utf-8") if options.nodes else None
        _write(options.inventory, inventory_document(_read_machine(options), nodes))
        return None
    if options.expect is None:
        raise CannotRead("--expect FILE is required")
    expected = read_expectations(options.expect.read_text(encoding="utf-8"))
    if options.profile:
        expected = validated(replace(expected, profile=options.profile))
    machine = _read_machine(options)
    if expected.profile != QUICK and options.snapshot is None:
        machine = measure_gpu_loads(expected, machine, NvmlWatch(), options.deadline)
    if options.first and expected.profile != QUICK:
        machine = replace(machine, collectives=run_collectives(options, expected, machine.node))
    names = [name for name in options.check or CHECKS if name not in options.leave_out]
    return validate(expected, machine, {name: CHECKS[name] for name in names}, _today())


def _finish(report: Report, options: argparse.Namespace) -> None:
    """Write the other formats; after passing, wait for the other pods."""
    if options.junit:
        _write(options.junit, reports.as_junit(report))
    if options.prometheus:
        _write(options.prometheus, reports.as_prometheus(report, time.time()))
    if report.code is Code.PASSED and options.together:
        wait_for_others(job_of(options.together))


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


def _read_machine(options: argparse.Namespace) -> Snapshot:
    if options.snapshot is None:
        return NvmlReader(Host(options.root)).read()
    return read_snapshot(options.snapshot.read_text(encoding="utf-8"))


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
    parser = probe_parser("gpuyard_validator", __doc__, CHECKS)
    add = parser.add_argument
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
    return parser
