"""Common frame of the probes, which a pod runs on its own devices: command line, output, exit code."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from gpuyard_validator import report as reports
from gpuyard_validator.results import Code, Report
from gpuyard_validator.snapshot import CannotRead
from gpuyard_validator.values import Malformed

Wanted = TypeVar("Wanted")
Seen = TypeVar("Seen")


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatorCommand(Generic[Wanted, Seen]):
    """One probe: its options, its measurement, and its checks."""

    name: str
    doc: str | None
    expect: str
    """Path of its document in a pod."""
    checks: Mapping[str, tuple[str, str]]
    """By id: when it fails, and what to do."""
    where: str
    """Where the checks run."""
    read_wanted: Callable[[str], Wanted]
    read_seen: Callable[[str], Seen]
    measure: Callable[[argparse.Namespace, Wanted], Seen]
    judge: Callable[[Wanted, Seen], Report]
    options: Callable[[argparse.ArgumentParser], object] = lambda _: None
    """Adds the probe's own options."""

    def main(self, arguments: Sequence[str] | None) -> int:
        """Returns 0 passed, 1 failed, 3 cannot run."""
        parser = self._parser()
        self.options(parser)
        options = parser.parse_args(arguments)
        if options.explain:
            sys.stdout.write(self._explained(options.explain))
            return Code.PASSED
        return run_probe(lambda: self._evaluate(options), options.termination_log)

    def _evaluate(self, given: argparse.Namespace) -> Report:
        """Measured by this pod, or read from another pod's record."""
        wanted = self.read_wanted(given.expect.read_text(encoding="utf-8"))
        if given.seen is not None:
            return self.judge(wanted, self.read_seen(given.seen.read_text(encoding="utf-8")))
        return self.judge(wanted, self.measure(given, wanted))

    def _explained(self, name: str) -> str:
        """The description of one check."""
        cause, do = self.checks[name]
        return (
            f"{name} ({self.where})\n  fails when {cause}\n  then: {do}\n"
            "  required: a skipped check counts as failed\n"
        )

    def _parser(self) -> argparse.ArgumentParser:
        """Options of all probes."""
        program = f"gpuyard_validator.{self.name}"
        parser = argparse.ArgumentParser(prog=program, description=self.doc)
        add, expect = parser.add_argument, Path(self.expect)
        add("--expect", type=Path, default=expect, help="the expectations, as JSON")
        add("--seen", type=Path, help="evaluate the record of another pod")
        add(
            "--termination-log", type=Path, help="write the digest as the pod's termination message"
        )
        add("--explain", choices=self.checks, metavar="CHECK", help="describe one check")
        return parser


def run_probe(judged: Callable[[], Report], log: Path | None) -> int:
    """Returns 0 passed, 1 failed, 3 cannot run. `log`: path of the pod's termination message."""
    try:
        report = judged()
    except (OSError, UnicodeError, ValueError, Malformed, CannotRead) as problem:
        message = f"cannot run: {problem}\n"
        sys.stderr.write(message)
        _write(log, message[: reports.DIGEST_BYTES // 4])
        return Code.CANNOT_RUN
    sys.stdout.write(reports.as_json(report))
    sys.stderr.write(reports.report_summary(report))
    _write(log, reports.termination_message(report))
    return report.code


def _write(path: Path | None, text: str) -> None:
    if path is not None:
        path.write_text(text, encoding="utf-8")
