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
from gpuyard_lint.report import HitState, LintFinding, Report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.run import UNFILLED_PLACEHOLDER

MAX_SHOWN = 200
"""Maximum findings as text; JSON has all."""
MAX_PLACES = 5
_MAX_UNREAD = 20
_NAMED = 3
_EVERY = "--format json lists all"
_NOTHING = "empty"


def show_report(report: Report, word: str, console: Console) -> None:
    """Show a summary by rule, every finding with its locations, advisory and sample findings, and the verdict."""
    shown = [hit for hit in report.hits if hit.state in {HitState.OPEN, HitState.NOT_EVALUATED}]
    planned = [hit for hit in shown if _waits_for_a_plan(hit)]
    of_several = [hit for hit in shown if _is_of_several(hit) and not _waits_for_a_plan(hit)]
    filled_in = [
        hit
        for hit in shown
        if hit.diagnostic.problem == UNFILLED_PLACEHOLDER and not _waits_for_a_plan(hit)
    ]
    apart = {id(hit) for hit in (*planned, *of_several, *filled_in)}
    shown = [hit for hit in shown if id(hit) not in apart]
    _by_rule([hit for hit in shown if hit.state is HitState.OPEN], console)
    groups = _grouped(shown)
    for number, group in enumerate(groups[:MAX_SHOWN]):
        if number:
            console.print()
        show_hits(group, console)
    if len(groups) > MAX_SHOWN:
        console.print()
        console.print_wrapped(f"… and {len(groups) - MAX_SHOWN:,} more findings; {_EVERY}.")
    if planned:
        shown += planned[:1]
        console.print_wrapped(_of_a_plan(planned), first="unknown ")
    if of_several:
        shown += of_several[:1]
        console.print_wrapped(_of_several(of_several), first="unknown ")
    if filled_in:
        shown += filled_in[:1]
        console.print_wrapped(_of_filled_in(filled_in), first="unknown ")
    choices, samples = (
        [hit for hit in report.hits if hit.state is state]
        for state in (HitState.ADVISORY, HitState.EXAMPLE)
    )
    _choices(choices, console)
    _samples(samples, console)
    _show_skipped(report.skipped)
    for bare in report.without_reason:
        why = f"has no effect without a reason: write `# gpuyard: ignore {bare.rules} because …`"
        diagnostics().print_wrapped(f"{bare.file}:{bare.line}: {why}", first="! ")
    for named in report.unknown_rules:
        meant = nearest_name(named.rule, [rule.id for rule in RULES])
        hint = f"did you mean {meant}?" if meant else f"`{lint_command()} --rules` lists all."
        why = f"has no effect: no rule {named.rule}; {hint}"
        diagnostics().print_wrapped(f"{named.file}:{named.line}: {why}", first="! ")
    if shown or choices or samples:
        console.print()
    show_verdict(word, _summary(report), console)


def _waits_for_a_plan(hit: LintFinding) -> bool:
    """Whether a finding needs a Terraform plan; these share one line."""
    return hit.state is HitState.NOT_EVALUATED and hit.file.endswith(TERRAFORM)


def _of_a_plan(hits: Sequence[LintFinding]) -> str:
    first = next((hit for hit in hits if hit.diagnostic.location), hits[0])
    where = first.diagnostic.location
    place = f" ({where})" if where else ""
    message = f"{pluralize(len(hits), 'time')} a rule needs a value that only a plan has, first at {first.file}:{first.line}"
    return f"{message}{place}: lint the output of `terraform show -json plan.out`"


def _is_of_several(hit: LintFinding) -> bool:
    """Whether a rule over several resources met an unknown value: it has no location."""
    return hit.state is HitState.NOT_EVALUATED and not hit.resource


def _of_several(hits: Sequence[LintFinding]) -> str:
    rules = sorted({hit.diagnostic.id for hit in hits})
    more = f" and {len(rules) - _NAMED} more" if len(rules) > _NAMED else ""
    return (
        f"{', '.join(rules[:_NAMED])}{more}: a value is unknown, so these rules over several resources"
        f" report only what holds for every value; {_EVERY}"
    )


def _of_filled_in(hits: Sequence[LintFinding]) -> str:
    place = f"{hits[0].file}:{hits[0].line}"
    where = place if len(hits) == 1 else f"{len(hits):,} times, first at {place}"
    return f"a rule needs the value of an unresolved placeholder: {where}; {_EVERY}"


def _grouped(hits: Iterable[LintFinding]) -> list[list[LintFinding]]:
    """Group equal findings at different locations, in the order of the first."""
    results: dict[tuple[object, ...], list[LintFinding]] = {}
    for hit in hits:
        same = (hit.state, replace(hit.diagnostic, path=()), hit.reason)
        results.setdefault(same, []).append(hit)
    return list(results.values())


def _by_rule(hits: Sequence[LintFinding], console: Console) -> None:
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


def _choices(hits: Sequence[LintFinding], console: Console) -> None:
    """Show one line for each advisory finding."""
    if hits:
        console.title("advisory", "not counted; --choices counts them")
    _show_grouped(hits, "advisory", lambda hit: hit.diagnostic.problem, console)


def _samples(hits: Sequence[LintFinding], console: Console) -> None:
    """Show one line for each rule; findings in samples never fail."""
    if hits:
        console.title("in example files", "not counted; --no-samples excludes them")
    _show_grouped(hits, "example", lambda hit: hit.rule.title, console)


def _show_grouped(
    hits: Sequence[LintFinding], word: str, text: Callable[[LintFinding], str], console: Console
) -> None:
    together: dict[tuple[str, str], list[LintFinding]] = {}
    for hit in hits:
        together.setdefault((hit.diagnostic.id, text(hit)), []).append(hit)
    for (rule, message), result in sorted(together.items(), key=lambda each: -len(each[1])):
        place = f"{result[0].file}:{result[0].line}"
        where = place if len(result) == 1 else f"{place} and {len(result) - 1:,} more"
        console.print_wrapped(f"{message}: {where}", first=f"{word}  {rule}  {len(result):>4}  ")


def show_hits(hits: Sequence[LintFinding], console: Console) -> None:
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
        word="unknown" if hit.state is HitState.NOT_EVALUATED else "",
        details=[("note", hit.reason), ("in", hit.resource if alone else "")],
        places=places,
        page=page_command(hit.diagnostic.id),
    )


def _place(hit: LintFinding, *, named: bool) -> str:
    resource = f"  {hit.resource}" if named and hit.resource else ""
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
    counts = {state.value.replace("-", " "): report.count(state) for state in HitState}
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
        counts={state.value: report.count(state) for state in HitState},
        hits=[],
        skipped=[_skipped_document(each) for each in report.skipped],
    )
    return json_parts(without, "hits", map(hit_document, report.hits))


def _skipped_document(each: SkippedFile) -> dict[str, Any]:
    return {
        "file": each.file,
        "line": each.line,
        "reason": each.reason,
        "template": each.template,
        "foreign": each.is_unrecognized,
    }


def hit_document(hit: LintFinding) -> dict[str, Any]:
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
        "resource": hit.resource,
        "where": found.location,
        "problem": found.problem,
        "fix": found.fix_message,
        "note": hit.reason,
        "fingerprint": hit.fingerprint,
    }
