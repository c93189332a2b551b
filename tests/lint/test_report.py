"""What becomes of what rules say: places, comments, a baseline, and every format of the same report."""

import datetime as dt
import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from gpuyard_core.errors import UsageError
from gpuyard_core.findings import Severity
from gpuyard_core.manifests.fields import known_value
from gpuyard_lint.formats import baseline_text, github_annotations, junit, read_baseline, sarif
from gpuyard_lint.ignores import parse_ignores
from gpuyard_lint.items import LintInput
from gpuyard_lint.read import read
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import UNKNOWN, AuditReference, Resource, Rule, Violation
from gpuyard_lint.rules.run import Exemption, FindingState, RuleConfiguration


def check(resource, _):
    if known_value(resource.properties.get("size")) == 3:
        yield Violation(("size",), "three, is <wrong>\n100%", "write 2")


def together(stack, _):
    if len(stack.resources) > 1:
        yield Violation((), "too many", "remove one")


ONE = Rule(
    id="GPU-X-01",
    title="Never three",
    severity=Severity.WARNING,
    why="w",
    fix="f",
    sources=("s",),
    references=(AuditReference("CIS EKS 1.8.0", "5.4.1"),),
    kinds=("Widget",),
    check=check,
)
ALL = Rule(
    id="GPU-X-02",
    title="Few",
    severity=Severity.ERROR,
    why="w",
    fix="f",
    sources=("s",),
    kinds=("Widget",),
    check_stack=together,
)


def widget(name="a", size="3", comment="", file_comment=""):
    lines = [
        file_comment or "# nothing",
        "apiVersion: v1",
        "kind: Widget",
        f"metadata: {{name: {name}, namespace: team}}",
        f"size: {size} {comment}",
    ]
    return "\n".join(lines).encode()


def made(*datas, rules=(ONE,), baseline=(), **settings):
    reading, ignores = LintInput(), parse_ignores(b"", "")
    for index, data in enumerate(datas):
        reading += read(data, f"f{index}.yaml")
        ignores += parse_ignores(data, f"f{index}.yaml")
    return build_report(reading, rules, RuleConfiguration(**settings), ignores, baseline)


def test_a_hit_says_file_line_column_and_resource():
    (hit,) = made(widget()).hits
    assert (hit.file, hit.line, hit.column, hit.diagnostic.location) == ("f0.yaml", 5, 1, "size")
    assert (hit.resource_title, hit.state, hit.diagnostic.severity) == (
        "Widget team/a",
        FindingState.OPEN,
        Severity.WARNING,
    )


def test_what_is_about_all_files_stands_in_the_first():
    found = made(widget(size=1), widget("b", size=1), rules=(ALL,)).hits
    assert [(hit.file, hit.line, hit.resource_title) for hit in found] == [("f0.yaml", 1, "")]


def test_hits_come_in_the_order_of_files_and_lines():
    both = widget() + b"\n---\n" + widget("b")
    files = [(hit.file, hit.line) for hit in made(widget(), both).hits]
    assert files == [("f0.yaml", 5), ("f1.yaml", 5), ("f1.yaml", 11)]


@pytest.mark.parametrize(
    ("comment", "where", "state", "note"),
    [
        (
            "# gpuyard: ignore GPU-X-01 because it is old",
            "line",
            FindingState.IGNORED,
            "ignored: it is old",
        ),
        (
            "# gpuyard: ignore GPU-X-02, GPU-X-01 because x",
            "line",
            FindingState.IGNORED,
            "ignored: x",
        ),
        (
            "# gpuyard: ignore-file GPU-X-01 because all",
            "file",
            FindingState.IGNORED,
            "ignored: all",
        ),
        ("# gpuyard: ignore GPU-X-01 because far away", "file", FindingState.OPEN, ""),
        ("# gpuyard: ignore GPU-X-02 because other", "line", FindingState.OPEN, ""),
        ("# gpuyard: ignore GPU-X-01", "line", FindingState.OPEN, ""),
        ("# gpuyard: ignore GPU-X-01 because", "line", FindingState.OPEN, ""),
        ("x# gpuyard: ignore GPU-X-01 because no comment", "line", None, None),
    ],
)
def test_a_comment_with_a_reason_lets_one_place_pass(comment, where, state, note):
    data = widget(comment=comment) if where == "line" else widget(file_comment=comment)
    hits = made(data).hits
    assert [(hit.state, hit.note) for hit in hits] == ([(state, note)] if state else [])


def test_a_comment_may_stand_above():
    data = widget().replace(b"size:", b"# gpuyard: ignore GPU-X-01 because y\nsize:")
    assert [hit.state for hit in made(data).hits] == [FindingState.IGNORED]


def test_a_comment_without_a_reason_is_said():
    (bare,) = made(widget(comment="# gpuyard: ignore GPU-X-01")).without_reason
    assert (bare.file, bare.line, bare.rules) == ("f0.yaml", 5, "GPU-X-01")


@pytest.mark.parametrize(
    ("comment", "unknown"),
    [
        ("# gpuyard: ignore GPU-POD-99, GPU-X-01 because y", ["GPU-POD-99"]),
        ("# gpuyard: ignore-file GPU-Y-01", ["GPU-Y-01"]),
        ("# gpuyard: ignore GPU-POD-03 because y", []),
    ],
)
def test_a_rule_that_a_comment_names_and_that_there_is_not_is_said(comment, unknown):
    said = made(widget(comment=comment)).unknown_rules
    assert [(each.file, each.line, each.rules) for each in said] == [
        ("f0.yaml", 5, rule) for rule in unknown
    ]


def test_what_is_in_the_baseline_does_not_count_and_stays_in_it():
    before = made(widget())
    known_ = read_baseline(baseline_text(before.hits).encode(), "b")
    after = made(b"\n\n" + widget(), baseline=known_)
    assert [hit.state for hit in after.hits] == [FindingState.BASELINE]
    assert not after.is_failed(Severity.INFO)
    assert read_baseline(baseline_text(after.hits).encode(), "b") == known_
    assert made(widget("b"), baseline=known_).is_failed(Severity.WARNING)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"{}", b'{"version": 2, "findings": []}', b"[" * 9999]
)
def test_another_file_is_no_baseline(data):
    with pytest.raises(UsageError, match=r"^b: not a baseline"):
        read_baseline(data, "b")


def test_what_stands_in_a_sample_is_said_and_does_not_count():
    reading = replace(read(widget(), "f0.yaml"), example_files=frozenset({"f0.yaml"}))
    found = build_report(reading, (ONE,))
    assert [(hit.state, hit.note) for hit in found.hits] == [
        (FindingState.EXAMPLE, "in an example file: not counted")
    ]
    assert not found.is_failed(Severity.INFO)
    assert json.loads(baseline_text(found.hits))["findings"] == []
    assert list(github_annotations(found)) == []
    assert "suppressions" in sarif(found, "1")["runs"][0]["results"][0]
    assert "skipped" in junit(found)


def test_a_choice_is_said_and_does_not_count():
    def check(_resource, _):
        yield Violation(("a",), "p", "f", is_advisory=True)

    rule = replace(ONE, check=check)
    found = made(widget(), rules=(rule,))
    assert [(hit.state, hit.note) for hit in found.hits] == [
        (FindingState.ADVISORY, "advisory: not counted")
    ]
    assert not found.is_failed(Severity.INFO)
    assert json.loads(baseline_text(found.hits))["findings"] == []
    assert list(github_annotations(found)) == []
    assert "suppressions" in sarif(found, "1")["runs"][0]["results"][0]
    assert "skipped" in junit(found)
    (hit,) = made(widget(), rules=(rule,), counts_advisory=True).hits
    assert (hit.state, hit.note) == (FindingState.OPEN, "")


def test_what_no_rule_looks_at_is_counted_apart():
    assert (made(widget()).resource_count, made(widget()).checked_resources) == (1, 1)
    other = made(widget().replace(b"Widget", b"Gadget"))
    assert (other.resource_count, other.checked_resources) == (1, 0)


def test_what_is_nobodys_is_no_notice_and_no_error():
    found = made(b"a: 1\n")
    assert found.skipped[0].is_unrecognized
    assert list(github_annotations(found)) == []
    assert "<error" not in junit(found)
    (run,) = sarif(found, "1")["runs"]
    assert run["invocations"][0]["toolExecutionNotifications"][0]["level"] == "note"


def test_a_violation_may_be_less_grave_than_its_rule():
    def check_two(_resource, _):
        yield Violation(("a",), "p", "f", severity=Severity.INFO)
        yield Violation(("b",), "p", "f")

    rule = replace(ONE, check=check_two)
    assert [hit.diagnostic.severity for hit in made(widget(), rules=(rule,)).hits] == [
        Severity.INFO,
        Severity.WARNING,
    ]
    strict = {"GPU-X-01": Severity.ERROR}
    found = made(widget(), rules=(rule,), severities=strict).hits
    assert [hit.diagnostic.severity for hit in found] == [Severity.ERROR] * 2


def test_junk_in_a_baseline_is_nothing_known():
    data = json.dumps({"version": 1, "findings": [5, {}, {"fingerprint": 5}, {"fingerprint": "a"}]})
    assert read_baseline(data.encode(), "b") == frozenset({"a"})


def test_an_exception_is_told_apart_from_a_pass():
    exempt = Exemption("GPU-X-01", "a", "moves", dt.date(2027, 1, 1))
    (hit,) = made(widget(), exemptions=(exempt,)).hits
    assert (hit.state, hit.note) == (FindingState.EXEMPTED, "exception until 2027-01-01: moves")


def test_the_report_fails_from_a_severity_on():
    assert made(widget()).is_failed(Severity.WARNING)
    assert not made(widget()).is_failed(Severity.ERROR)
    assert made(widget()).counts()["open"] == 1


def everything():
    data = (
        widget() + b"\n---\n" + widget("b", comment="# gpuyard: ignore GPU-X-01 because ] ]> <x>")
    )
    reading = read(data, "a b.yaml") + read(b"{{ x }}: [", "t.yaml") + read(b"\x00", "z.yaml")
    unknown = read(widget("c"), "u.json").items[0]
    unseen = Resource("v1/Widget", "c", {"size": UNKNOWN})
    reading += LintInput((type(unknown)(unseen, unknown.place),), (), ("u.json",))
    return build_report(reading, (ONE, ALL), RuleConfiguration(), parse_ignores(data, "a b.yaml"))


def test_sarif_says_all_of_it():
    document = sarif(everything(), "1.2.3")
    json.dumps(document)
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["GPU-X-01", "GPU-X-02"]
    assert rules[0]["properties"]["tags"] == ["gpu", "CIS EKS 1.8.0 5.4.1"]
    levels = {(r["ruleId"], r["level"], r.get("kind")) for r in run["results"]}
    assert levels == {
        ("GPU-X-01", "warning", None),
        ("GPU-X-01", "none", "open"),
        ("GPU-X-02", "error", None),
    }
    suppressed = [r["suppressions"][0]["kind"] for r in run["results"] if "suppressions" in r]
    assert suppressed == ["inSource"]
    said = run["invocations"][0]["toolExecutionNotifications"]
    assert [each["level"] for each in said] == ["note", "warning"]
    uris = {
        r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in run["results"]
    }
    assert uris == {"a%20b.yaml", "u.json"}


def test_a_rule_of_a_baseline_is_suppressed_from_outside():
    known_ = read_baseline(baseline_text(made(widget()).hits).encode(), "b")
    (result,) = sarif(made(widget(), baseline=known_), "1")["runs"][0]["results"]
    assert result["suppressions"] == [{"kind": "external", "justification": "in the baseline"}]


def test_junit_counts_what_it_says():
    root = ET.fromstring(junit(everything()))  # noqa: S314  made a line above
    assert root.tag == "testsuites"
    assert root.get("failures") == "2"
    by_file = {suite.get("name"): suite for suite in root}
    assert set(by_file) == {"a b.yaml", "t.yaml", "z.yaml", "u.json"}
    first = by_file["a b.yaml"]
    assert (first.get("failures"), first.get("skipped")) == ("2", "1")
    assert len(first) == int(first.get("tests"))
    assert by_file["z.yaml"].get("errors") == "1"
    failure = first.find("testcase/failure[@type='warning']")
    assert failure.get("message") == "three, is <wrong>\n100%"


def test_github_gets_a_line_for_each():
    lines = [line.rstrip("\n") for line in github_annotations(everything())]
    assert lines[1] == (
        "::warning file=a b.yaml,line=5,col=1,title=GPU-X-01 Never three"
        "::three, is <wrong>%0A100%25; write 2"
    )
    assert lines[0].startswith("::error file=a b.yaml,line=1,")
    assert lines[2].startswith("::notice file=t.yaml,line=1,title=not read::a template")
    assert len(lines) == 4


def test_the_rules_there_are_have_ids_of_their_own():
    assert len({rule.id for rule in RULES}) == len(RULES)
