"""The report as annotations of a pull request (GitHub workflow commands)."""

from collections.abc import Iterator

from gpuyard_core.findings import Severity
from gpuyard_lint.report import Report

_WORDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def github_annotations(report: Report) -> str:
    """A line for each open finding and each file that could not be read."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: Report) -> Iterator[str]:
    for hit in report.open_findings:
        found = hit.diagnostic
        place = f"file={_property(hit.file)},line={hit.line},col={hit.column}"
        title = _property(f"{found.id} {hit.rule.title}")
        text = _data(f"{found.problem}; {found.fix_message}")
        yield f"::{_WORDS[found.severity]} {place},title={title}::{text}"
    for skipped in (each for each in report.skipped if not each.is_unrecognized):
        place = f"file={_property(skipped.file)},line={skipped.line}"
        yield f"::notice {place},title=not read::{_data(skipped.reason)}"


def _data(text: str) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
