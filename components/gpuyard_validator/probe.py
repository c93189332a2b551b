"""Common frame of the programs, each run by a pod: options, output, exit code."""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from gpuyard_validator import report as reports
from gpuyard_validator.checks import Check
from gpuyard_validator.results import Code, Report
from gpuyard_validator.snapshot import CannotRead
from gpuyard_validator.values import Malformed


def probe_parser(
    name: str, doc: str | None, checks: Mapping[str, Check], expect: Path | None = None
) -> argparse.ArgumentParser:
    """Options of all programs; `expect` is the path of the expectations in a pod."""
    parser = argparse.ArgumentParser(prog=name, description=doc)
    add = parser.add_argument
    add("--expect", type=Path, default=expect, help="the expectations, as JSON from the plan")
    add("--termination-log", type=Path, help="write the digest as the pod's termination message")
    add("--explain", choices=checks, metavar="CHECK", help="describe one check")
    return parser


def run_probe(
    options: argparse.Namespace,
    checks: Mapping[str, Check],
    evaluate: Callable[[], Report | None],
    after: Callable[[Report], None] = lambda _: None,
) -> int:
    """Returns 0 passed, 1 failed, 2 no check applied, 3 cannot run.

    The complete report goes to stdout, the digest to stderr. Without a report the program has nothing to
    evaluate, and has passed.
    """
    if options.explain:
        sys.stdout.write(_explained(checks[options.explain]))
        return Code.PASSED
    try:
        report = evaluate()
        if report is None:
            return Code.PASSED
        sys.stdout.write(reports.as_json(report))
        sys.stderr.write(reports.report_summary(report))
        _write(options.termination_log, reports.termination_message(report))
        after(report)
    except (OSError, ValueError, Malformed, CannotRead) as problem:
        message = f"cannot run: {problem}\n"
        sys.stderr.write(message)
        _write(options.termination_log, message[: reports.DIGEST_BYTES // 4])
        return Code.CANNOT_RUN
    return report.code


def _explained(check: Check) -> str:
    must = (
        "a skipped check counts as failed"
        if check.is_required
        else "a skipped check is reported and does not fail"
    )
    return (
        f"{check.id} ({check.group}, {check.scope})\n  fails when {check.description}\n"
        f"  then: {check.remediation}\n  required: {must}\n"
    )


def _write(path: Path | None, text: str) -> None:
    if path is not None:
        path.write_text(text, encoding="utf-8")
