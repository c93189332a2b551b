"""The answers of a readiness check: for people, for a page, for programs."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from gpuyard.cli.terminal.console import Column, Console, table
from gpuyard.cli.views.findings import show_verdict
from gpuyard.readiness.asking import Answered, Readiness
from gpuyard.readiness.evidence import Ready, ThingSeen
from gpuyard.readiness.listed import ai_source

_STYLES = {Ready.PASS: "green", Ready.FAIL: "bold red", Ready.NOT_RUN: "yellow"}
_APART = "n/a"
_INDENT = 9
_WORD = 8
_SHOWN = 3
"""Things that were seen, of one check; a document has them all."""
COUNTS = "A check that was not run is not passed, and one that does not apply is not counted."


def show_readiness(found: Readiness, console: Console) -> None:
    """Every check by category, what the CNCF's programme asks for, and the score."""
    for category, answers in groupby(found.answers, lambda each: each.check.category):
        console.title(category)
        for each in answers:
            _show(each, console)
    console.title("CNCF AI Conformance 1.36", "what of it these checks are evidence for")
    rows = [(f"{word:<8}", level, name, checks) for name, level, word, checks in _asked(found)]
    columns = [Column(""), Column(""), Column("requirement"), Column("checks", wraps=True)]
    console.show(table(columns, rows))
    console.say()
    show_verdict(f"{found.score} %", score_words(found), console)


def score_words(found: Readiness) -> str:
    """What the score counts."""
    passed, failed, open_ones = (
        found.counts.get(each, 0) for each in (Ready.PASS, Ready.FAIL, Ready.NOT_RUN)
    )
    return (
        f"of {found.applying} checks that apply {passed} passed, {failed} failed and {open_ones} were not"
        f" run; {len(found.answers) - found.applying} do not apply. {COUNTS}"
    )


def _show(each: Answered, console: Console) -> None:
    word = each.ready.value if each.applies else _APART
    style = _STYLES[each.ready] if each.applies else "dim"
    console.tell(each.check.title, first=f"{word:<{_INDENT}}{each.check.id}  ", style=style)
    for name, text in _lines(each):
        console.tell(text, first=name.ljust(_WORD), style="dim", indent=_INDENT)


def _lines(each: Answered) -> Iterator[tuple[str, str]]:
    if each.why:
        yield "why", each.why
    if each.evidence:
        yield "seen", _seen(each)
    if each.applies and each.ready is not Ready.PASS:
        yield "by hand", each.check.by_hand


def _seen(each: Answered) -> str:
    """First what was wrong."""
    order = sorted(each.evidence, key=lambda seen: seen.ready is not each.ready)
    shown = "; ".join(f"{seen.where}: {seen.value}" for seen in order[:_SHOWN])
    more = len(order) - _SHOWN
    return shown + (f"; and {more} more" if more > 0 else "")


def _asked(found: Readiness) -> Iterator[tuple[str, str, str, str]]:
    """What is asked for: its name and level, how it is answered, and by which checks or why by none."""
    for asked, ready in found.conformance():
        yield asked.id, asked.level, ready.value, ", ".join(asked.checks) or asked.lacks


def readiness_markdown(found: Readiness, name: str) -> str:
    """The same for a page or a pull request."""
    lines = [f"### Readiness of `{name}`: {found.score} %", "", _sentence(score_words(found)), ""]
    for category, answers in groupby(found.answers, lambda each: each.check.category):
        lines += [f"#### {category}", "", "| check | | what must be true | seen, or why not |"]
        lines += ["|---|---|---|---|", *(_row(each) for each in answers), ""]
    lines += ["#### CNCF AI Conformance 1.36", "", f"From {ai_source()}.", ""]
    lines += ["| requirement | level | | checks |", "|---|---|---|---|"]
    lines += [_cells(id_, level, word, checks) for id_, level, word, checks in _asked(found)]
    return "\n".join(lines) + "\n"


def _row(each: Answered) -> str:
    word = each.ready.value if each.applies else _APART
    return _cells(each.check.id, word, each.check.title, each.why or _seen(each))


def _cells(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def readiness_document(found: Readiness, threshold: int, silent: str) -> dict[str, Any]:
    """The same for a program, with every thing that was seen."""
    counts = found.counts
    return {
        "score": found.score,
        "threshold": threshold,
        "counts": {
            "apply": found.applying,
            "do_not_apply": len(found.answers) - found.applying,
            **{r.name.lower(): counts.get(r, 0) for r in Ready},
        },
        "not_asked": silent or None,
        "checks": [_check(each) for each in found.answers],
        "conformance": {
            "source": ai_source(),
            "requirements": [
                {"id": a.id, "level": a.level, "answer": r.value, "checks": list(a.checks)}
                for a, r in found.conformance()
            ],
        },
    }


def _check(each: Answered) -> dict[str, Any]:
    check = each.check
    return {
        "id": check.id,
        "category": check.category,
        "title": check.title,
        "from": check.source,
        "answer": each.ready.value,
        "applies": each.applies,
        "by": each.by,
        "why": each.why,
        "evidence": list(_things(each.evidence)),
        "by_hand": check.by_hand,
        "run": check.run or None,
    }


def _things(seen: Iterable[ThingSeen]) -> Iterator[dict[str, str]]:
    for each in seen:
        yield {"where": each.where, "value": each.value, "answer": each.ready.value}
