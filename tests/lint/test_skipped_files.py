"""What is passed over at its first bytes, what is read document by document, and what counts as a sample."""

import json

from gpuyard_core.yaml_tree import parse_documents
from gpuyard_lint import read as reading_of
from gpuyard_lint import skipped_files
from gpuyard_lint.combined.example_files import is_example_file
from gpuyard_lint.read import read
from kit.every import every

CRD = b"""\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: x}
"""
POD = b"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"


def kinds(reading):
    return [item.resource.kind for item in reading.items]


@every(
    ("data", "found"),
    [
        (b"", []),
        (b"---", [(0, b"---")]),
        (b"---a\n", [(0, b"---a\n")]),
        (b"a\n---", [(0, b"a\n"), (1, b"---")]),
        (b"a\n---\nb\n--- # c\nd", [(0, b"a\n"), (1, b"---\nb\n"), (3, b"--- # c\nd")]),
        (b"---\r\na\n---\tb", [(0, b"---\r\na\n"), (2, b"---\tb")]),
        (b"a\n----\n ---\n\n---x\n", [(0, b"a\n----\n ---\n\n---x\n")]),
        (b"\n\n---\n---\na", [(2, b"---\n"), (3, b"---\na")]),
    ],
)
def test_documents_are_parted_by_lines_that_begin_with_three_dashes_alone(data, found):
    assert skipped_files.split_documents(data) == found


def test_definitions_are_passed_over_and_the_rest_of_the_file_is_read():
    reading = read(CRD + b"---\n" + POD + b"---\n" + CRD, "x.yaml")
    assert read(b"\n---\n" + CRD, "x.yaml").items == ()
    assert (kinds(reading), reading.skipped) == (["v1/Pod"], ())
    assert reading.items[0].place.position(("kind",)) == (6, 1)
    (unread,) = read(CRD, "x.yaml").skipped
    assert (unread.is_unrecognized, unread.reason) == (True, skipped_files.DEFINITIONS)
    both = read(CRD + b"---\n" + POD + b"---\na: [\n", "x.yaml")
    assert [(each.line, each.is_unrecognized) for each in both.skipped] == [(9, False)]


@every(
    "data",
    [
        b"openapi: 3.0.0\ninfo: {}\n",
        b'{"swagger": "2.0"}',
        b'{"$schema": "http://json-schema.org/schema#", "type": "object"}',
        b'{"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1"}',
    ],
)
def test_schemas_are_nobodys(data):
    (unread,) = read(data, "x.json").skipped
    assert (unread.is_unrecognized, unread.reason) == (True, skipped_files.DEFINITIONS)


def test_a_dashboard_may_name_its_schema():
    data = b'{"$schema": "x", "panels": [{"targets": []}], "title": "t"}'
    assert kinds(read(data, "x.json")) == ["config:grafana-dashboard"]


def test_a_large_file_of_json_is_read_where_a_reader_takes_it():
    data = json.dumps({"rows": ["x" * 100] * 1000}).encode()
    assert len(data) > 64 * 1024
    assert read(data, "x.json").skipped[0].is_unrecognized
    pod = json.dumps({"apiVersion": "v1", "kind": "Pod", "spec": {"a": "x" * 70_000}}).encode()
    assert kinds(read(pod, "x.json")) == ["v1/Pod"]
    broken = read(data[:-1], "x.json").skipped[0]
    assert broken.reason.startswith("line 1, column") or "not JSON" in broken.reason


def test_a_very_large_one_is_known_by_its_head(monkeypatch):
    monkeypatch.setattr(skipped_files, "_SMALL", 10)
    monkeypatch.setattr(skipped_files, "_LARGE", 30)
    assert read(b'{"rows": [1, 2, 3, 4, 5, 6, 7, 8, 9]}', "x.json").skipped[0].is_unrecognized
    assert kinds(read(b'{"apiVersion": "v1", "kind": "Pod"}', "x.json")) == ["v1/Pod"]


def test_one_template_does_not_drop_the_file():
    data = POD + b"---\na: {{ .Values.x }}\n---\n" + POD
    reading = read(data, "x.yaml")
    assert kinds(reading) == ["v1/Pod", "v1/Pod"]
    assert [(each.template, each.line) for each in reading.skipped] == [(True, 5)]
    assert reading.items[1].place.position(("kind",)) == (8, 1)
    two = read(POD + b"---\na: [\n---\nb: 1\n", "x.yaml")
    assert [(each.line, each.is_unrecognized) for each in two.skipped] == [(5, False), (7, True)]
    assert two.skipped[0].reason.startswith("not YAML: line 5, at its end: ")


def test_a_configuration_in_a_later_document_has_its_own_lines():
    config = (
        b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  any: |\n    version: v1\n"
        b"    sharing: {timeSlicing: {resources: []}}\n"
    )
    reading = read(b"a: {{x}}{{\n---\n" + config, "x.yaml")
    assert kinds(reading) == ["v1/ConfigMap", "config:device-plugin"]
    assert reading.items[1].place.position(("sharing",)) == (9, 1)


def test_what_has_no_end_of_documents_is_read_as_one(monkeypatch):
    monkeypatch.setattr("gpuyard_lint.read._MOST_PARTS", 2)
    reading = read(POD + b"---\na: [\n---\n" + POD, "x.yaml")
    assert (reading.items, len(reading.skipped)) == ((), 1)


def test_another_programs_settings_are_nobodys_unless_they_speak_of_gpus():
    assert read(b'{"a": "b" "c"}', "tsconfig.json").skipped[0].is_unrecognized
    assert not read(b'{"gpu": "a" "b"}', "nodes.json").skipped[0].is_unrecognized


@every(
    "name, expected",
    [
        ("examples/job.yaml", True),
        ("a/Samples/job.yaml", True),
        ("pkg/testdata/x.yaml", True),
        ("vendor/y/x.yaml", True),
        ("test/e2e/x.yaml", True),
        ("test/x.yaml", True),
        ("clusters/test/x.yaml", False),
        ("examples.yaml", False),
        ("docs/v1.2/x.yaml", True),
        ("site/static/v0.18/x.yaml", True),
        ("website/versioned_docs/version-1.0/x.yaml", True),
        ("docs/latest/x.yaml", False),
        ("charts/v2/x.yaml", False),
        ("x.yaml", False),
    ],
)
def test_a_sample_is_known_by_its_folders(name, expected):
    assert is_example_file(name) is expected


def test_a_large_file_of_numbers_is_passed_over_without_a_look_at_what_they_are():
    def fits(_):
        raise AssertionError

    numbers = b'{"instances": [' + b"0.123456, " * 20_000 + b"1]}"
    assert skipped_files.is_irrelevant_file(numbers, fits)
    words = b'{"a": [' + b'"b", ' * 20_000 + b"1]}"
    assert not skipped_files.is_irrelevant_file(words, lambda value: "a" in value)


@every(
    ("data", "lines"),
    [
        (b"{}", [1]),
        (b"[1, 2]", [1]),
        (b'\n\n  {"driver": 5,\n"toolkit": 7}\n', []),  # as values of the operator's chart
        (b'\n\n  {"driver": 5,\n"a": [{}]}\n', [3]),
        (b'{"a": 1}\n\n{"b": {"c": []}}\n', [1, 3]),
    ],
)
def test_json_of_nobody_is_told_apart_without_the_reader_that_keeps_places(
    monkeypatch, data, lines
):
    as_yaml = read(data.replace(b"1}", b"1,}").replace(b"]}", b"],}"), "x.json")
    given: list[bytes] = []

    def parse(part, *rest):
        given.append(part)
        return parse_documents(part, *rest)

    monkeypatch.setattr(reading_of, "parse_documents", parse)
    reading = read(data, "x.json")
    assert [(each.line, each.is_unrecognized) for each in reading.skipped] == [
        (n, True) for n in lines
    ]
    assert (reading.skipped, kinds(reading)) == (as_yaml.skipped, kinds(as_yaml))
    assert len(given) == (not lines or len(lines) > 1)  # lines of JSON are first tried as one


@every(
    ("data", "file"),
    [
        (b'{"resources": ["a.yaml"]}', "kustomization.yaml"),
        (b'{"name": "p", "runtime": "python"}', "x.json"),
        (b'{"config": {"gpuyard:platform": {}}}', "x.json"),
        (b'{"apiVersion": "v1", "kind": "Pod"}', "x.json"),
        (b'{"a": 1} x', "x.json"),
        (b"[" * 5_000, "x.json"),
        (b"a: 1", "x.json"),
    ],
)
def test_json_of_which_something_is_to_be_said_is_read(monkeypatch, data, file):
    given: list[bytes] = []
    monkeypatch.setattr(reading_of, "parse_documents", lambda data, *_: given.append(data) or [])
    read(data, file)
    assert given == [data]


def test_json_of_very_many_values_is_not_made_into_values(monkeypatch):
    monkeypatch.setattr(skipped_files, "_SMALL", 10)
    monkeypatch.setattr(skipped_files, "_MANY", 7)
    assert skipped_files.unrecognized_json_line(b"[" + b"[]," * 3 + b"5]", lambda _: False) == 1
    assert skipped_files.unrecognized_json_line(b"[" + b"[]," * 9 + b"5]", lambda _: False) is None
    monkeypatch.setattr(skipped_files, "_LARGE", 20)
    assert skipped_files.unrecognized_json_line(b"[5" + b" " * 20 + b"]", lambda _: False) is None


def test_a_list_of_words_is_no_values_of_a_chart_though_it_has_a_charts_words():
    words = {"driver": 1, "toolkit": 2, "migManager": 3}
    assert kinds(read(json.dumps(words).encode(), "x.json")) == ["values:gpu-operator"]
    many = {f"w{number}": number for number in range(1000)}
    assert kinds(read(json.dumps(words | many).encode(), "x.json")) == []
