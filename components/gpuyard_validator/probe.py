"""The small programs of the validator, which a pod runs on what it has: their command line, words and end."""

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
    """One of them: what it is told, how it finds out, and who judges."""

    name: str
    doc: str | None
    expect: str
    """Where its document lies in a pod."""
    checks: Mapping[str, tuple[str, str]]
    """By id: when it fails, and what to do then."""
    where: str
    """Where they are made, in words."""
    read_wanted: Callable[[str], Wanted]
    read_seen: Callable[[str], Seen]
    measure: Callable[[argparse.Namespace, Wanted], Seen]
    judge: Callable[[Wanted, Seen], Report]
    options: Callable[[argparse.ArgumentParser], object] = lambda _: None
    """Adds those that it alone has."""

    def main(self, arguments: Sequence[str] | None) -> int:
        """0 passed, 1 failed, 3 it cannot run."""
        parser = self._parser()
        self.options(parser)
        options = parser.parse_args(arguments)
        if options.explain:
            sys.stdout.write(self._explained(options.explain))
            return Code.PASSED
        return run_probe(lambda: self._evaluate(options), options.termination_log)

    def _evaluate(self, given: argparse.Namespace) -> Report:
        """By what this pod sees, or another has seen that wrote it down."""
        wanted = self.read_wanted(given.expect.read_text(encoding="utf-8"))
        if given.seen is not None:
            return self.judge(wanted, self.read_seen(given.seen.read_text(encoding="utf-8")))
        return self.judge(wanted, self.measure(given, wanted))

    def _explained(self, name: str) -> str:
        """One check in words."""
        cause, do = self.checks[name]
        return (
            f"{name} ({self.where})\n  fails when {cause}\n  then: {do}\n"
            "  required: not run counts as failed\n"
        )

    def _parser(self) -> argparse.ArgumentParser:
        """What all of them are given."""
        program = f"gpuyard_validator.{self.name}"
        parser = argparse.ArgumentParser(prog=program, description=self.doc)
        add, expect = parser.add_argument, Path(self.expect)
        add("--expect", type=Path, default=expect, help="what is held against what is seen")
        add("--seen", type=Path, help="what another pod has seen, to be judged here")
        add("--termination-log", type=Path, help="the digest, as the pod's last words")
        add("--explain", choices=self.checks, metavar="CHECK", help="one check in words")
        return parser


def run_probe(judged: Callable[[], Report], log: Path | None) -> int:
    """0 passed, 1 failed, 3 it cannot run. `log`: for the pod's last words."""
    try:
        report = judged()
    except (OSError, UnicodeError, ValueError, Malformed, CannotRead) as problem:
        message = f"cannot run: {problem}\n"
        sys.stderr.write(message)
        _write(log, message[: reports.DIGEST_BYTES // 4])
        return Code.CANNOT_RUN
    sys.stdout.write(reports.as_json(report))
    sys.stderr.write(reports.digest(report))
    _write(log, reports.termination_message(report))
    return report.code


def _write(path: Path | None, text: str) -> None:
    if path is not None:
        path.write_text(text, encoding="utf-8")
