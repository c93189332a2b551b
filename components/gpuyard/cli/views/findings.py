"""Findings, as text and as documents."""

import re
from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from gpuyard_core.findings import Diagnostic, Severity
from gpuyard_core.terminal.console import Console, diagnostics, write
from gpuyard_core.terminal.documents import as_json
from gpuyard_core.terminal.exit_codes import FINDINGS
from gpuyard_core.terminal.findings import (
    command_document,
    count_words,
    finding_document,
    show_diagnostic,
    show_verdict,
)
from gpuyard_core.terminal.options import Format

if TYPE_CHECKING:
    from gpuyard.stack_validation import ValidatedStack

_INDENT = 8
_WORD = 9
_EVERY = "--format json lists all"
_TOKEN = re.compile(r"[\w.-]*\w")
_NUMBERED = re.compile(r"[\w.-]*\d[\w.-]*")
MAX_SHOWN = 200
"""Maximum findings as text; JSON has all."""


FOLDED_FROM = 3
"""From this many notes that differ only in names and numbers, text shows the first only."""
_NAMED = 3


def show_findings(judged: "ValidatedStack", console: Console) -> None:
    """Show every finding with an empty line between two; the most severe if there are too many."""
    groups = _folded(judged)
    for number, (finding, *others) in enumerate(groups[:MAX_SHOWN]):
        if number:
            console.print()
        place = f"{judged.file}:{line}" if (line := judged.line_of(finding)) else judged.file
        show_finding(finding, console, place)
        if others:
            places = ", ".join(each.where for each in others[:_NAMED])
            rest = ", …" if len(others) > _NAMED else ""
            text = f"and {len(others):,} more: {places}{rest}; {_EVERY}"
            console.print_wrapped(text, first="also".ljust(_WORD), style="dim", indent=_INDENT)
    more = sum(map(len, groups[MAX_SHOWN:]))
    if more > 0:
        console.print()
        console.print_wrapped(f"… and {more:,} more; {_EVERY}.")


def _folded(judged: "ValidatedStack") -> list[list[Diagnostic]]:
    """Equal notes as one group, at the position of the first; other findings as groups of one."""
    spec = judged.reading.spec
    lists = (spec.pools, spec.teams, spec.shapes) if spec else ()
    names = {each.name for items in lists for each in items}
    stated = [(each, _statement(each, names)) for each in judged.findings]
    count = Counter(statement for _, statement in stated)
    groups: dict[object, list[Diagnostic]] = {}
    for finding, statement in stated:
        folds = finding.severity is Severity.INFO and count[statement] >= FOLDED_FROM
        groups.setdefault(statement if folds else id(finding), []).append(finding)
    return list(groups.values())


def _statement(finding: Diagnostic, names: Collection[str]) -> tuple[object, ...]:
    """What a finding states, without the names and numbers in which equal ones differ."""
    texts = (
        _TOKEN.sub(lambda token: "" if token[0] in names else token[0], text)
        for text in (finding.problem, finding.allowed, finding.fix_message)
    )
    path = (step for step in finding.path if isinstance(step, str))
    return (finding.id, *path, *(_NUMBERED.sub("", text) for text in texts))


def show_finding(finding: Diagnostic, console: Console, place: str = "") -> None:
    """Show a finding of a stack file, and its location in the file."""
    show_diagnostic(finding, finding.where, console, places=[("at", place)] if place else [])


def show_rejection(judged: "ValidatedStack") -> None:
    """Show on stderr why there is no plan."""
    console = diagnostics()
    show_findings(judged, console)
    console.print()
    show_verdict("rejected", f"{judged.file}: {count_words(judged.findings)}", console)


def reject(command: str, judged: "ValidatedStack", format_: Format, **more: Any) -> int:
    """End a command that has no plan; `more` are other keys of its document."""
    if format_ is Format.JSON:
        write_document(command, judged, **more)
    else:
        show_rejection(judged)
    return FINDINGS


def show_accepted_findings(judged: "ValidatedStack") -> None:
    """Show the findings of an accepted stack on stderr."""
    if judged.findings:
        console = diagnostics()
        console.print()
        show_findings(judged, console)


def document(command: str, judged: "ValidatedStack | None" = None, **more: Any) -> dict[str, Any]:
    """A JSON document with the keys that all commands have."""
    if judged is not None:
        counts = {s.value: sum(f.severity is s for f in judged.findings) for s in Severity}
        findings = [finding_document(f, judged.file, judged.line_of(f)) for f in judged.findings]
        more = {"stack": judged.file, "counts": counts, "findings": findings, **more}
    return command_document(command, **more)


def write_document(command: str, judged: "ValidatedStack | None" = None, **more: Any) -> None:
    """Write the JSON document of a command to stdout."""
    write(as_json(document(command, judged, **more)))
