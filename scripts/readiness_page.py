"""The list of readiness checks as a page, generated from the library's list: docs/reference/readiness.md.

`make golden` writes it; tests/docs/test_reference.py fails if the list has changed.
"""

from itertools import groupby
from pathlib import Path

from gpuyard.readiness.checks import ai_requirements, ai_source, readiness_checks

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "readiness.md"
HEAD = """\
# Readiness checks

Generated from the library's list (`make golden`). [The concept](../concepts/readiness.md) describes the
answers. Sources of an answer: P the plan, L the live cluster, R a run.
"""
CONFORMANCE = """\
## CNCF AI Conformance for Kubernetes 1.36

From {source}.
For each MUST the programme requires a status, notes, and public evidence; it has no test of
its own. The checks of gpuyard point to evidence, they are not a certificate.

| requirement | level | checks of gpuyard |
|---|---|---|
"""


def page() -> str:
    """The whole page."""
    text = HEAD
    for category, checks in groupby(readiness_checks(), lambda each: each.category):
        text += f"\n## {category}\n\n| check | from | what must be true | manual check |\n|---|---|---|---|\n"
        for each in checks:
            run = (
                f"{_cell(each.by_hand)}<br>run: {_cell(each.run)}"
                if each.run
                else _cell(each.by_hand)
            )
            text += f"| {each.id} | {each.source} | {_cell(each.title)} | {run} |\n"
    text += "\n" + CONFORMANCE.format(source=ai_source())
    for requested in ai_requirements():
        named = ", ".join(requested.checks) or f"none: {requested.lacks}"
        text += f"| `{requested.id}` | {requested.level} | {named} |\n"
    return text


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
