"""Charts are rendered by a real Helm, and what is wrong is told at the template's line."""

import os
import socketserver
from base64 import b64encode
from pathlib import Path

import pytest

from gpuyard_lint.cli.files import read_all
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
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
    found = [(hit.rule.id, f"{hit.file}:{hit.line}") for hit in build_report(reading, RULES).hits]
    return found, [each.reason for each in reading.skipped if not each.is_unrecognized]


@pytest.mark.always
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


@pytest.mark.always
@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        (
            "Chart.yaml",
            FILES["Chart.yaml"]
            + "dependencies: [{name: nfd, version: 1.0.0, repository: 'https://example.org'}]\n",
            "chart dependencies are missing (nfd); run `helm dependency build` first",
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
    assert reason.startswith("chart not rendered: ")
    assert why in reason


SECRET = "token-of-the-pipeline"  # noqa: S105  made up
LEAK = """apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
    - name: a
      image: "x/{{ range $name, $_ := .Files.Glob "**" }}{{ $.Files.Get $name | b64enc }}{{ end }}:latest"
      resources: {limits: {nvidia.com/gpu: 1}}
"""


def test_a_template_reads_no_file_beside_its_chart(chart):
    for name in ("gha-creds-1.json", "conf/secret", ".git/config", "charts/d/.git/config"):
        (chart / name).parent.mkdir(parents=True, exist_ok=True)
        (chart / name).write_text(SECRET, encoding="utf-8")
    (chart / "templates" / "server.yaml").write_text(LEAK, encoding="utf-8")
    reading, _ = read_all(["."], render=True)
    said = [hit.diagnostic.problem for hit in build_report(reading, RULES).hits]
    assert not [each for each in said if b64encode(SECRET.encode()).decode() in each]
    assert [each for each in said if each.startswith("x/:latest is a moving tag")]


def test_a_schema_of_values_is_not_fetched(chart):
    with socketserver.TCPServer(("127.0.0.1", 0), None) as server:
        server.timeout, server.handle_error = 0.1, None
        asked = []
        server.process_request = lambda request, address: asked.append(address) or request.close()
        schema = f'{{"$ref": "http://127.0.0.1:{server.server_address[1]}/s"}}'
        (chart / "values.schema.json").write_text(schema, encoding="utf-8")
        found, unread = told()
        server.handle_request()
    assert found
    assert unread == []
    assert asked == []
