"""The report as SARIF, as JUnit XML, as annotations of GitHub and as a baseline."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from gpuyard_core.errors import UsageError
from gpuyard_core.findings import Severity
from gpuyard_lint.items import SkippedFile
from gpuyard_lint.report import Report
from gpuyard_lint.rules.rule import Rule
from gpuyard_lint.rules.run import Finding, FindingState

# SARIF 2.1.0, for code-scanning views (docs.oasis-open.org/sarif/sarif/v2.1.0)
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def sarif(report: Report, version: str) -> dict[str, Any]:
    """One run with every rule, its results, and the files that could not be read."""
    driver = {
        "name": "gpuyard",
        "version": version,
        "rules": [_rule(rule) for rule in report.rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": list(sarif_results(report)),
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [_notification(each) for each in report.skipped],
            }
        ],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def sarif_results(report: Report) -> Iterator[dict[str, Any]]:
    """The results of the rules, one at a time: a hundred thousand use much memory."""
    index = {rule.id: number for number, rule in enumerate(report.rules)}
    for hit in report.hits:
        yield _result(hit, index[hit.diagnostic.id])


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": rule.id.replace("-", ""),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": rule.fix},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": ["gpu", *map(str, rule.references)]},
    }


def _result(hit: Finding, index: int) -> dict[str, Any]:
    found = hit.diagnostic
    where = f"{found.location}: " if found.location else ""
    result: dict[str, Any] = {
        "ruleId": found.id,
        "ruleIndex": index,
        "level": _LEVELS[found.severity],
        "message": {"text": f"{where}{found.problem_and_fix}"},
        "locations": [_location(hit.file, hit.line, hit.column, hit.resource_title)],
        "partialFingerprints": {"gpuyard/v1": hit.fingerprint},
    }
    if hit.state is FindingState.NOT_EVALUATED:
        result |= {"kind": "open", "level": "none"}
    elif hit.state is not FindingState.OPEN:
        kind = "inSource" if hit.state is FindingState.IGNORED else "external"
        result["suppressions"] = [{"kind": kind, "justification": hit.note}]
    return result


def _location(file: str, line: int, column: int, resource: str = "") -> dict[str, Any]:
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(file.replace("\\", "/"))},
            "region": {"startLine": line, "startColumn": column},
        }
    }
    if resource:
        location["logicalLocations"] = [{"fullyQualifiedName": resource, "kind": "resource"}]
    return location


def _notification(skipped: SkippedFile) -> dict[str, Any]:
    return {
        "level": "note" if skipped.template or skipped.is_unrecognized else "warning",
        "message": {"text": skipped.reason},
        "locations": [_location(skipped.file, skipped.line, 1)],
    }


# JUnit XML: one test per rule and file, for every CI that shows tests
_CONTROL = re.compile(r"[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(report: Report) -> str:
    """One suite per file; a rule without findings is a passed test of the first suite."""
    by_file: dict[str, list[Finding]] = defaultdict(list)
    for hit in report.hits:
        by_file[hit.file].append(hit)
    suites = [_suite(file, by_file.get(file, []), report) for file in report.files]
    failures = len(report.open_findings)
    head = f'<testsuites name="gpuyard lint" failures="{failures}">'
    body = "\n".join(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}\n{body}\n</testsuites>\n'


def _suite(file: str, hits: list[Finding], report: Report) -> str:
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
    failures = sum(hit.state is FindingState.OPEN for hit in hits)
    skipped = sum(hit.state is not FindingState.OPEN for hit in hits)
    counts = f'tests="{len(cases)}" failures="{failures}" errors="{len(unread_here)}" skipped="{skipped}"'
    inside = "\n".join(cases)
    return f"  <testsuite name={_attr(file)} {counts}>\n{inside}\n  </testsuite>"


def _case(hit: Finding) -> str:
    found = hit.diagnostic
    name = f"{found.id} {hit.resource_title} {found.location}".rstrip()
    if hit.state is FindingState.OPEN:
        text = f"{hit.file}:{hit.line}:{hit.column}: {found.problem}\n{found.fix_message}"
        kind = _attr(found.severity.value)
        inner = f"<failure type={kind} message={_attr(found.problem)}>{_inert(escape(_clean(text)))}</failure>"
    else:
        inner = f"<skipped message={_attr(hit.note or found.problem)}/>"
    return f"    <testcase classname={_attr(hit.file)} name={_attr(name)}>{inner}</testcase>"


def _attr(text: str) -> str:
    return _inert(quoteattr(_clean(text)))


def _inert(xml: str) -> str:
    """Pipelines execute a line that contains `##[` or `##vso[`, or begins with `::`."""
    return xml.replace("##", "&#35;#").replace("::", "&#58;:")


def _clean(text: str) -> str:
    """XML cannot represent most of these, and the others control a terminal."""
    return _CONTROL.sub("?", text)


# annotations of a pull request (GitHub workflow commands)
_WORDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def github_annotations(report: Report) -> Iterator[str]:
    """A line for each open finding and each file that could not be read."""
    for hit in report.open_findings:
        found = hit.diagnostic
        place = f"file={_property(hit.file)},line={hit.line},col={hit.column}"
        title = _property(f"{found.id} {hit.rule.title}")
        text = _data(f"{found.problem}; {found.fix_message}")
        yield f"::{_WORDS[found.severity]} {place},title={title}::{text}\n"
    for skipped in (each for each in report.skipped if not each.is_unrecognized):
        place = f"file={_property(skipped.file)},line={skipped.line}"
        yield f"::notice {place},title=not read::{_data(skipped.reason)}\n"


def _data(text: str) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


# known findings, so that only new ones fail
BASELINE_VERSION = 1


def read_baseline(data: bytes, file: str) -> frozenset[str]:
    """The fingerprints of a baseline file."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as e:
        raise UsageError(f"{file}: not a baseline: {e}. Write it with --write-baseline.") from None
    known = value.get("findings") if isinstance(value, dict) else None
    if not isinstance(known, list) or value.get("version") != BASELINE_VERSION:
        raise UsageError(
            f"{file}: not a baseline of version {BASELINE_VERSION}. Recreate it with --write-baseline."
        )
    prints = [each.get("fingerprint") for each in known if isinstance(each, dict)]
    return frozenset(each for each in prints if isinstance(each, str))


def baseline_text(hits: Sequence[Finding]) -> str:
    """The text of a baseline with all open findings and those of the last baseline."""
    recorded = [hit for hit in hits if hit.state in {FindingState.OPEN, FindingState.BASELINE}]
    findings = [
        {
            "fingerprint": hit.fingerprint,
            "rule": hit.diagnostic.id,
            "file": hit.file,
            "resource": hit.resource_title,
            "problem": hit.diagnostic.problem,
        }
        for hit in recorded
    ]
    return json.dumps({"version": BASELINE_VERSION, "findings": findings}, indent=2) + "\n"
