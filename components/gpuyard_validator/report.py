"""Report formats: JSON, termination message, JUnit, Prometheus."""

import json
from collections.abc import Iterator, Mapping
from math import isfinite
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from gpuyard_validator.results import Code, Report, Result, Status, worst_action
from gpuyard_validator.values import encode

SCHEMA = "gpuyard.dev/validation-result/v1"
DIGEST_BYTES = 4096
"""Maximum size of a termination message that the kubelet keeps."""
FIGURES_SCHEMA = "gpuyard.dev/figures/v1"
"""Schema of the termination message's last line."""
_TEXT_BYTES = 120
_PART_BYTES, _PARTS = 40, 4
"""Maximum length of a version, and number of versions of one part per node."""
_MORE = "… and {} more\n"
_ROOM = 40
_VALUES = {status: number for number, status in enumerate(Status)}


def as_json(report: Report) -> str:
    """The whole report in one line."""
    document = {
        "schema": SCHEMA,
        "node": report.node,
        "pool": report.pool,
        "source": report.source,
        "driver": report.driver,
        "parts": {part: list(result) for part, result in report.parts.items()},
        "verdict": report.verdict,
        "exit_code": int(report.code),
        "action": worst_action(report.blocking_results).value,
        "counts": {status.value: report.count(status) for status in Status},
        "checks": [
            {
                "id": each.check,
                "scope": each.scope,
                "required": each.required,
                **encode(each.evidence),
            }
            for each in report.results
        ],
    }
    return json.dumps(document) + "\n"


def report_summary(report: Report) -> str:
    """The verdict first, then the reasons; never longer than the kubelet keeps."""
    ran = sum(report.count(s) for s in (Status.PASS, Status.WARN, Status.FAIL, Status.ERROR))
    pool = f", pool {report.pool}" if report.pool else ""
    head = f"{report.verdict}: node {report.node}{pool}: {ran} checks ran,"
    text = _truncate(f"{head} {len(report.blocking_results)} failed", DIGEST_BYTES // 4) + "\n"
    lines = [_line(each) for each in report.blocking_results]
    lines += [_line(each) for each in report.results if each.evidence.status is Status.WARN]
    for number, line in enumerate(lines):
        if len((text + line).encode()) > DIGEST_BYTES - _ROOM:
            return text + _MORE.format(len(lines) - number)
        text += line
    return text


def termination_message(report: Report) -> str:
    """The digest, and as many measurements as fit: a deleted pod cannot be queried.

    The measurements are a line of JSON (FIGURES_SCHEMA): for each check the minimum, the maximum, the
    threshold (`floor`), the unit, and the index of its source in `sources`; and `parts`, versions that should
    be equal on all nodes of a pool.
    """
    text, sources, figures = report_summary(report), dict[str, int](), dict[str, object]()
    line = _line_of_figures(report, figures, sources)
    if _over(text, line):
        return text
    for check, source, row in _measured(report):
        figures[check] = row | {"source": sources.setdefault(source, len(sources))}
        wider = _line_of_figures(report, figures, sources)
        if _over(text, wider):
            break
        line = wider
    return text + line


def _line_of_figures(
    report: Report, figures: Mapping[str, object], sources: Mapping[str, int]
) -> str:
    parts = {
        part: [_truncate(each, _PART_BYTES) for each in result[:_PARTS]]
        for part, result in report.parts.items()
    }
    more = {"schema": FIGURES_SCHEMA, "parts": parts, "checks": figures, "sources": list(sources)}
    return json.dumps(more, separators=(",", ":")) + "\n"


def _over(text: str, line: str) -> bool:
    return len(f"{text}{line}".encode()) > DIGEST_BYTES


def _measured(report: Report) -> Iterator[tuple[str, str, dict[str, object]]]:
    """Each check with a numeric value, over all its devices: its source, and its row without it."""
    for check in dict.fromkeys(_figure(each) for each in report.results):
        seen = [each.evidence for each in report.results if _figure(each) == check]
        values = [value for each in seen if (value := _number(each.value)) is not None]
        if not values:
            continue
        floors = {_number(each.threshold) for each in seen if _number(each.value) is not None}
        floor = floors.pop() if len(floors) == 1 else None
        unit, source = (_truncate(text, _TEXT_BYTES) for text in (seen[0].unit, seen[0].source))
        yield check, source, {"min": min(values), "max": max(values), "floor": floor, "unit": unit}


def _figure(result: Result) -> str:
    return result.figure or result.check


def _number(value: object) -> float | None:
    """A finite number; a bool is not a measurement."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return None
    return value


def _line(result: Result) -> str:
    seen = result.evidence
    text = f"{seen.status}: {result.check} on {result.scope}: {seen.reason}"
    if seen.status in (Status.FAIL, Status.WARN):
        text += f"; value {seen.value}, threshold {seen.threshold} {seen.unit}".rstrip()
        text += f" ({seen.source}); needs: {seen.action}"
    if seen.status is Status.SKIP:
        text = f"required and {text}"
    return _truncate(text, 400) + "\n"


def _truncate(text: str, most: int) -> str:
    """At most this number of bytes, without a partial character."""
    raw = " ".join(text.split()).encode(errors="replace")
    return raw.decode() if len(raw) <= most else raw[: most - 3].decode(errors="ignore") + "…"


def as_junit(report: Report) -> str:
    """A JUnit suite for CI: a required check that was skipped fails there too."""
    suite = Element(
        "testsuite",
        name=f"gpuyard_validator.{_clean(report.pool)}",
        tests=str(len(report.results)),
        failures=str(sum(r.counts_against and not _broke(r) for r in report.results)),
        errors=str(sum(map(_broke, report.results))),
        skipped=str(sum(_is_excluded(r) for r in report.results)),
    )
    for each in report.results:
        case = SubElement(
            suite, "testcase", classname=each.check, name=_clean(f"{each.check} {each.scope}")
        )
        text = _clean(_line(each).strip())
        if _broke(each):
            SubElement(case, "error", message=text)
        elif each.counts_against:
            SubElement(case, "failure", message=text)
        elif _is_excluded(each):
            SubElement(case, "skipped", message=text)
    indent(suite)
    return tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _broke(result: Result) -> bool:
    return result.evidence.status is Status.ERROR


def _is_excluded(result: Result) -> bool:
    return result.evidence.status is Status.SKIP and not result.counts_against


def _clean(text: str) -> str:
    """Without characters that XML cannot contain."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def as_prometheus(report: Report, now: float) -> str:
    """For the node exporter's textfile collector: 0 pass, 1 warn, 2 fail, 3 skipped, 4 error."""
    node = _label(report.node)
    where = f'node="{node}",pool="{_label(report.pool)}"'
    lines = [
        "# HELP gpu_validation_check_status 0 pass, 1 warn, 2 fail, 3 skipped, 4 error.",
        "# TYPE gpu_validation_check_status gauge",
        *(
            f"gpu_validation_check_status{{{_labels(each, node)}}} {_VALUES[each.evidence.status]}"
            for each in report.results
        ),
        "# HELP gpu_validation_passed Whether the node has passed its validation.",
        "# TYPE gpu_validation_passed gauge",
        f"gpu_validation_passed{{{where}}} {int(report.code is Code.PASSED)}",
        "# HELP gpu_validation_last_run_timestamp_seconds Time of the last validation.",
        "# TYPE gpu_validation_last_run_timestamp_seconds gauge",
        f'gpu_validation_last_run_timestamp_seconds{{node="{node}"}} {now:.0f}',
    ]
    return "\n".join(lines) + "\n"


def _labels(result: Result, node: str) -> str:
    required = str(result.required).lower()
    return (
        f'check="{result.check}",node="{node}",gpu="{_label(_gpu(result))}",required="{required}"'
    )


def _gpu(result: Result) -> str:
    return result.scope.removeprefix("gpu ") if result.scope.startswith("gpu ") else ""


def _label(text: str) -> str:
    return _clean(text).replace("\\", "\\\\").replace('"', '\\"')
