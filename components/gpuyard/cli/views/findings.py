"""Findings, as text and as documents."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from gpuyard.cli.exit_codes import FINDINGS
from gpuyard.cli.options import Format
from gpuyard.cli.terminal.console import STYLES, Console, diagnostics, write
from gpuyard.cli.terminal.text import pluralize
from gpuyard.cli.views.documents import as_json, tree
from gpuyard.findings import Finding, Severity

if TYPE_CHECKING:
    from gpuyard.stack_validation import ValidatedStack

_INDENT = 8
_WORD = 9
_EVERY = "--format json lists all"
_TOKEN = re.compile(r"[\w.-]*\w")
_NUMBERED = re.compile(r"[\w.-]*\d[\w.-]*")
VERSION = 1
"""Version of the JSON documents: see `gpuyard.cli`."""


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
            console.print_wrapped(
                _and_more(others), first="also".ljust(_WORD), style="dim", indent=_INDENT
            )
    more = sum(map(len, groups[MAX_SHOWN:]))
    if more > 0:
        console.print()
        console.print_wrapped(f"… and {more:,} more; {_EVERY}.")


def _folded(judged: "ValidatedStack") -> list[list[Finding]]:
    """Equal notes as one group, at the position of the first; other findings as groups of one."""
    spec = judged.reading.spec
    names = (
        {each.name for of in (spec.pools, spec.teams, spec.shapes) for each in of}
        if spec
        else frozenset[str]()
    )
    stated = [(each, _statement(each, names)) for each in judged.findings]
    count = Counter(statement for _, statement in stated)
    groups: dict[object, list[Finding]] = {}
    for finding, statement in stated:
        folds = finding.severity is Severity.INFO and count[statement] >= FOLDED_FROM
        groups.setdefault(statement if folds else id(finding), []).append(finding)
    return list(groups.values())


def _statement(finding: Finding, names: Collection[str]) -> tuple[object, ...]:
    """What a finding states, without the names and numbers in which equal ones differ."""
    fix = finding.fix.message if finding.fix else ""
    texts = (
        _TOKEN.sub(lambda token: "" if token[0] in names else token[0], text)
        for text in (finding.problem, finding.allowed, fix)
    )
    path = (step for step in finding.path if isinstance(step, str))
    return (finding.id, *path, *(_NUMBERED.sub("", text) for text in texts))


def _and_more(others: Sequence[Finding]) -> str:
    """The notes that a group does not show."""
    places = ", ".join(each.where for each in others[:_NAMED])
    rest = ", …" if len(others) > _NAMED else ""
    return f"and {len(others):,} more: {places}{rest}; {_EVERY}"


def show_finding(finding: Finding, console: Console, place: str = "") -> None:
    """Show severity, path and problem; then given, allowed and fix; then the location and the documentation."""
    word = finding.severity.value
    console.print_wrapped(
        f"{finding.where}: {finding.problem}",
        first=word.ljust(_INDENT),
        style=STYLES[finding.severity],
    )
    fix = finding.fix.message if finding.fix else ""
    for name, text in (("given", finding.value), ("allowed", finding.allowed), ("fix", fix)):
        if text:
            console.print_wrapped(text, first=name.ljust(_WORD), style="dim", indent=_INDENT)
    if place:
        console.print(("at".ljust(_WORD), "dim"), place, indent=_INDENT)
    console.print(("more".ljust(_WORD), "dim"), finding.docs_url, indent=_INDENT)


def show_verdict(word: str, text: str, console: Console) -> None:
    """Show the last line: one word in the column of the severities, and the reason."""
    console.print_wrapped(text, first=f"{word} ".ljust(_INDENT), style="bold")


def show_rejection(judged: "ValidatedStack") -> None:
    """Show on stderr why there is no plan."""
    console = diagnostics()
    show_findings(judged, console)
    console.print()
    show_verdict("rejected", f"{judged.file}: {count_words(judged.findings)}", console)


def reject(command: str, judged: "ValidatedStack", format_: Format, **more: Any) -> int:
    """End a command that has no plan; `more` are other keys of its document."""
    if format_ is Format.JSON:
        write(as_json(document(command, judged, **more)))
    else:
        show_rejection(judged)
    return FINDINGS


def show_accepted_findings(judged: "ValidatedStack") -> None:
    """Show the findings of an accepted stack on stderr."""
    if judged.findings:
        console = diagnostics()
        console.print()
        show_findings(judged, console)


def count_words(findings: Sequence[Finding]) -> str:
    """`2 errors, 1 warning`."""
    count = Counter(f.severity for f in findings)
    counts = (
        f"{count[s]} info" if s is Severity.INFO else pluralize(count[s], s.value)
        for s in Severity
        if count[s]
    )
    return ", ".join(counts) or "no findings"


def document(command: str, judged: "ValidatedStack | None" = None, **more: Any) -> dict[str, Any]:
    """A JSON document with the keys that all commands have."""
    content: dict[str, Any] = {"version": VERSION, "command": command, "findings": []}
    if judged is not None:
        content["stack"] = judged.file
        content["counts"] = {
            s.value: sum(f.severity is s for f in judged.findings) for s in Severity
        }
        content["findings"] = [
            finding_document(f, judged.file, judged.line_of(f)) for f in judged.findings
        ]
    return {**content, **more}


def finding_document(
    finding: Finding, file: str | None = None, line: int | None = None
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
        "given": finding.value,
        "allowed": finding.allowed,
        "fix": None
        if fix is None
        else {
            "message": fix.message,
            "at": None if fix.at is None else list(fix.at),
            "value": tree(fix.value),
        },
    }
