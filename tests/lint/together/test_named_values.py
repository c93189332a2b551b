"""Releases whose values stand in files that they name: Terraform, Argo CD, Flux and kustomize."""

import pytest

from gpuyard_lint.cli.files import FileSelection, read_all
from gpuyard_lint.report import HitState, build_report
from gpuyard_lint.rules import RULES
from kit.cases.reading import read_in
from kit.every import every

OFF = "driver: {enabled: false}\ntoolkit: {enabled: false}\n"
ON = "driver: {enabled: true}\ntoolkit: {enabled: true}\n"
RELEASE = """\
resource "helm_release" "gpus" {
  name       = "gpus"
  repository = "https://helm.ngc.nvidia.com/nvidia"
  chart      = "gpu-operator"
  version    = "v24.6.0"
  namespace  = "eks"
  values     = [%s]
  %s
}
"""
SET = 'set {\n name = "%s"\n value = "%s"\n}'
ARGO = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: gpus}
spec:
  sources:
    - {repoURL: https://git.example/a.git, ref: values}
    - {chart: gpu-operator, repoURL: https://helm.ngc.nvidia.com/nvidia, targetRevision: v24.6.0, helm: %s}
"""
FLUX = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: gpus}
spec:
  chart: {spec: {chart: gpu-operator, version: v24.6.0}}
  valuesFrom: [%s]
"""
MAP = "{kind: ConfigMap, name: gpu-values}"
CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: gpu-values}
data: {v: "toolkit: {enabled: false}"}
"""
GENERATED = "configMapGenerator: [{name: %s, files: [%s]}]\nresources: [release.yaml]\n"
BUILT = "helmCharts: [{name: gpu-operator, version: v24.6.0, %s}]\n"


@pytest.fixture
def said(tmp_path, monkeypatch):
    """What is said of the operator's version, and how gravely."""
    monkeypatch.chdir(tmp_path)

    def of(files, *paths):
        reading = read_in(tmp_path, files, paths or ["."])
        hits = [hit for hit in build_report(reading, RULES).hits if hit.rule.id == "GPU-STK-01"]
        return [
            str(hit.diagnostic.severity.value)
            for hit in hits
            if hit.diagnostic.problem.startswith("gpu-operator")
        ]

    return of


@every(
    ("values", "more", "expected"),
    [
        ('file("v.yaml")', "", []),
        ('"${file("${path.module}/v.yaml")}"', "", []),
        ('file("${path.module}/../gpus/v.yaml")', "", []),
        ('templatefile("${path.module}/v.yaml.tpl", {on = false, name = "a"})', "", []),
        ('templatefile("${path.module}/v.yaml.tpl", {on = true, name = "a"})', "", ["warning"]),
        # what is given to a template, or which lines of it there are, nobody knows: it may be on
        ('templatefile("${path.module}/v.yaml.tpl", {on = var.on, name = "a"})', "", ["warning"]),
        ('templatefile("${path.module}/v.yaml.tpl", var.all)', "", ["warning"]),
        ('templatefile("${path.module}/lines.tpl", {})', "", ["warning"]),
        ('file("on.yaml")', "", ["warning"]),
        ('file("on.yaml"), file("v.yaml")', "", []),
        ('file("v.yaml"), file("on.yaml")', "", ["warning"]),
        ('file("v.yaml")', SET % ("toolkit.enabled", "true"), ["warning"]),
        ('file("on.yaml")', SET % ("toolkit.enabled", "false"), []),
        ('file("gone.yaml")', "", ["warning"]),
        ('file("/etc/hosts")', "", ["warning"]),
        ('file("../../outside.yaml")', "", ["warning"]),
        ("file(var.named)", "", ["warning"]),
        ("yamlencode({toolkit = {enabled = false}})", "", []),
    ],
)
def test_files_that_terraform_opens_are_the_values_of_the_release(said, values, more, expected):
    """What they switch off is not installed."""
    files = {
        "infra/gpus/main.tf": RELEASE % (values, more),
        "infra/gpus/v.yaml": OFF,
        "infra/gpus/on.yaml": ON,
        "infra/gpus/v.yaml.tpl": "toolkit: {enabled: ${on}}\nfullnameOverride: ${ name }-$${x}${[1]}\n",
        "infra/gpus/lines.tpl": "%{ if on }\n" + OFF + "%{ endif }\n",
        "outside.yaml": OFF,
    }
    assert said(files, "infra") == expected


def test_what_a_release_lays_over_a_file_counts_for_the_file(said, tmp_path):
    """An old toolkit of a file that Terraform switches off again is nobody's."""
    old = "toolkit: {enabled: true, version: v1.17.0-ubi8}\ndriver: {enabled: false}\n"
    switch = SET % ("toolkit.enabled", "false")
    files = {"main.tf": RELEASE % ('file("v.yaml")', switch), "v.yaml": old}
    said(files)
    reading, _ = read_all(["."])
    assert [
        h
        for h in build_report(reading, RULES).hits
        if "toolkit" in h.diagnostic.problem and h.file == "v.yaml"
    ] == []
    (tmp_path / "main.tf").write_text(RELEASE % ('file("v.yaml")', ""))
    reading, _ = read_all(["."])
    hits = [
        h
        for h in build_report(reading, RULES).hits
        if h.diagnostic.problem.startswith("container-toolkit")
    ]
    assert [h.file for h in hits] == ["v.yaml"]


@every(
    ("helm", "expected"),
    [
        ("{valueFiles: [$values/gpus/v.yaml]}", []),
        ("{valueFiles: [$values/gpus/v.yaml, $values/gpus/on.yaml]}", ["warning"]),
        ("{valueFiles: [$values/gpus/gone.yaml]}", ["warning"]),
        ("{valueFiles: [v.yaml]}", ["warning"]),
        ("{valueFiles: [$values/gpus/list.yaml]}", ["warning"]),
        ("{valueFiles: [$values/gpus/bad.yaml]}", ["warning"]),
        ("{valueFiles: [$values/gpus/on.yaml], valuesObject: {toolkit: {enabled: false}}}", []),
        ('{valueFiles: [$values/gpus/on.yaml], values: "toolkit: {enabled: false}"}', []),
        ("{parameters: [{name: toolkit.enabled, value: 'false'}]}", []),
        # the chart writes a text out as it is: the operator reads false
        ("{parameters: [{name: toolkit.enabled, value: 'false', forceString: true}]}", []),
        ("{parameters: [{name: toolkit.enabled, value: 'no', forceString: true}]}", ["error"]),
        ("{parameters: [{value: 'false'}]}", ["error"]),
        ("{releaseName: a}", ["error"]),
    ],
)
def test_files_of_another_source_are_the_values_of_an_application(said, helm, expected):
    """`$values/…` is a file by its path from the top of a repository."""
    files = {
        "apps/a.yaml": ARGO % helm,
        "gpus/v.yaml": OFF,
        "gpus/on.yaml": ON,
        "gpus/list.yaml": "[1]\n",
        "gpus/bad.yaml": "{{ a }}: b: c\n",
    }
    assert said(files) == expected


def test_an_application_of_which_a_variable_says_the_sources_is_left_as_it_is(said):
    """Nobody knows which charts there are."""
    manifest = """\
    resource "kubernetes_manifest" "gpus" {
      manifest = {
        apiVersion = "argoproj.io/v1alpha1"
        kind       = "Application"
        metadata   = {name = "gpus", namespace = "eks"}
        spec       = {sources = var.sources}
      }
    }
    """
    assert said({"main.tf": manifest}) == []


def test_a_path_that_could_be_several_files_is_none(said):
    """Below a folder that was asked for, a repository may begin anywhere."""
    files = {
        "one/apps/a.yaml": ARGO % "{valueFiles: [$values/gpus/v.yaml]}",
        "one/gpus/v.yaml": OFF,
    }
    assert said(files) == []
    assert said(files | {"two/gpus/v.yaml": OFF}) == ["warning"]


@every(
    ("source", "beside", "expected"),
    [
        (
            MAP,
            {"kustomization.yaml": GENERATED % ("gpu-values", "values.yaml"), "values.yaml": OFF},
            [],
        ),
        (
            MAP,
            {"kustomization.yaml": GENERATED % ("gpu-values", "values.yaml=v.yaml"), "v.yaml": OFF},
            [],
        ),
        (
            MAP,
            {"kustomization.yaml": GENERATED % ("others", "values.yaml"), "values.yaml": OFF},
            ["warning"],
        ),
        (
            MAP,
            {"kustomization.yaml": GENERATED % ("gpu-values", "v.yaml"), "v.yaml": OFF},
            ["warning"],
        ),
        (
            "{kind: ConfigMap, name: gpu-values, valuesKey: v}",
            {"m.yaml": CONFIG},
            [],
        ),
        ("{kind: Secret, name: gpu-values}", {}, ["warning"]),
        ("{kind: ConfigMap, name: gpu-values, targetPath: a.b}", {}, ["warning"]),
        ("", {}, ["error"]),
    ],
)
def test_config_maps_are_the_values_of_a_release_of_flux(said, source, beside, expected):
    """Those in view, and those that a kustomization makes of files."""
    assert said({"release.yaml": FLUX % source, **beside}) == expected


@every(
    ("chart", "expected"),
    [
        ("valuesFile: v.yaml", []),
        ("valuesFile: v.yaml, additionalValuesFiles: [on.yaml]", ["warning"]),
        ("valuesFile: on.yaml, valuesInline: {toolkit: {enabled: false}}", []),
        ("valuesFile: on.yaml, valuesMerge: merge, valuesInline: {a: 1}", ["warning"]),
        ("valuesFile: gone.yaml", ["warning"]),
        ("releaseName: a", ["error"]),
    ],
)
def test_files_beside_it_are_the_values_of_a_chart_in_a_kustomization(said, chart, expected):
    """One file, and others over it."""
    files = {"k/kustomization.yaml": BUILT % chart, "k/v.yaml": OFF, "k/on.yaml": ON}
    assert said(files) == expected


MIG = "mig:\n  config: all-balanced\n"
WRONG = ("GPU-CFG-02", "mig.config")
OF_A_TEMPLATE = "driver: {version: '${version}'}\n" + MIG


@every(
    ("files", "expected"),
    [
        ({"main.tf": RELEASE % ('file("v.yaml")', ""), "v.yaml": MIG}, ["v.yaml:2"]),
        (
            {
                "main.tf": RELEASE % ('templatefile("v/g.yaml.tftpl", {version = var.v})', ""),
                "v/g.yaml.tftpl": OF_A_TEMPLATE,
            },
            ["v/g.yaml.tftpl:3"],
        ),
        # a comment excuses in it as in any file
        (
            {
                "main.tf": RELEASE % ('templatefile("g.tpl", {})', ""),
                "g.tpl": MIG.replace("\n ", "  # gpuyard: ignore GPU-CFG-02 because x\n ", 1),
            },
            [],
        ),
        # which lines of it there are, nobody knows
        (
            {
                "main.tf": RELEASE % ('templatefile("g.tftpl", {})', ""),
                "g.tftpl": f"%{{ if x }}\n{MIG}%{{ endif }}\n",
            },
            [],
        ),
        (
            {
                "main.tf": RELEASE % ('templatefile("g.tftpl", {})', ""),
                "g.tftpl": f"# %{{ if x }}\n{MIG}# %{{ endif }}\n",
            },
            [],
        ),
        # what is laid over it
        (
            {
                "main.tf": RELEASE % ('file("v.yaml"), "mig: null"', ""),
                "v.yaml": MIG,
            },
            [],
        ),
        ({"main.tf": RELEASE % ("file(var.named)", ""), "v.yaml": MIG}, []),
        # a chart of a folder may be anything around it, and another's is another's
        (
            {
                "main.tf": (RELEASE % ('file("v.yaml")', "")).replace(
                    '"gpu-operator"', '"./gpu-operator"'
                ),
                "v.yaml": MIG,
            },
            [],
        ),
        (
            {
                "main.tf": (RELEASE % ('file("v.yaml")', "")).replace(
                    '"gpu-operator"', "var.chart"
                ),
                "v.yaml": MIG,
            },
            [],
        ),
        (
            {
                "main.tf": (RELEASE % ('file("v.yaml")', "")).replace(
                    '"gpu-operator"', '"oci://r.example.org/charts/gpu-operator"'
                ),
                "v.yaml": MIG,
            },
            ["v.yaml:2"],
        ),
    ],
)
def test_a_release_of_terraform_says_for_which_chart_a_file_is(
    tmp_path, monkeypatch, files, expected
):
    monkeypatch.chdir(tmp_path)
    assert wrong(tmp_path, files) == expected


def wrong(folder, files, **wanted):
    """Where a value that no chart reads is told."""
    for old in sorted(folder.rglob("*"), reverse=True):
        old.unlink() if old.is_file() else old.rmdir()
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    reading, ignores = read_all(["."], FileSelection(**wanted))
    hits = build_report(reading, RULES, ignores=ignores).hits
    return [
        f"{h.file}:{h.line}"
        for h in hits
        if h.rule.id == WRONG[0] and WRONG[1] in h.diagnostic.problem and h.state is HitState.OPEN
    ]


def test_a_template_that_is_left_out_or_a_sample_is_not_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {
        "main.tf": RELEASE % ('templatefile("examples/g.tftpl", {})', ""),
        "examples/g.tftpl": MIG,
    }
    assert wrong(tmp_path, files) == []  # a sample stands apart
    found = {item.resource.kind: item.place.file for item in read_all(["."])[0].items}
    assert found["values:gpu-operator"] == "examples/g.tftpl"
    for left_out in ({"samples": False}, {"exclude": ["*.tftpl"]}):
        assert wrong(tmp_path, files, **left_out) == []
        reading, _ = read_all(["."], FileSelection(**left_out))
        assert reading.files == ("main.tf",)
