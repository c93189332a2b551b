"""The report as SARIF 2.1.0, for code-scanning views (docs.oasis-open.org/sarif/sarif/v2.1.0)."""

from collections.abc import Iterator
from typing import Any

from gpuyard_core.findings import Diagnostic, Severity
from gpuyard_lint.items import SkippedFile
from gpuyard_lint.report import HitState, LintFinding, Report
from gpuyard_lint.rules.rule import Rule

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
        "results": list(results(report)),
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [_notification(each) for each in report.skipped],
            }
        ],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def results(report: Report) -> Iterator[dict[str, Any]]:
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


def _result(hit: LintFinding, index: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": hit.diagnostic.id,
        "ruleIndex": index,
        "level": _LEVELS[hit.diagnostic.severity],
        "message": {"text": _message(hit.diagnostic)},
        "locations": [_location(hit.file, hit.line, hit.column, hit.resource)],
        "partialFingerprints": {"gpuyard/v1": hit.fingerprint},
    }
    if hit.state is HitState.NOT_EVALUATED:
        result |= {"kind": "open", "level": "none"}
    elif hit.state is not HitState.OPEN:
        kind = "inSource" if hit.state is HitState.IGNORED else "external"
        result["suppressions"] = [{"kind": kind, "justification": hit.reason}]
    return result


def _message(found: Diagnostic) -> str:
    where = f"{found.location}: " if found.location else ""
    return f"{where}{found.problem_and_fix}"


def _location(file: str, line: int, column: int, resource: str = "") -> dict[str, Any]:
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(file)},
            "region": {"startLine": line, "startColumn": column},
        }
    }
    if resource:
        location["logicalLocations"] = [{"fullyQualifiedName": resource, "kind": "resource"}]
    return location


def _uri(file: str) -> str:
    from urllib.parse import quote

    return quote(file.replace("\\", "/"))


def _notification(skipped: SkippedFile) -> dict[str, Any]:
    return {
        "level": "note" if skipped.template or skipped.is_unrecognized else "warning",
        "message": {"text": skipped.reason},
        "locations": [_location(skipped.file, skipped.line, 1)],
    }
