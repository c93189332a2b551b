"""The pages docs/findings/ID.md and their index, from the proofs and the output of `gpuyard check`.

`make golden` writes them; tests/docs/test_finding_pages.py compares them.
"""

import difflib
import io
import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

import proofs
from case_files import COMPACT
from gpuyard.cli.commands.check import show_judged
from gpuyard.cli.views.findings import show_finding
from gpuyard_core.findings import Fix, Severity
from gpuyard_core.terminal.console import Console
from proofs import Case, Proofs

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "findings"
LONG = 40
"""Longer stack files are shown in part."""

MEANS = {
    Severity.ERROR: "Severity error: there is no plan until you fix it.",
    Severity.WARNING: "Severity warning: you can deploy the platform, but you should fix the cause.",
    Severity.INFO: "Severity info: for your information.",
}
LIVE = "Severity error: `gpuyard check --live` fails until you fix it. The plan is not affected."
"""Severity of a finding of `--live`."""
INDEX_HEAD = """\
# Findings

All findings of `gpuyard check`. An `error` stops the plan. A `warning` or an `info` does not, unless `--fail-on` says
so; warnings about old facts (`*.old`) never do. The meaning of an id does not change.
Each page has the reason, an example and the nearest fix.

| finding | severity | title |
|---|---|---|
"""


def index() -> str:
    """All findings, one line each."""
    known = [proofs.read(kind) for kind in proofs.ids()]
    rows = (
        f"| [{each.id}]({each.id}.md) | {' or '.join(s.value for s in severities(each))} |"
        f" {each.raw['title']} |"
        for each in known
    )
    return INDEX_HEAD + "\n".join(rows) + "\n"


def severities(each: Proofs) -> list[Severity]:
    """Severities of the finding, most severe first."""
    results = {case.severity for case in each.cases if case.found}
    return sorted(results, key=lambda severity: -severity.rank)


def page(each: Proofs) -> str:
    """The page of one finding."""
    first = each.of("bad")[0]
    parts = [
        f"# {each.id}",
        f"**{each.raw['title']}.** {' '.join(_means(each, s) for s in severities(each))}",
        each.raw["why"].strip(),
        "## What to do",
        each.raw["do"].strip(),
        "## For example",
        *_example(first),
    ]
    if cases := _edge_cases(each.of("near_miss"), first):
        parts += ["## Edge cases", *cases]
    if sources := each.raw.get("sources"):
        parts += ["## Sources", "\n".join(f"- {source}" for source in sources)]
    made_from = f"tests/plan/proofs/{each.id}.yaml"
    parts.append(f"[All findings](index.md). This page is made from `{made_from}`.")
    return "\n\n".join(parts) + "\n"


def _means(each: Proofs, severity: Severity) -> str:
    live = severity is Severity.ERROR and each.id.startswith("live.")
    return LIVE if live else MEANS[severity]


def _example(case: Case) -> list[str]:
    """The stack file, the output of `gpuyard check`, and the applied fix."""
    judged = proofs.judged(case)
    finding = next(f for f in judged.findings if f.id == case.id)
    screen = io.StringIO()
    console = Console(screen)
    if not case.text:
        show_finding(finding, console)
        query = [_block("text", case.raw["query"])] if "query" in case.raw else []
        return [*query, _block("text", screen.getvalue())]
    show_judged(judged, console)
    account = case.raw.get("account")
    other = " --against state.json" if "against" in case.raw else ""
    message = (
        f"$ gpuyard check ./{proofs.FILE}{other}{' --live' if account else ''}\n"
        f"{_only(case.id, screen.getvalue())}"
    )
    shown = [_block("yaml", _shortened(case.text)), *_deployed(case)]
    if account:
        shown += ["Answers of the account:", _block("json", json.dumps(account, indent=1))]
    shown.append(_block("text", message))
    if proofs.how_fixed(finding) == "applied" and finding.fix is not None:
        shown += ["The fix, applied:", _block("diff", _change(case, finding.fix))]
    return shown


def _only(kind: str, output: str) -> str:
    """The output of `check` with `...` in place of other findings."""
    *findings, verdict = output.split("\n\n")
    shown = [each if f"why {kind}\n" in f"{each}\n" else "..." for each in findings]
    return "\n\n".join([*(each for each, _ in itertools.groupby(shown)), verdict])


def _deployed(case: Case) -> list[str]:
    """The deployed state of the case."""
    if "against" not in case.raw:
        return []
    steps = case.raw["against"].get("steps")
    message = "The preview has this step:" if steps else "The deployed platform reported:"
    text = yaml.safe_dump(steps or dict(case.raw["against"]), **COMPACT)
    return [message, _block("yaml", text)]


def _change(case: Case, fix: Fix) -> str:
    """The lines that a fix removes and adds."""
    return _difference(case.platform, proofs.applied(case.platform, fix))


def _difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    old, new = (proofs.stack_text(each).splitlines() for each in (before, after))
    return "\n".join(line for line in difflib.ndiff(old, new) if line[:1] in "+-")


def _edge_cases(cases: list[Case], example: Case) -> list[str]:
    """Cases just inside and just outside the limit; those without a name are only for the tests."""
    named = [
        case
        for case in cases
        if case.name and ("query" in case.raw or isinstance(case.raw.get("with"), Mapping))
    ]
    return [f"{_verb(case)}: {case.name}.\n\n{_shorter(case, example)}" for case in named]


def _verb(case: Case) -> str:
    if not case.found:
        return "Passes"
    return "Rejected" if case.severity is Severity.ERROR else "Reported"


def _shorter(case: Case, example: Case) -> str:
    """The query; or the changed sections of the platform, or what differs from the example if that is shorter."""
    if "query" in case.raw:
        return _block("text", case.raw["query"])
    parts = {key: case.platform[key] for key in case.raw["with"] if key in case.platform}
    sections = _shortened(yaml.safe_dump(parts, **COMPACT))
    difference = _difference(example.platform, case.platform)
    if difference and len(difference) < len(sections):
        return _block("diff", difference)
    return _block("yaml", sections)


def _shortened(text: str) -> str:
    lines = text.splitlines()
    if len(lines) <= LONG:
        return text
    half = LONG // 2
    return "\n".join([*lines[:half], f"# … {len(lines) - LONG} lines more …", *lines[-half:]])


def _block(language: str, text: str) -> str:
    return f"```{language}\n{text.strip(chr(10))}\n```"
