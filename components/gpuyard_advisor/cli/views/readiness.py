"""The readiness assessment: as text, as Markdown, as a document."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from gpuyard_advisor.readiness.assessment import CheckResult, Readiness
from gpuyard_advisor.readiness.checks import ai_source
from gpuyard_advisor.readiness.evidence import STATUSES, CheckStatus
from gpuyard_core.findings import Diagnostic
from gpuyard_core.terminal.console import Column, Console, table
from gpuyard_core.terminal.findings import show_verdict

_STYLES = {CheckStatus.PASS: "green", CheckStatus.FAIL: "bold red", CheckStatus.NOT_RUN: "yellow"}
_APART = "n/a"
_INDENT = 9
_WORD = 8
_SHOWN = 3
"""Maximum observations of one check as text; JSON has all."""
COUNTS = "A check that did not run counts as not passed; one that does not apply is not counted."


def show_readiness(result: Readiness, console: Console) -> None:
    """Show every check by category, the CNCF requirements, and the score."""
    for category, answers in groupby(result.answers, lambda each: each.check.category):
        console.title(category)
        for each in answers:
            _show(each, console)
    console.title("CNCF AI Conformance 1.36", "requirements for which these checks are evidence")
    rows = [(f"{word:<8}", level, name, checks) for name, level, word, checks in _requested(result)]
    columns = [Column(""), Column(""), Column("requirement"), Column("checks", wraps=True)]
    console.show(table(columns, rows))
    console.print()
    show_verdict(f"{result.score} %", score_words(result), console)


def score_words(result: Readiness) -> str:
    """What the score counts."""
    passed, failed, open_ones = (
        result.counts.get(each, 0)
        for each in (CheckStatus.PASS, CheckStatus.FAIL, CheckStatus.NOT_RUN)
    )
    return (
        f"of {result.applying} applicable checks: {passed} passed, {failed} failed, {open_ones} did not"
        f" run; {len(result.answers) - result.applying} do not apply. {COUNTS}"
    )


def _show(each: CheckResult, console: Console) -> None:
    word = each.status.value if each.applies else _APART
    style = _STYLES[each.status] if each.applies else "dim"
    console.print_wrapped(
        each.check.title, first=f"{word:<{_INDENT}}{each.check.id}  ", style=style
    )
    for name, text in _lines(each):
        console.print_wrapped(text, first=name.ljust(_WORD), style="dim", indent=_INDENT)


def _lines(each: CheckResult) -> Iterator[tuple[str, str]]:
    if each.reasons:
        yield "why", each.reasons
    if each.evidence:
        yield "seen", _seen(each)
    if each.applies and each.status is not CheckStatus.PASS:
        yield "manual", each.check.by_hand


def _seen(each: CheckResult) -> str:
    """The evidence, failures first."""
    order = sorted(each.evidence, key=lambda seen: STATUSES[seen.severity] is not each.status)
    shown = "; ".join(f"{seen.location}: {seen.given}" for seen in order[:_SHOWN])
    more = len(order) - _SHOWN
    return shown + (f"; and {more} more" if more > 0 else "")


def _requested(result: Readiness) -> Iterator[tuple[str, str, str, str]]:
    """Each CNCF requirement: name, level, status, and its checks or why it has none."""
    for requirement, ready in result.conformance():
        yield (
            requirement.id,
            requirement.level,
            ready.value,
            ", ".join(requirement.checks) or requirement.lacks,
        )


def readiness_markdown(result: Readiness, name: str) -> str:
    """The assessment as Markdown."""
    lines = [f"### Readiness of `{name}`: {result.score} %", "", _sentence(score_words(result)), ""]
    for category, answers in groupby(result.answers, lambda each: each.check.category):
        lines += [f"#### {category}", "", "| check | | requirement | evidence or reason |"]
        lines += ["|---|---|---|---|", *(_row(each) for each in answers), ""]
    lines += ["#### CNCF AI Conformance 1.36", "", f"From {ai_source()}.", ""]
    lines += ["| requirement | level | | checks |", "|---|---|---|---|"]
    lines += [_cells(id_, level, word, checks) for id_, level, word, checks in _requested(result)]
    return "\n".join(lines) + "\n"


def _row(each: CheckResult) -> str:
    word = each.status.value if each.applies else _APART
    return _cells(each.check.id, word, each.check.title, each.reasons or _seen(each))


def _cells(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def readiness_document(result: Readiness, threshold: int, silent: str) -> dict[str, Any]:
    """The assessment as a document, with every observation."""
    counts = result.counts
    return {
        "score": result.score,
        "threshold": threshold,
        "counts": {
            "apply": result.applying,
            "do_not_apply": len(result.answers) - result.applying,
            **{r.name.lower(): counts.get(r, 0) for r in CheckStatus},
        },
        "not_asked": silent or None,
        "checks": [_check(each) for each in result.answers],
        "conformance": {
            "source": ai_source(),
            "requirements": [
                {"id": a.id, "level": a.level, "answer": r.value, "checks": list(a.checks)}
                for a, r in result.conformance()
            ],
        },
    }


def _check(each: CheckResult) -> dict[str, Any]:
    check = each.check
    return {
        "id": check.id,
        "category": check.category,
        "title": check.title,
        "from": check.source,
        "answer": each.status.value,
        "applies": each.applies,
        "by": each.source,
        "why": each.reasons,
        "evidence": list(_things(each.evidence)),
        "by_hand": check.by_hand,
        "run": check.run or None,
    }


def _things(seen: Iterable[Diagnostic]) -> Iterator[dict[str, str]]:
    for each in seen:
        yield {"where": each.location, "value": each.given, "answer": STATUSES[each.severity].value}
