"""What stands beside values of app-template: a kustomization patches their release, a command adds some."""

import textwrap

import pytest

from gpuyard_lint.cli.files import read_all
from gpuyard_lint.combined.scopes import scopes
from gpuyard_lint.report import HitState, build_report
from gpuyard_lint.rules import RULES
from kit.cases.reading import reading
from kit.every import every

VALUES = """controllers:
  serve:
    containers:
      app:
        image: {repository: ghcr.io/team/serve, tag: latest}
        resources: {limits: {nvidia.com/gpu: 1}}
"""
RELEASE = (
    "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: serve}\n"
    "spec:\n  chartRef: {kind: OCIRepository, name: app-template}\n  values:\n"
    + textwrap.indent(VALUES, "    ")
)
PINNED = "{app: {image: {tag: v1}}}"
PATCH = (
    "- patch: |\n    apiVersion: helm.toolkit.fluxcd.io/v2\n    kind: HelmRelease\n"
    "    metadata: {name: serve}\n    spec: {values: {controllers: {serve: {containers: %s}}}}\n"
)


def said(found):
    return [
        (hit.rule.id, hit.diagnostic.location, hit.line)
        for hit in build_report(found, RULES).hits
        if hit.state is HitState.OPEN
    ]


MOVES = [("GPU-POD-03", "controllers.serve.containers.app.image.tag", 11)]


@every(
    ("kustomization", "hits"),
    [
        ("", MOVES),
        ("namespace: ai\n", MOVES),
        (f"patches:\n{PATCH % PINNED}", []),
        (f"patches:\n{PATCH % '{app: {args: [x]}}'}", MOVES),
        ("patches:\n- target: {kind: Deployment}\n  patch: '[{op: remove, path: /spec}]'\n", MOVES),
        ("images: [{name: ghcr.io/team/serve, newTag: v1}]\n", MOVES),
        (f"patches:\n{PATCH % '{app: {enabled: false}}'}", []),
        ("patches:\n- target: {kind: HelmRelease}\n  patch: '$patch: delete'\n", []),
        ("namePrefix: a-\n", MOVES),
    ],
)
def test_a_kustomization_changes_the_release_and_no_object_of_its_chart(kustomization, hits):
    files = {
        "kustomization.yaml": f"resources: [release.yaml]\n{kustomization}",
        "release.yaml": RELEASE,
    }
    assert said(reading(files)) == hits


def test_the_objects_are_in_the_namespace_that_a_kustomization_gives_their_release():
    files = {
        "kustomization.yaml": "resources: [release.yaml]\nnamespace: ai\n",
        "release.yaml": RELEASE,
    }
    spaces = {
        there.namespace
        for scope in scopes(reading(files))
        for _, there in scope.resources
        if there.kind == "apps/v1/Deployment"
    }
    assert spaces == {"ai"}


@pytest.mark.parametrize(
    ("command", "tags"),
    [
        ("-f values.yaml", ["GPU-POD-03"]),
        ("-f values.yaml --set controllers.serve.containers.app.image.tag=v1", []),
        ("-f values.yaml --set controllers.serve.enabled=false", []),
        ("-f values.yaml --set $MORE", []),
    ],
)
def test_what_a_command_lays_over_a_file_of_values_excuses_it(command, tags, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "values.yaml").write_text(VALUES)
    (tmp_path / "up.sh").write_text(f"helm upgrade --install serve bjw-s/app-template {command}\n")
    found, _ = read_all(["."])
    assert [rule for rule, _, _ in said(found)] == tags


def test_values_in_a_config_map_of_a_release_and_under_an_alias_are_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "release.yaml").write_text(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: serve}\n"
        "spec:\n  chart: {spec: {chart: app-template}}\n"
        "  valuesFrom: [{kind: ConfigMap, name: v}]\n"
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: v}\ndata:\n  values.yaml: |\n"
        + textwrap.indent(VALUES, "    ")
    )
    (tmp_path / "chart").mkdir()
    (tmp_path / "chart" / "Chart.yaml").write_text(
        "apiVersion: v2\nname: c\nversion: 1.0.0\ndependencies:\n"
        "- {name: app-template, alias: serve, version: 4.1.1, repository: 'https://example.org'}\n"
    )
    (tmp_path / "chart" / "values.yaml").write_text("serve:\n" + textwrap.indent(VALUES, "  "))
    found, _ = read_all(["."])
    assert sorted(said(found)) == [
        ("GPU-POD-03", "controllers.serve.containers.app.image.tag", 6),
        ("GPU-POD-03", "controllers.serve.containers.app.image.tag", 17),
    ]


def test_objects_of_values_are_no_files_of_their_own(tmp_path, monkeypatch):
    """A file of values beside a kustomization is none of its resources; a dump of a release stays one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kustomization.yaml").write_text("resources: [other.yaml]\n")
    (tmp_path / "values.yaml").write_text(VALUES)
    (tmp_path / "other.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: n}\n")
    (tmp_path / "dumps").mkdir()
    dump = RELEASE.replace("{name: serve}", '{name: serve, uid: "1", resourceVersion: "2"}')
    (tmp_path / "dumps" / "release.yaml").write_text(dump)
    found, _ = read_all(["."])
    assert found.example_files == {"dumps/release.yaml"}
    assert [rule for rule, _, _ in said(found)] == ["GPU-POD-03"]


def test_a_release_of_terraform_describes_pods():
    text = (
        'resource "helm_release" "serve" {\n  name = "serve"\n  namespace = "ai"\n'
        '  chart = "app-template"\n  values = [<<-EOT\n'
        + textwrap.indent(VALUES, "    ")
        + "  EOT\n  ]\n}\n"
    )
    found = reading({"main.tf": text})
    (made,) = [item.resource for item in found.items if item.is_described_by_values]
    assert (made.name, made.namespace) == ("serve", "ai")
    assert said(found) == [("GPU-POD-03", "controllers.serve.containers.app.image.tag", 10)]


CHART = "apiVersion: v2\nname: serve\nversion: 1.0.0\n"


@pytest.mark.parametrize(("templates", "rules"), [(True, []), (False, ["GPU-POD-03"])])
def test_values_of_a_chart_with_templates_of_its_own_may_be_changed_by_them(
    templates, rules, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Chart.yaml").write_text(CHART)
    (tmp_path / "values.yaml").write_text(VALUES)
    if templates:
        (tmp_path / "templates").mkdir()
        (tmp_path / "templates" / "common.yaml").write_text('{{ include "common.all" . }}\n')
    found, _ = read_all(["."])
    assert [rule for rule, _, _ in said(found)] == rules


ARGO = """apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: serve}
spec:
  source:
    chart: app-template
    helm:
      %s: %s
      %s
"""
TAG = "controllers.serve.containers.app.image.tag"
ONE = (
    "{controllers: {serve: {containers: {app: {image: {repository: r.example.org/s, tag: %s},"
    " resources: {limits: {nvidia.com/gpu: 1}}}}}}}"
)


@every(
    ("key", "tag", "beside", "lines"),
    [
        ("valuesObject", "latest", "", [8]),
        ("valuesObject", "v1", f"parameters: [{{name: {TAG}, value: latest}}]", [9]),
        ("valuesObject", "latest", f"parameters: [{{name: {TAG}, value: v1}}]", []),
        ("valuesObject", "latest", f"fileParameters: [{{name: {TAG}, path: v}}]", []),
        ("valuesObject", "latest", "fileParameters: [{path: v}]", []),
        ("valuesObject", "latest", "parameters: [{value: v}]", []),
        ("valuesObject", "latest", "valueFiles: [v.yaml]", []),
        ("valuesObject", "v1", f"values: '{ONE % 'latest'}'", []),
        ("values", "latest", "", [8]),
        ("values", "v1", f"parameters: [{{name: {TAG}, value: latest}}]", [9]),
        ("values", "latest", f"parameters: [{{name: {TAG}, value: v1}}]", []),
    ],
)
def test_parameters_of_argo_cd_go_over_the_values_beside_them(key, tag, beside, lines):
    """What the pods are is told where it is said: in the values, or as a parameter."""
    values = ONE % tag if key == "valuesObject" else f"'{ONE % tag}'"
    found = said(reading({"app.yaml": ARGO % (key, values, beside)}))
    assert [line for rule, _, line in found if rule == "GPU-POD-03"] == lines


def test_what_a_variable_decides_of_parameters_is_not_known():
    manifest = (
        'resource "kubernetes_manifest" "serve" {\n  manifest = {\n'
        '    apiVersion = "argoproj.io/v1alpha1"\n    kind = "Application"\n'
        '    metadata = {name = "serve"}\n'
        '    spec = {source = {chart = "app-template", helm = {\n'
        "      values = <<-EOT\n%s      EOT\n      parameters = %s\n    }}}\n  }\n}\n"
    )
    written = textwrap.indent(VALUES, "      ")
    assert said(reading({"main.tf": manifest % (written, "[]")})) != []
    assert said(reading({"main.tf": manifest % (written, "var.parameters")})) == []
