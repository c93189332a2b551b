"""Findings as people read them, and as programs do."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from gpuyard.cli.exit_codes import FOUND
from gpuyard.cli.options import Format
from gpuyard.cli.terminal.console import STYLES, Console, asides, write
from gpuyard.cli.views.documents import as_json, tree
from gpuyard.findings import Finding, Severity

if TYPE_CHECKING:
    from gpuyard.judging import Judged

_INDENT = 8
_WORD = 9
_EVERY = "--format json lists every one"
_TOKEN = re.compile(r"[\w.-]*\w")
_NUMBERED = re.compile(r"[\w.-]*\d[\w.-]*")
VERSION = 1
"""Of the JSON documents: see `gpuyard.cli`."""


MAX_SHOWN = 200
"""As text. Nobody reads more; a document has them all."""


FOLDED_FROM = 3
"""As text: of so many notes that differ in names and numbers only, the first is shown."""
_NAMED = 3


def show_findings(judged: "Judged", console: Console) -> None:
    """Every finding with all it says, an empty line between two; the gravest when there are very many."""
    groups = _folded(judged)
    for number, (finding, *others) in enumerate(groups[:MAX_SHOWN]):
        if number:
            console.say()
        place = f"{judged.file}:{line}" if (line := judged.line_of(finding)) else judged.file
        show_finding(finding, console, place)
        if others:
            console.tell(_and_more(others), first="also".ljust(_WORD), style="dim", indent=_INDENT)
    more = sum(map(len, groups[MAX_SHOWN:]))
    if more > 0:
        console.say()
        console.tell(f"… and {more:,} more; {_EVERY}.")


def _folded(judged: "Judged") -> list[list[Finding]]:
    """Equal notes in one group, at the place of the first; every other finding in a group of its own."""
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
        folds = finding.severity is Severity.NOTE and count[statement] >= FOLDED_FROM
        groups.setdefault(statement if folds else id(finding), []).append(finding)
    return list(groups.values())


def _statement(finding: Finding, names: Collection[str]) -> tuple[object, ...]:
    """What a finding states, without the names and numbers in which equal ones differ."""
    fix = finding.fix.says if finding.fix else ""
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
    """Severity, path and problem; then given, allowed, fix; then where to look, and how to read more."""
    word = finding.severity.value
    console.tell(
        f"{finding.where}: {finding.problem}",
        first=word.ljust(_INDENT),
        style=STYLES[finding.severity],
    )
    fix = finding.fix.says if finding.fix else ""
    for name, text in (("given", finding.given), ("allowed", finding.allowed), ("fix", fix)):
        if text:
            console.tell(text, first=name.ljust(_WORD), style="dim", indent=_INDENT)
    if place:
        console.say(("at".ljust(_WORD), "dim"), place, indent=_INDENT)
    console.say(("more".ljust(_WORD), "dim"), finding.more, indent=_INDENT)


def show_verdict(word: str, text: str, console: Console) -> None:
    """The last line: one word in the column of the severities, and why."""
    console.tell(text, first=word.ljust(_INDENT), style="bold")


def show_refusal(judged: "Judged") -> None:
    """There is no plan: say why, beside a result that is not there."""
    console = asides()
    show_findings(judged, console)
    console.say()
    show_verdict("refused", f"{judged.file}: {count_words(judged.findings)}", console)


def refused(command: str, judged: "Judged", format_: Format, **more: Any) -> int:
    """The end of a command that has no plan to work on; `more` is what its document has all the same."""
    if format_ is Format.JSON:
        write(as_json(document(command, judged, **more)))
    else:
        show_refusal(judged)
    return FOUND


def show_beside(judged: "Judged") -> None:
    """What is worth knowing about a stack that goes on."""
    if judged.findings:
        console = asides()
        console.say()
        show_findings(judged, console)


def count_words(findings: Sequence[Finding]) -> str:
    """`2 refuse, 1 warn`."""
    count = Counter(f.severity for f in findings)
    return ", ".join(f"{count[s]} {s.value}" for s in Severity if count[s]) or "no findings"


def document(command: str, judged: "Judged | None" = None, **more: Any) -> dict[str, Any]:
    """A JSON document with what every command's has."""
    made: dict[str, Any] = {"version": VERSION, "command": command, "findings": []}
    if judged is not None:
        made["stack"] = judged.file
        made["counts"] = {s.value: sum(f.severity is s for f in judged.findings) for s in Severity}
        made["findings"] = [
            finding_document(f, judged.file, judged.line_of(f)) for f in judged.findings
        ]
    return {**made, **more}


def finding_document(
    finding: Finding, file: str | None = None, line: int | None = None
) -> dict[str, Any]:
    """One finding for a program."""
    fix = finding.fix
    return {
        "id": finding.id,
        "docs": finding.more,
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
            "says": fix.says,
            "at": None if fix.at is None else list(fix.at),
            "value": tree(fix.value),
        },
    }
