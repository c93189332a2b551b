"""The report as JUnit XML: one test per rule and file, for every CI that shows tests."""

import re
from collections import defaultdict
from xml.sax.saxutils import escape, quoteattr

from gpuyard_lint.report import HitState, LintFinding, Report

_CONTROL = re.compile(r"[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(report: Report) -> str:
    """One suite per file; a rule without findings is a passed test of the first suite."""
    by_file: dict[str, list[LintFinding]] = defaultdict(list)
    for hit in report.hits:
        by_file[hit.file].append(hit)
    suites = [_suite(file, by_file.get(file, []), report) for file in report.files]
    failures = len(report.open_findings)
    head = f'<testsuites name="gpuyard lint" failures="{failures}">'
    body = "\n".join(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}\n{body}\n</testsuites>\n'


def _suite(file: str, hits: list[LintFinding], report: Report) -> str:
    violated_rules = {hit.diagnostic.id for hit in hits}
    cases = [_case(hit) for hit in hits]
    cases += [
        f"    <testcase classname={_attr(file)} name={_attr(f'{rule.id} {rule.title}')}/>"
        for rule in report.rules
        if rule.id not in violated_rules
    ]
    unread_here = [
        each for each in report.skipped if each.file == file and not each.is_unrecognized
    ]
    for unreadable in unread_here:
        error = f"<error message={_attr(unreadable.reason)}/>"
        name = f"readable, line {unreadable.line}"
        cases.append(f"    <testcase classname={_attr(file)} name={_attr(name)}>{error}</testcase>")
    failures = sum(hit.state is HitState.OPEN for hit in hits)
    skipped = sum(hit.state is not HitState.OPEN for hit in hits)
    counts = f'tests="{len(cases)}" failures="{failures}" errors="{len(unread_here)}" skipped="{skipped}"'
    inside = "\n".join(cases)
    return f"  <testsuite name={_attr(file)} {counts}>\n{inside}\n  </testsuite>"


def _case(hit: LintFinding) -> str:
    found = hit.diagnostic
    name = f"{found.id} {hit.resource} {found.location}".rstrip()
    if hit.state is HitState.OPEN:
        text = f"{hit.file}:{hit.line}:{hit.column}: {found.problem}\n{found.fix_message}"
        kind = _attr(found.severity.value)
        inner = f"<failure type={kind} message={_attr(found.problem)}>{_inert(escape(_clean(text)))}</failure>"
    else:
        inner = f"<skipped message={_attr(hit.reason or found.problem)}/>"
    return f"    <testcase classname={_attr(hit.file)} name={_attr(name)}>{inner}</testcase>"


def _attr(text: str) -> str:
    return _inert(quoteattr(_clean(text)))


def _inert(xml: str) -> str:
    """Pipelines execute a line that contains `##[` or `##vso[`, or begins with `::`."""
    return xml.replace("##", "&#35;#").replace("::", "&#58;:")


def _clean(text: str) -> str:
    """XML cannot represent most of these, and the others control a terminal."""
    return _CONTROL.sub("?", text)
