"""Findings with path, given value, allowed values and fix."""

from collections.abc import Sequence

from gpuyard.cli.views.findings import MAX_SHOWN
from gpuyard.cli.views.report.html import FOLD_FROM, Element, el, fold, section
from gpuyard.stack_validation import ValidatedStack
from gpuyard_core.findings import Diagnostic
from gpuyard_core.terminal.findings import count_words


def findings_section(judged: ValidatedStack) -> Element:
    """Every finding, the most severe first; many are folded."""
    shown = [_finding(judged, each) for each in judged.findings[:MAX_SHOWN]]
    body = [el("div", {"class": "grid"}, *shown[:FOLD_FROM])]
    if len(shown) > FOLD_FROM:
        rest = el("div", {"class": "grid"}, *shown[FOLD_FROM:])
        body.append(fold(f"{len(shown) - FOLD_FROM:,} more findings", rest))
    if (more := len(judged.findings) - MAX_SHOWN) > 0:
        body.append(el("p", {"class": "note"}, f"… and {more:,} more; `gpuyard check` lists all."))
    return section("findings", "Findings", _note(judged.findings), *body)


def _note(findings: Sequence[Diagnostic]) -> str:
    return count_words(findings).capitalize() + "."


def _finding(judged: ValidatedStack, found: Diagnostic) -> Element:
    line = judged.line_of(found)
    facts = (
        ("given", found.given),
        ("allowed", found.allowed),
        ("fix", found.fix_message),
        ("in", f"{judged.file}:{line}" if line else judged.file),
        ("more", found.docs_url),
    )
    rows = [
        item
        for name, text in facts
        if text
        for item in (el("dt", None, name), el("dd", None, text))
    ]
    head = el(
        "h3",
        None,
        el("span", {"class": f"badge {found.severity.value}"}, found.severity.value),
        el("code", None, found.where),
    )
    return el(
        "article", {"class": "finding"}, head, el("p", None, found.problem), el("dl", None, *rows)
    )
