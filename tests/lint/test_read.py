"""Files become resources with places; what is not understood is said with a reason and a line."""

import json

import pytest

from gpuyard.render.files import render_files
from gpuyard_core.findings import Severity
from gpuyard_lint.combined.evaluation import evaluate_files
from gpuyard_lint.combined.scopes import scopes
from gpuyard_lint.items import SkippedFile
from gpuyard_lint.read import PLACEHOLDER_FILE, read
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.run import DEFAULT_CONFIGURATION
from kit.stacks import plan_of, platform, stack_file

QUOTA = b"""\
# a comment
apiVersion: v1
kind: ResourceQuota
metadata:
  name: gpus
spec:
  hard:
    limits.nvidia.com/gpu: 8
"""


def names(reading):
    return [(item.resource.kind, item.resource.name) for item in reading.items]


def test_an_object_is_read_with_its_place():
    (item,) = read(QUOTA, "q.yaml").items
    assert (item.resource.kind, item.resource.name) == ("v1/ResourceQuota", "gpus")
    assert item.place.position(("spec", "hard", "limits.nvidia.com/gpu")) == (8, 5)
    assert item.place.position(("spec", "nothing", 5)) == (6, 1)
    assert item.place.position(()) == (2, 1)


def test_documents_and_lists_hold_many():
    data = (
        b"---\n"
        + QUOTA
        + b"---\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n"
    )
    reading = read(data, "many.yaml")
    assert names(reading) == [("v1/ResourceQuota", "gpus"), ("v1/Pod", "(no name)")]
    assert reading.items[1].place.position(("kind",)) == (15, 3)
    assert reading.skipped == ()


def test_json_is_read_as_well():
    data = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}, indent=1)
    (item,) = read(data.encode(), "p.json").items
    assert item.place.position(("metadata", "name")) == (5, 3)


def test_a_list_may_hold_lists_and_never_itself():
    data = b"&a\napiVersion: v1\nkind: List\nitems: [*a]\n"
    assert "no complete anchor" in read(data, "x").skipped[0].reason
    deep = (
        b"{apiVersion: v1, kind: List, items: [" * 25 + b"{apiVersion: v1, kind: Pod}" + b"]}" * 25
    )
    assert names(read(deep, "x")) == [("v1/Pod", "(no name)")]
    assert names(read(b"{apiVersion: v1, kind: PodList, items: [5, {kind: Pod}]}", "x")) == []


@pytest.mark.parametrize(
    ("data", "reason", "line"),
    [
        (b"", "empty", 1),
        (b"---\n---\n", "empty", 1),
        (b"a: 1\n", "no known format", 1),
        (b"\n\n- 1\n", "no known format", 3),
        (b"a: 1\nb: [\n", "not YAML: line 2, at its end: did not find", 2),
        (b"a: 1\nb: {limits: {gpu: ${N}}}\nc: 1", PLACEHOLDER_FILE, 2),
        (b"\xff\xfe\x00", "not text", 1),
        (b"a: *b\n", "no complete anchor &b", 1),
        (b"[" * 100, "nested more than 60 deep", 1),
        (b"\x00\x01", "not YAML", 1),
    ],
)
def test_what_cannot_be_read_is_said_with_a_line(data, reason, line):
    (unread,) = read(data, "f").skipped
    assert reason in unread.reason
    assert (unread.file, unread.line) == ("f", line)
    assert unread.template is (reason == PLACEHOLDER_FILE)


@pytest.mark.parametrize(
    ("data", "reason", "line"),
    [
        (b"{", "not JSON: line 1, column 2: Expecting property name enclosed in double quotes", 1),
        (b'{"gpu": 1,\n "a": [1\n', "not JSON: line 3, column 1: Expecting ',' delimiter", 3),
        (b'{"a": ${N}', "not JSON: line 1, column 7: Expecting value", 1),
        (b'{\0"\0x', "not YAML: control characters are not allowed", 1),
        (b'{"a": *b}', "line 1: *b has no complete anchor &b before it", 1),
        (
            b'{"apiVersion": "v1", "kind": "Pod", "a": "\x7f"}',
            "not YAML: control characters are not allowed",
            1,
        ),
        (
            b'{"apiVersion": "v1", "kind": "Pod", "a": ' + b"[" * 100 + b"]" * 100 + b"}",
            "line 1: nested more than 60 deep",
            1,
        ),
    ],
)
def test_of_a_file_of_json_it_is_said_what_is_wrong_as_json(data, reason, line):
    (unread,) = read(data, "f.json").skipped
    assert (unread.reason[: len(reason)], unread.line) == (reason, line)


def test_a_stack_file_is_sent_to_the_command_that_proves_it():
    (unread,) = read(stack_file(platform()), "s.yaml").skipped
    own = "a stack file: validate it with `gpuyard check`; --stack applies its `policies`"
    assert (unread.reason, unread.line) == (own, 1)


def test_every_file_that_render_writes_is_read():
    for name, text in render_files(plan_of(platform()), {}).items():
        assert read(text.encode(), name).skipped == (), name


def test_a_template_is_said_to_be_one():
    data = b'apiVersion: v1\nkind: Pod\nmetadata:\n  {{- include "x" . | nindent 2 }}\n'
    assert read(data, "t.yaml").skipped == (
        SkippedFile(
            "t.yaml",
            "a template, not YAML: render it first (helm template, kustomize build)",
            4,
            template=True,
        ),
    )


@pytest.mark.parametrize(
    "text", ["%{ for zone in zones ~}\na: ${zone}\n%{ endfor ~}\n", "a: b\n%{~ if gpus }\nc: d\n"]
)
def test_a_template_of_terraform_is_one_too(text):
    (unread,) = read(text.encode(), "nodes.yaml").skipped
    assert unread.template
    assert unread.line == text[: text.index("%{")].count("\n") + 1


@pytest.mark.repeats("tests/spec/test_yaml_tree.py and tests/lint/test_report.py")
def test_anchors_that_grow_without_end_are_refused():
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    (unread,) = read("\n".join(lines).encode(), "bomb").skipped
    assert "values once anchors are expanded" in unread.reason


def test_readings_add_up():
    both = read(QUOTA, "a") + read(b"", "b")
    assert (len(both.items), len(both.skipped), both.files) == (1, 1, ("a", "b"))


def test_documents_are_counted_as_values_are(monkeypatch):
    monkeypatch.setattr("gpuyard_core.yaml_tree.MAX_DOCUMENTS", 3)
    assert read(b"---\na: 1\n" * 3, "x.yaml").skipped[0].reason.startswith("no known format")
    (unread,) = read(b"---\na: 1\n" * 4, "x.yaml").skipped
    assert unread.reason == "line 7: more than 3 documents"


def test_values_have_a_limit_of_their_own_however_large_a_file_may_be(monkeypatch):
    monkeypatch.setattr("gpuyard_core.yaml_tree.MAX_VALUES", 2)
    assert "no known format" in read(b"[" + b"1," * 18 + b"]", "x.yaml").skipped[0].reason
    (unread,) = read(b"[" + b"1," * 21 + b"]", "x.yaml").skipped
    assert "more than 20 values once anchors are expanded" in unread.reason


def test_a_list_of_counters_is_read_and_any_other_table_is_nobodys():
    reading = read(b"# of ours\nDCGM_FI_DEV_GPU_UTIL, gauge, use\n", "exporter/counters.csv")
    assert [item.resource.kind for item in reading.items] == ["config:dcgm-counters"]
    assert reading.items[0].resource.name == "counters.csv"
    assert reading.items[0].resource.properties == {"fields": ["DCGM_FI_DEV_GPU_UTIL"]}
    other = read(b"a,b\n1,2\n", "data.csv")
    assert (other.items, other.skipped, other.files) == ((), (), ())


def test_values_of_the_device_plugins_own_chart_are_told_from_the_operators():
    text = b"gfd: {enabled: true}\ndevicePlugin: {enabled: true}\ncompatWithCPUManager: true\n"
    (item,) = read(text, "values.yaml").items
    assert item.resource.kind == "values:nvidia-device-plugin"
    (item,) = read(text + b"toolkit: {}\n", "values.yaml").items
    assert item.resource.kind == "values:gpu-operator"


def test_a_copy_of_a_chart_says_which_version_reads_the_objects_beside_it():
    pool = (
        b"apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: gpu}\n"
        b"spec: {template: {spec: {nodeClassRef: {name: gpu}}}}\n"
    )

    def said(*charts):
        found = read(pool, "karpenter/pool.yaml")
        for number, each in enumerate(charts):
            found += read(each, f"karpenter/{number}/Chart.yaml")
        outcomes = evaluate_files(found, RULES, DEFAULT_CONFIGURATION, scopes(found))
        return [o.diagnostic.severity for o in outcomes if o.rule.id == "GPU-CFG-03"]

    copy = b"apiVersion: v2\nname: karpenter\nversion: 0.33.1\n"
    parent = (
        b"apiVersion: v2\nname: mine\nversion: 9.0.0\n"
        b"dependencies: [{name: karpenter, version: 0.37.0}]\n"
    )
    other = b"apiVersion: v2\nname: mine\nversion: 0.1.0\n"
    queue = b"apiVersion: v2\nname: kueue\nversion: 0.10.0\n"
    assert said(other) == said(queue) == [Severity.WARNING, Severity.WARNING]
    assert said(copy) == said(parent) == said(copy, parent) == [Severity.INFO]
    newer = copy.replace(b"0.33.1", b"1.6.0")
    assert said(copy, newer) == [Severity.WARNING, Severity.WARNING]
