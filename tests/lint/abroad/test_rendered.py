"""Charts are rendered by the helm at hand, and what is wrong is told at the template's own line."""

import os
import stat

import pytest

from gpuyard_lint.cli import programs
from gpuyard_lint.cli.files import read_all
from gpuyard_lint.combined import rendered as made
from gpuyard_lint.items import LintInput, SkippedFile
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from kit.every import every

CHART = "apiVersion: v2\nname: c\nversion: 1.0.0\n"
TEMPLATE = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  template:
    spec:
      {{- if .Values.shared }}
      hostIPC: true
      {{- end }}
      containers:
        - name: server
          image: {{ .Values.image }}
          resources:
            {{- toYaml .Values.resources | nindent 12 }}
"""
MADE = """---
# Source: c/templates/server.yaml
apiVersion: apps/v1
kind: Deployment
metadata:
  name: release
spec:
  template:
    spec:
      containers:
        - name: server
          image: m:latest
          resources:
            limits:
              nvidia.com/gpu: 0.5
---
# Source: c/templates/plain.yaml
apiVersion: v1
kind: Pod
metadata: {name: twice}
spec: {containers: [{name: a, image: "b:latest", resources: {limits: {nvidia.com/gpu: 1}}}]}
"""
PLAIN = MADE.rpartition("plain.yaml\n")[2]


FELL = """fatal error: runtime: cannot allocate memory

goroutine 1 [running]:
created by helm.sh/helm/v4/pkg/cmd.runInstall in goroutine 1
\thelm.sh/helm/v4@v4.3.1/pkg/cmd/install.go:346 +0x8ed
"""


@pytest.fixture
def chart(tmp_path, monkeypatch):
    for name, text in {
        "c/Chart.yaml": CHART,
        "c/values.yaml": "image: m:latest\nresources: {limits: {nvidia.com/gpu: 0.5}}\n",
        "c/templates/server.yaml": TEMPLATE,
        "c/templates/plain.yaml": PLAIN,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "c"


@pytest.fixture
def helm(tmp_path, monkeypatch):
    """A program of that name that does what it is told, and nothing before it is told anything."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")

    def does(script):
        program = folder / "helm"
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(program.stat().st_mode | stat.S_IEXEC)

    return does


def printing(text):
    return f"cat <<'END'\n{text}END"


def told(*paths, render=True):
    reading, _ = read_all(paths or (".",), render=render)
    hits = build_report(reading, RULES).hits
    return [(h.rule.id, f"{h.file}:{h.line}", h.diagnostic.location) for h in hits], reading


def said(reading):
    return [(u.file, u.reason) for u in reading.skipped if not u.is_unrecognized]


IMAGE = "spec.template.spec.containers[0].image"
GPU = "spec.template.spec.containers[0].resources.limits.nvidia.com/gpu"
TWICE = ("GPU-POD-03", "c/templates/plain.yaml:4", "spec.containers[0].image")


def test_what_a_chart_makes_of_its_values_is_told_at_the_lines_of_its_templates(chart, helm):
    helm(printing(MADE))
    hits, reading = told()
    assert sorted(hits) == [
        TWICE,
        ("GPU-POD-03", "c/templates/server.yaml:13", IMAGE),
        ("GPU-POD-04", "c/templates/server.yaml:14", GPU),
    ]
    assert said(reading) == []


@pytest.mark.parametrize(
    ("hook", "sample"),
    [
        ("test", True),
        ("test, test-success", True),
        ("pre-install,test", False),
        ("post-install", False),
    ],
)
def test_hooks_are_judged_and_those_of_tests_are_samples(chart, helm, hook, sample):
    helm(
        printing(
            MADE.replace(
                "name: release", f"name: release\n  annotations: {{helm.sh/hook: '{hook}'}}"
            )
        )
    )
    hits, reading = told()
    server = "c/templates/server.yaml"
    assert {rule for rule, where, _ in hits if where.startswith(server)} == {
        "GPU-POD-03",
        "GPU-POD-04",
    }
    assert reading.example_files == ({server} if sample else set())
    assert told("c", server)[1].example_files == set(), "who names it means it"


def test_without_helm_it_is_said_that_it_would_be_rendered(chart, helm):
    hits, reading = told()
    assert hits == [TWICE]
    assert said(reading) == [("c/templates/server.yaml", made.NO_HELM)]


def test_who_does_not_want_it_is_told_how_it_would_be(chart, helm):
    helm("touch ../ran")
    _, reading = told(render=False)
    assert said(reading) == [("c/templates/server.yaml", made.RENDER_DISABLED)]
    assert not (chart.parent / "ran").exists()


def test_a_chart_that_says_nothing_of_gpus_is_not_rendered(chart, helm):
    helm("exit 1")
    (chart / "values.yaml").write_text("image: web\n", encoding="utf-8")
    (chart / "templates" / "plain.yaml").unlink()
    _, reading = told()
    assert said(reading) == []
    assert made.NO_GPU_CONTENT in {u.reason for u in reading.skipped}


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            "echo 'Error: execution error at (c/templates/a.yaml:3:4): a name is required' >&2; exit 1",
            "execution error at (c/templates/a.yaml:3:4): a name is required",
        ),
        (
            "echo 'Error: in Chart.yaml, but missing in charts/ directory: nfd, redis' >&2; exit 1",
            "chart dependencies are missing (nfd, redis); run `helm dependency build` first",
        ),
        ("echo warning >&2; echo 'what now' >&2; exit 1", "what now"),
        ("exit 1", "helm failed without an error message"),
        (
            "echo 'W1126 12:00:00.123456    1234 warnings.go:70] the chart is old' >&2; exit 1",
            "the chart is old",
        ),
        (f"cat >&2 <<'END'\n{FELL}END\nexit 2", "helm ran out of memory"),
        (
            "echo 'runtime: out of memory: cannot allocate 8 bytes' >&2; exit 2",
            "helm ran out of memory",
        ),
        ("echo 'panic: no template' >&2; echo 'main.go:1 +0x8' >&2; exit 2", "no template"),
        ("kill -9 $$", "helm was killed by signal 9"),
        ("sleep 60", "helm took longer than 1 s"),
    ],
)
def test_a_chart_that_is_not_rendered_is_said_once_with_the_reason(
    chart, helm, monkeypatch, script, reason
):
    monkeypatch.setattr(programs, "SECONDS", 1)
    helm(script)
    hits, reading = told()
    assert hits == [TWICE]
    assert said(reading) == [("c/Chart.yaml", f"chart not rendered: {reason}")]


def test_a_program_that_cannot_be_run_is_said(chart, helm):
    helm("")
    program = chart.parent / "bin" / "helm"
    program.write_bytes(b"\0\0\0\0")
    _, reading = told()
    ((_, reason),) = said(reading)
    assert reason == "chart not rendered: helm could not be started: Exec format error"


def test_what_a_chart_writes_is_bounded(chart, helm, monkeypatch):
    monkeypatch.setattr(programs, "MOST_BYTES", 1024)
    helm("i=0; while [ $i -lt 300 ]; do echo '# a line of nothing'; i=$((i+1)); done")
    _, reading = told()
    ((_, reason),) = said(reading)
    assert reason.startswith("chart not rendered: ")


def test_all_charts_together_have_a_time(chart, helm, monkeypatch):
    monkeypatch.setattr(programs, "ALL_SECONDS", -1)
    helm(printing(MADE))
    _, reading = told()
    assert said(reading) == [
        (
            "c/templates/server.yaml",
            "the time limit of -1 s for helm and kustomize is used up: check this chart alone",
        )
    ]


def test_helm_gets_nothing_of_the_user_s(chart, helm, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    monkeypatch.setenv("HELM_PLUGINS", "/plugins")
    helm(f"env > {chart.parent}/env; echo $* > {chart.parent}/words; pwd > {chart.parent}/pwd")
    told()
    given = dict(
        line.split("=", 1)
        for line in (chart.parent / "env").read_text().splitlines()
        if "=" in line
    )
    assert not {"HTTPS_PROXY", "GPUYARD_UPSTREAM"} & set(given)
    assert given["KUBECONFIG"] == os.devnull
    home = (chart.parent / "pwd").read_text().strip()
    names = (
        "HOME",
        "TMPDIR",
        "HELM_PLUGINS",
        "HELM_CACHE_HOME",
        "HELM_CONFIG_HOME",
        "HELM_DATA_HOME",
    )
    assert {given[name] for name in names} == {home}
    words = (chart.parent / "words").read_text().split()
    assert words[:3] == ["template", "--skip-schema-validation", "release"]
    assert len(words) == 4
    assert not words[3].startswith(str(chart.parent / "c"))


def test_a_file_named_alone_is_of_no_chart_in_view(chart, helm):
    helm(printing(MADE))
    _, reading = told("c/templates/server.yaml")
    assert [u.template for u in reading.skipped] == [True]


def chart_in(*files, templates):
    unread = tuple(SkippedFile(file, "a template", template=True) for file in templates)
    found = made.charts_to_render(LintInput((), unread, files))
    return [(each.folder, each.templates) for each in found]


@every(
    ("files", "templates", "charts"),
    [
        (["Chart.yaml"], ["templates/a.yaml"], [("", ("templates/a.yaml",))]),
        (["c/Chart.yaml"], ["c/templates/b/a.yaml"], [("c", ("c/templates/b/a.yaml",))]),
        (["c/Chart.yaml"], ["c/a.yaml", "templates/a.yaml", "d/templates/a.yaml"], []),
        (
            ["c/Chart.yaml", "c/charts/d/Chart.yaml"],
            ["c/charts/d/templates/a.yaml", "c/templates/a.yaml"],
            [("c", ("c/charts/d/templates/a.yaml", "c/templates/a.yaml"))],
        ),
        (
            ["Chart.yaml", "charts/d/Chart.yaml"],
            ["charts/d/templates/a.yaml"],
            [("", ("charts/d/templates/a.yaml",))],
        ),
        (
            ["c/Chart.yaml", "c/more/d/Chart.yaml"],
            ["c/more/d/templates/a.yaml"],
            [("c/more/d", ("c/more/d/templates/a.yaml",))],
        ),
        ([], ["/templates/a.yaml"], []),
    ],
)
def test_a_template_belongs_to_the_outermost_chart_that_renders_it(files, templates, charts):
    assert chart_in(*files, templates=templates) == charts


def lines(template, text):
    at = made.template_line_lookup(template.encode(), text.encode())
    return [at(number) for number in range(1, text.count("\n") + 2)]


def test_a_line_that_a_loop_writes_twice_is_at_the_template_s():
    template = "a:\n{{- range .Values.x }}\n  - b: {{ . }}\n{{- end }}\nc: 1\n"
    assert lines(template, "a:\n  - b: 1\n  - b: 2\nc: 1") == [1, 3, 3, 5]


def test_what_is_too_long_is_at_its_first_line(monkeypatch):
    monkeypatch.setattr(made, "_MOST_LINES", 2)
    assert lines("a: 1\nb: 1\nc: 1\n", "c: 1") == [1]


def test_a_configuration_inside_a_template_is_told_at_the_template_s_line(chart, helm):
    (chart / "templates" / "plain.yaml").unlink()
    text = """apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  any: |-
    version: v1
    sharing:
      timeSlicing:
        resources:
          - name: nvidia.com/gpu
            replicas: 0
"""
    (chart / "templates" / "server.yaml").write_text(text, encoding="utf-8")
    helm(printing("# Source: c/templates/server.yaml\n" + text.replace("{{ .Release.Name }}", "r")))
    hits, _ = told()
    assert [(rule, place) for rule, place, _ in hits] == [
        ("GPU-CFG-01", "c/templates/server.yaml:12")
    ]


def test_what_helm_makes_that_is_no_yaml_is_left_alone(chart, helm):
    broken = "# Source: c/templates/server.yaml\na: [\n"
    helm(printing(f"{broken}---\n# Source: d/templates/x.yaml\na: 1\n---\nb\n"))
    hits, reading = told()
    assert hits == [TWICE]
    assert said(reading) == []
