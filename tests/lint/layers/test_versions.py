"""Versions of charts that stand one step away from the release that installs them."""

import pytest

from gpuyard_lint.report import HitState, build_report
from gpuyard_lint.rules import RULES
from kit.cases.reading import read_in
from kit.every import every

OLD = "GPU-STK-02"
MOVES = "GPU-STK-05"
APP = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: gpus}
spec: {source: {repoURL: https://git.example/a.git, path: charts/gpus, helm: %s}}
"""
FLUX = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: gpus}
spec: {chart: {spec: {chart: ./charts/gpus, sourceRef: {kind: %s, name: g}}}}
"""
CHART = """\
apiVersion: v2
name: gpus
version: 1.0.0
dependencies:
  - {name: gpu-operator, version: "%s", repository: "https://helm.ngc.nvidia.com/nvidia"%s}
"""
LOCK = "dependencies: [{name: gpu-operator, version: v26.7.0}]\n"
FILE, LOCKED = "charts/gpus/Chart.yaml", "charts/gpus/Chart.lock"
SET = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: gpus}
spec:
  generators:
    - list:
        elements:
          - %s
          - {name: b, chart: gpu-operator, version: v26.7.0, of: {gpus: v26.7.0}}
%s
  template: {spec: {source: {repoURL: "https://h", chart: %s, targetRevision: "%s"}}}
"""
ELEMENT = "{name: a, chart: gpu-operator, version: v24.6.2, of: {gpus: v24.6.2}}"


@pytest.fixture
def said(tmp_path, monkeypatch):
    """The rules about a version that are broken, and where."""
    monkeypatch.chdir(tmp_path)

    def of(files):
        reading = read_in(tmp_path, files)
        hits = build_report(reading, [rule for rule in RULES if rule.id in {OLD, MOVES}]).hits
        return [(h.rule.id, f"{h.file}:{h.line}") for h in hits if h.state is HitState.OPEN]

    return of


@every(
    ("files", "expected"),
    [
        ({FILE: CHART % ("v23.9.1", "")}, [(OLD, f"{FILE}:5")]),
        ({FILE: CHART % (">=25.0.0", "")}, [(MOVES, f"{FILE}:5")]),
        ({FILE: CHART % ("v26.7.0", "")}, []),
        # what it is on the day is written down
        ({FILE: CHART % (">=25.0.0", ""), LOCKED: LOCK}, []),
        ({FILE: CHART % (">=25.0.0", ""), LOCKED: "{{ a }\n"}, [(MOVES, f"{FILE}:5")]),
        # a switch may leave it out
        ({FILE: CHART % ("v23.9.1", ", condition: gpus.enabled")}, []),
        ({FILE: CHART % ("v23.9.1", ", tags: [gpus]")}, []),
        (
            {
                FILE: CHART % (">=25.0.0", ""),
                "charts/gpus/charts/gpu-operator/Chart.yaml": "name: gpu-operator\n",
            },
            [],
        ),
        ({FILE: (CHART % ("*", "")).replace("https:", "file:")}, []),
        ({FILE: "dependencies: {{ a }\n"}, []),
        ({}, []),
    ],
)
def test_a_chart_that_an_application_deploys_says_what_it_depends_on(said, files, expected):
    """It is the most common way with Argo CD: a chart of one's own around the vendor's."""
    assert said({"a.yaml": APP % "{}"} | files) == expected
    assert said({"a.yaml": FLUX % "GitRepository"} | files) == expected
    # a chart of that name in a registry, and one that nobody deploys
    assert said({"a.yaml": FLUX % "HelmRepository"} | files) == []
    assert said(files) == []
    assert said({"examples/a.yaml": APP % "{}"} | files) == []


@every(
    ("element", "beside", "chart", "version", "expected"),
    [
        (ELEMENT, "", "gpu-operator", "{{version}}", [(OLD, "a.yaml:8")]),
        (ELEMENT, "", "'{{ .chart }}'", "{{ .version }}", [(OLD, "a.yaml:8")]),
        (ELEMENT, "", "gpu-operator", "{{ .of.gpus }}", [(OLD, "a.yaml:8")]),
        (ELEMENT, "", "gpu-operator", "{{ .gone }}", []),
        (ELEMENT, "", "'{{ .gone }}'", "{{ .version }}", []),
        (ELEMENT, "", "redis", "{{ .version }}", []),
        (ELEMENT, "", "gpu-operator", "v26.7.0", []),
        (ELEMENT.replace("v24.6.2", '">=25"'), "", "gpu-operator", "{{version}}", [(MOVES, "a.yaml:8")]),
        (ELEMENT, "        template: {spec: {}}", "gpu-operator", "{{version}}", []),
        (ELEMENT, "      selector: {matchLabels: {name: b}}", "gpu-operator", "{{version}}", []),
        (ELEMENT, "  templatePatch: a", "gpu-operator", "{{version}}", []),
    ],
)  # fmt: skip
def test_a_set_has_versions_among_its_elements(said, element, beside, chart, version, expected):
    assert said({"a.yaml": SET % (element, beside, chart, version)}) == expected


def test_what_a_variable_decides_of_a_set_says_nothing(said):
    """Nobody knows which sources there are."""
    manifest = """\
    resource "kubernetes_manifest" "gpus" {
      manifest = {
        apiVersion = "argoproj.io/v1alpha1"
        kind       = "ApplicationSet"
        metadata   = {name = "gpus", namespace = "eks"}
        spec       = var.spec
      }
    }
    """
    assert said({"main.tf": manifest}) == []
