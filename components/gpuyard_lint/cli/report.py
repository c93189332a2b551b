"""The lint report, as text and as a document."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from gpuyard_core.findings import Severity
from gpuyard_core.suggestions import nearest_name
from gpuyard_core.terminal.console import STYLES, Console, diagnostics
from gpuyard_core.terminal.documents import json_parts
from gpuyard_core.terminal.findings import command_document, show_diagnostic, show_verdict
from gpuyard_core.terminal.text import pluralize
from gpuyard_lint import lint_command, page_command
from gpuyard_lint.items import SkippedFile
from gpuyard_lint.read import TERRAFORM
from gpuyard_lint.report import Report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.run import UNFILLED_PLACEHOLDER, Finding, FindingState

MAX_SHOWN = 200
"""Maximum findings as text; JSON has all."""
MAX_PLACES = 5
_MAX_UNREAD = 20
_NAMED = 3
_EVERY = "--format json lists all"
_NOTHING = "empty"


def show_report(report: Report, word: str, console: Console) -> None:
    """Show a summary by rule, every finding with its locations, advisory and sample findings, and the verdict."""
    by_state: dict[FindingState, list[Finding]] = {state: [] for state in FindingState}
    by_line: dict[Callable[[Sequence[Finding]], str] | None, list[Finding]] = {}
    for hit in report.hits:
        by_state[hit.state].append(hit)
        by_line.setdefault(_shared_line(hit), []).append(hit)
    shown = [
        hit
        for hit in by_line.pop(None, [])
        if hit.state in {FindingState.OPEN, FindingState.NOT_EVALUATED}
    ]
    _by_rule(by_state[FindingState.OPEN], console)
    groups = _grouped(shown)
    for number, group in enumerate(groups[:MAX_SHOWN]):
        if number:
            console.print()
        show_hits(group, console)
    if len(groups) > MAX_SHOWN:
        console.print()
        console.print_wrapped(f"… and {len(groups) - MAX_SHOWN:,} more findings; {_EVERY}.")
    for line in (_of_a_plan, _of_several, _of_filled_in):
        if line in by_line:
            console.print_wrapped(line(by_line[line]), first="unknown ")
    choices, samples = by_state[FindingState.ADVISORY], by_state[FindingState.EXAMPLE]
    title = ("advisory", "not counted; --choices counts them")
    _show_grouped(title, "advisory", choices, lambda hit: hit.diagnostic.problem, console)
    title = ("in example files", "not counted; --no-samples excludes them")
    _show_grouped(title, "example", samples, lambda hit: hit.rule.title, console)
    _show_skipped(report.skipped)
    for bare in report.without_reason:
        why = f"has no effect without a reason: write `# gpuyard: ignore {bare.rules} because …`"
        diagnostics().print_wrapped(f"{bare.file}:{bare.line}: {why}", first="! ")
    for named in report.unknown_rules:
        meant = nearest_name(named.rules, [rule.id for rule in RULES])
        hint = f"did you mean {meant}?" if meant else f"`{lint_command()} --rules` lists all."
        why = f"has no effect: no rule {named.rules}; {hint}"
        diagnostics().print_wrapped(f"{named.file}:{named.line}: {why}", first="! ")
    if shown or choices or samples or by_line:
        console.print()
    show_verdict(word, _summary(report), console)


def _shared_line(hit: Finding) -> Callable[[Sequence[Finding]], str] | None:
    """The line that a finding shares with others; None if it is shown alone."""
    if hit.state is not FindingState.NOT_EVALUATED:
        return None
    if hit.file.endswith(TERRAFORM):
        return _of_a_plan
    if hit.resource is None:
        return _of_several
    return _of_filled_in if hit.diagnostic.problem == UNFILLED_PLACEHOLDER else None


def _of_a_plan(hits: Sequence[Finding]) -> str:
    """Findings that need a Terraform plan."""
    first = next((hit for hit in hits if hit.diagnostic.location), hits[0])
    where = first.diagnostic.location
    place = f" ({where})" if where else ""
    message = f"{pluralize(len(hits), 'time')} a rule needs a value that only a plan has, first at {first.file}:{first.line}"
    return f"{message}{place}: lint the output of `terraform show -json plan.out`"


def _of_several(hits: Sequence[Finding]) -> str:
    """Rules over several resources that met an unknown value: they have no location."""
    rules = sorted({hit.diagnostic.id for hit in hits})
    more = f" and {len(rules) - _NAMED} more" if len(rules) > _NAMED else ""
    return (
        f"{', '.join(rules[:_NAMED])}{more}: a value is unknown, so these rules over several resources"
        f" report only what holds for every value; {_EVERY}"
    )


def _of_filled_in(hits: Sequence[Finding]) -> str:
    place = f"{hits[0].file}:{hits[0].line}"
    where = place if len(hits) == 1 else f"{len(hits):,} times, first at {place}"
    return f"a rule needs the value of an unresolved placeholder: {where}; {_EVERY}"


def _grouped(hits: Iterable[Finding]) -> list[list[Finding]]:
    """Group equal findings at different locations, in the order of the first."""
    results: dict[tuple[object, ...], list[Finding]] = {}
    for hit in hits:
        same = (hit.state, replace(hit.diagnostic, path=()), hit.note)
        results.setdefault(same, []).append(hit)
    return list(results.values())


def _by_rule(hits: Sequence[Finding], console: Console) -> None:
    """Show the number of findings of each rule, the most severe and frequent first."""
    count = Counter((hit.diagnostic.id, hit.diagnostic.severity) for hit in hits)
    if len(count) > 1:
        titles = {hit.diagnostic.id: hit.rule.title for hit in hits}
        for (rule, severity), times in sorted(
            count.items(), key=lambda each: (-each[0][1].rank, -each[1], each[0][0])
        ):
            first = f"{severity.value:<8}{rule}  {times:>4}  "
            console.print_wrapped(titles[rule], first=first, style=STYLES[severity])
        console.print()


def _show_grouped(
    title: tuple[str, str],
    word: str,
    hits: Sequence[Finding],
    text: Callable[[Finding], str],
    console: Console,
) -> None:
    """Show one line for each rule and text, below a title if there is one."""
    if hits:
        console.title(*title)
    together: dict[tuple[str, str], list[Finding]] = {}
    for hit in hits:
        together.setdefault((hit.diagnostic.id, text(hit)), []).append(hit)
    for (rule, message), result in sorted(together.items(), key=lambda each: -len(each[1])):
        place = f"{result[0].file}:{result[0].line}"
        where = place if len(result) == 1 else f"{place} and {len(result) - 1:,} more"
        console.print_wrapped(f"{message}: {where}", first=f"{word}  {rule}  {len(result):>4}  ")


def show_hits(hits: Sequence[Finding], console: Console) -> None:
    """Show one finding with its note and its locations."""
    hit, alone = hits[0], len(hits) == 1
    places = [("at", _place(each, named=not alone)) for each in hits[:MAX_PLACES]]
    if len(hits) > MAX_PLACES:
        rest = pluralize(len(hits) - MAX_PLACES, "more place")
        places.append(("", f"… and {rest}; {_EVERY}"))
    show_diagnostic(
        hit.diagnostic,
        hit.diagnostic.location if alone else "",
        console,
        word="unknown" if hit.state is FindingState.NOT_EVALUATED else "",
        details=[("note", hit.note), ("in", hit.resource_title if alone else "")],
        places=places,
        page=page_command(hit.diagnostic.id),
    )


def _place(hit: Finding, *, named: bool) -> str:
    resource = f"  {hit.resource_title}" if named and hit.resource_title else ""
    return f"{hit.file}:{hit.line}:{hit.column}{resource}"


def _show_skipped(skipped: Sequence[SkippedFile]) -> None:
    """Show skipped files by reason, and files without relevant resources in one line."""
    console = diagnostics()
    by_reason: dict[str, list[SkippedFile]] = {}
    for each in skipped:
        if not each.is_unrecognized:
            by_reason.setdefault(each.reason, []).append(each)
    for reason, result in list(by_reason.items())[:_MAX_UNREAD]:
        more = f" and {len(result) - 1:,} more" if len(result) > 1 else ""
        place = f"{result[0].file}:{result[0].line}{more}"
        console.print_wrapped(f"{place}: {reason}", first="not read  ")
    if len(by_reason) > _MAX_UNREAD:
        console.print_wrapped(f"… and {len(by_reason) - _MAX_UNREAD:,} more reasons; {_EVERY}.")
    foreign = list(dict.fromkeys(each.file for each in skipped if each.is_unrecognized))
    if foreign:
        such = ", ".join(foreign[:_NAMED])
        more = f" and {len(foreign) - _NAMED:,} more" if len(foreign) > _NAMED else ""
        message = (
            f"{pluralize(len(foreign), 'file')} without resources for these rules: {such}{more}"
        )
        console.print_wrapped(message, first="skipped   ")


def verdict_word(report: Report, word: str, fine: str) -> str:
    """The verdict; `fine` only when something was checked."""
    return _NOTHING if word == fine and not report.checked_resources else word


def _summary(report: Report) -> str:
    seen = (
        f"{pluralize(report.resource_count, 'resource')} in {pluralize(len(report.files), 'file')}"
    )
    kinds = f"{report.checked_resources:,} of a kind that rules cover"
    counts = {state.replace("-", " "): count for state, count in report.counts().items()}
    parts = [f"{count} {name}" for name, count in counts.items() if count or name == "open"]
    if report.skipped:
        parts.append(f"{pluralize(len(report.skipped), 'file or part', 'files or parts')} not read")
    return f"{seen}, {kinds}, checked against {pluralize(len(report.rules), 'rule')}: {', '.join(parts)}"


def report_parts(report: Report, fail_on: Severity) -> Iterator[str]:
    """The report as a JSON document, finding by finding."""
    without = command_document(
        "lint",
        fail_on=fail_on.value,
        failed=report.is_failed(fail_on),
        files=list(report.files),
        resources=report.resource_count,
        known=report.checked_resources,
        rules=[rule.id for rule in report.rules],
        counts=report.counts(),
        hits=[],
        skipped=[
            {
                "file": each.file,
                "line": each.line,
                "reason": each.reason,
                "template": each.template,
                "foreign": each.is_unrecognized,
            }
            for each in report.skipped
        ],
    )
    return json_parts(without, "hits", map(hit_document, report.hits))


def hit_document(hit: Finding) -> dict[str, Any]:
    """One finding as a document."""
    found = hit.diagnostic
    return {
        "rule": found.id,
        "title": hit.rule.title,
        "docs": page_command(found.id),
        "severity": found.severity.value,
        "state": hit.state.value,
        "file": hit.file,
        "line": hit.line,
        "column": hit.column,
        "resource": hit.resource_title,
        "where": found.location,
        "problem": found.problem,
        "fix": found.fix_message,
        "note": hit.note,
        "fingerprint": hit.fingerprint,
    }
