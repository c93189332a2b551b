"""How a small program of the validator ends: its report in every form, and its exit code."""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from gpuyard_validator import report as reports
from gpuyard_validator.results import Code, Report
from gpuyard_validator.snapshot import CannotRead
from gpuyard_validator.values import Malformed


def spoken(judged: Callable[[], Report], log: Path | None) -> int:
    """0 passed, 1 failed, 3 it cannot run. `log`: for the pod's last words."""
    try:
        report = judged()
    except (OSError, UnicodeError, ValueError, Malformed, CannotRead) as problem:
        said = f"cannot run: {problem}\n"
        sys.stderr.write(said)
        _write(log, said[: reports.DIGEST_BYTES // 4])
        return Code.CANNOT_RUN
    sys.stdout.write(reports.as_json(report))
    sys.stderr.write(reports.digest(report))
    _write(log, reports.last_words(report))
    return report.code


def explained(checks: Mapping[str, tuple[str, str]], name: str, where: str) -> str:
    """One check in words; `where` it is made."""
    says, do = checks[name]
    return (
        f"{name} ({where})\n  fails when {says}\n  then: {do}\n"
        "  required: not run counts as failed\n"
    )


def parser_of(
    doc: str | None, name: str, expect: str, checks: Mapping[str, object]
) -> argparse.ArgumentParser:
    """What all of them are given; `expect`: where their document lies in a pod."""
    parser = argparse.ArgumentParser(prog=f"gpuyard_validator.{name}", description=doc)
    add = parser.add_argument
    add("--expect", type=Path, default=Path(expect), help="what is held against what is seen")
    add("--seen", type=Path, help="what another pod has seen, to be judged here")
    add("--termination-log", type=Path, help="the digest, as the pod's last words")
    add("--explain", choices=checks, metavar="CHECK", help="one check in words")
    return parser


def _write(path: Path | None, text: str) -> None:
    if path is not None:
        path.write_text(text, encoding="utf-8")
