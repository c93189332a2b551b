"""A chart that another takes in from a folder beside it is judged with what that one has for it."""

import pytest

from gpuyard_core.manifests.fields import UNKNOWN
from gpuyard_lint.items import ValuesOverlay
from gpuyard_lint.layers.parent_charts import parent_chart_overrides
from gpuyard_lint.report import HitState, build_report
from gpuyard_lint.rules import RULES
from kit.cases.reading import read_in
from kit.every import every

CHILD = "apiVersion: v2\nname: serve\nversion: 1.0.0\n"
AROUND = (
    "apiVersion: v2\nname: all\nversion: 1.0.0\ndependencies:\n"
    "- {name: serve, version: 1.0.0, repository: 'file://../serve'%s}\n"
)


@every(
    ("more", "values", "sets"),
    [
        ("", "serve: {a: 1}\n", [{"a": 1}]),
        ("", "serve: {a: 1}\nglobal: {b: 2}\n", [{"a": 1, "global": {"b": 2}}]),
        (", alias: s", "serve: {a: 1}\ns: {a: 2}\n", [{"a": 2}]),
        ("", "other: {}\n", [{}]),
        ("", "{{ a }}: b: c\n", [UNKNOWN]),
        (", condition: serve.enabled", "serve: {enabled: false}\n", []),
        (", condition: serve.enabled", "serve: {enabled: true}\n", [{"enabled": True}]),
        (", condition: 'x.on, serve.enabled'", "serve: {enabled: false}\nx: 1\n", []),
        (", condition: serve.enabled", "serve: {a: 1}\n", [{"a": 1}]),
    ],
)
def test_what_a_chart_has_for_one_beside_it_goes_over_its_values(more, values, sets):
    files = {"all/Chart.yaml": AROUND % more, "all/values.yaml": values, "serve/Chart.yaml": CHILD}
    found = [*parent_chart_overrides(files, files.get)]
    assert found == [ValuesOverlay(("serve/values.yaml",), (each,)) for each in sets]


@every(
    "files",
    [
        {"all/Chart.yaml": AROUND % ""},
        {"all/Chart.yaml": (AROUND % "").replace("file://../serve", "https://example.org")},
        {"all/Chart.yaml": "a: {{ b }}\nx: file://\n", "serve/Chart.yaml": CHILD},
        {"all/Chart.yaml": "dependencies: [{name: a}]\nx: file://\n", "serve/Chart.yaml": CHILD},
    ],
)
def test_one_that_is_not_in_view_gets_nothing(files):
    assert [*parent_chart_overrides(files, files.get)] == []


def test_a_chart_without_values_takes_one_in_as_it_is():
    files = {"Chart.yaml": (AROUND % "").replace("../serve", "serve"), "serve/Chart.yaml": CHILD}
    assert [*parent_chart_overrides(files, files.get)] == [
        ValuesOverlay(("serve/values.yaml",), ({},))
    ]


OLD = "gpu-operator:\n  toolkit: {version: v1.17.4-ubi8}\n  driver: {enabled: false}\n"
NEW = "serve: {gpu-operator: {toolkit: {version: v1.19.1-ubi8}}}\n"


@pytest.mark.parametrize(("values", "told"), [(NEW, []), ("serve: {}\n", ["serve/values.yaml"])])
def test_values_that_the_chart_around_overrides_are_nobodys(values, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {
        "all/Chart.yaml": AROUND % "",
        "all/values.yaml": values,
        "serve/Chart.yaml": CHILD,
        "serve/values.yaml": OLD,
    }
    found = read_in(tmp_path, files)
    hits = [h for h in build_report(found, RULES).hits if h.state is HitState.OPEN]
    assert [h.file for h in hits if h.diagnostic.problem.startswith("container-toolkit")] == told


def test_a_sample_takes_nothing_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {
        "examples/Chart.yaml": AROUND % "",
        "examples/values.yaml": NEW,
        "serve/Chart.yaml": CHILD,
        "serve/values.yaml": OLD,
    }
    found = read_in(tmp_path, files)
    assert found.values_overlays == ()
