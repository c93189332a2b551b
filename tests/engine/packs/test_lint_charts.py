"""Charts are rendered by a real Helm, and what is wrong is told at the template's line."""

import os
from pathlib import Path

import pytest

from gpuyard.cli.commands.linting.files import read_all
from gpuyard.lint.report import report
from gpuyard.rules import RULES
from kit.chart import helm

FILES = {
    "Chart.yaml": "apiVersion: v2\nname: server\nversion: 1.0.0\n",
    "values.yaml": "image: m:latest\nmodels: [a, b]\nresources: {limits: {nvidia.com/gpu: 0.5}}\n",
    "templates/_names.tpl": '{{- define "name" -}}{{ .Release.Name }}-m{{- end }}\n',
    "templates/server.yaml": """{{- range .Values.models }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "name" $ }}-{{ . }}
spec:
  template:
    spec:
      containers:
        - name: server
          image: {{ $.Values.image }}
          resources:
            {{- toYaml $.Values.resources | nindent 12 }}
{{- end }}
""",
    "templates/hook.yaml": """apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-hook
  annotations: {helm.sh/hook: pre-install}
spec: {template: {spec: {containers: [{name: a, image: b:latest, resources: {limits: {nvidia.com/gpu: 1}}}]}}}
""",
}


@pytest.fixture
def chart(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{Path(helm()).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / "c" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "c" / name).write_text(text, encoding="utf-8")
    return tmp_path / "c"


def told():
    reading, _ = read_all(["."], render=True)
    found = [(hit.rule.id, f"{hit.file}:{hit.line}") for hit in report(reading, RULES).hits]
    return found, [each.reason for each in reading.unread if not each.foreign]


def test_what_its_values_make_of_it_is_told_at_the_template_s_line(chart):
    found, unread = told()
    twice = len(("a", "b"))
    assert (
        found
        == [("GPU-POD-03", "c/templates/hook.yaml:6")]
        + [("GPU-POD-03", "c/templates/server.yaml:12")] * twice
        + [("GPU-POD-04", "c/templates/server.yaml:13")] * twice
    )
    assert unread == []


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        (
            "Chart.yaml",
            FILES["Chart.yaml"]
            + "dependencies: [{name: nfd, version: 1.0.0, repository: 'https://example.org'}]\n",
            "charts that it depends on are not here (nfd); fetch them first",
        ),
        (
            "templates/server.yaml",
            '# nvidia\na: {{ required "a model is needed" .Values.model }}\n',
            "a model is needed",
        ),
        ("templates/server.yaml", "# nvidia\n{{ range until 999999999 }}a{{ end }}\n", ": helm "),
    ],
)
def test_a_chart_that_cannot_be_rendered_is_said_once(chart, name, text, why):
    (chart / name).write_text(text, encoding="utf-8")
    found, (reason,) = told()
    assert found == []
    assert reason.startswith("a chart that is not rendered: ")
    assert why in reason
