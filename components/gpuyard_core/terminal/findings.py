"""Findings, as text and as documents."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from gpuyard_core.findings import Diagnostic, Severity
from gpuyard_core.terminal.console import STYLES, Console
from gpuyard_core.terminal.documents import tree
from gpuyard_core.terminal.text import pluralize

_INDENT = 8
_WORD = 9
VERSION = 1
"""Version of the JSON documents: see `gpuyard.cli`."""


def show_diagnostic(
    found: Diagnostic,
    where: str,
    console: Console,
    word: str = "",
    details: Iterable[tuple[str, str]] = (),
    places: Iterable[tuple[str, str]] = (),
    page: str = "",
) -> None:
    """Show severity, path and problem; then given, allowed, fix and details; then locations and the documentation."""
    first = (word or found.severity.value).ljust(_INDENT)
    text = f"{where}: {found.problem}" if where else found.problem
    console.print_wrapped(text, first=first, style=STYLES[found.severity])
    own = (("given", found.given), ("allowed", found.allowed), ("fix", found.fix_message))
    for name, text in (*own, *details):
        if text:
            console.print_wrapped(text, first=name.ljust(_WORD), style="dim", indent=_INDENT)
    for name, text in (*places, ("more", page or found.docs_url)):
        console.print((name.ljust(_WORD), "dim"), text, indent=_INDENT)


def show_verdict(word: str, text: str, console: Console) -> None:
    """Show the last line: one word in the column of the severities, and the reason."""
    console.print_wrapped(text, first=f"{word} ".ljust(_INDENT), style="bold")


def count_words(findings: Sequence[Diagnostic]) -> str:
    """`2 errors, 1 warning`."""
    count = Counter(f.severity for f in findings)
    counts = (
        f"{count[s]} info" if s is Severity.INFO else pluralize(count[s], s.value)
        for s in Severity
        if count[s]
    )
    return ", ".join(counts) or "no findings"


def finding_document(
    finding: Diagnostic, file: str | None = None, line: int | None = None
) -> dict[str, Any]:
    """One finding as a document."""
    fix = finding.fix
    return {
        "id": finding.id,
        "docs": finding.docs_url,
        "severity": finding.severity.value,
        "path": list(finding.path),
        "where": finding.where,
        "file": file,
        "line": line,
        "problem": finding.problem,
        "given": finding.given,
        "allowed": finding.allowed,
        "fix": None
        if fix is None
        else {
            "message": fix.message,
            "at": None if fix.at is None else list(fix.at),
            "value": tree(fix.value),
        },
    }


def command_document(command: str, **more: Any) -> dict[str, Any]:
    """A JSON document with the keys that all commands have."""
    return {"version": VERSION, "command": command, "findings": [], **more}
