"""Values that several layers give: each is judged as it is deployed, in the order of who deploys it."""

import pytest

from gpuyard_lint.items import ReleasePart
from gpuyard_lint.layers.sets import generated_release_parameters
from gpuyard_lint.layers.values_variants import merged_release_values
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import UNKNOWN, Resource
from kit.cases.reading import read_in
from kit.every import every

BAD = "driver: {version: 550.54.15}\n"
GOOD = "driver: {version: 580.178.04}\n"
OTHER = "dcgmExporter: {serviceMonitor: {enabled: true}}\n"
ARGO = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: gpus}
spec:
  sources:
    - {repoURL: https://git.example/a.git, ref: values}
    - {chart: gpu-operator, repoURL: https://helm.ngc.nvidia.com/nvidia, targetRevision: v26.7.0, helm: %s}
"""
OF_A_PATH = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: gpus}
spec: {source: {repoURL: https://git.example/a.git, path: charts/gpus, helm: %s}}
"""
SET = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: gpus}
spec:
  generators: [%s]
  template:
    spec:
      source: {chart: gpu-operator, repoURL: https://h, targetRevision: v26.7.0, helm: %s}
"""
LIST = "list: {elements: [{at: a, deep: {er: x}, some: [1]}, {at: b, deep: {er: y}}]}"
FLUX = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: gpus}
spec:
  chart: {spec: {chart: gpu-operator, version: v26.7.0}}
%s
"""
GENERATED = (
    "resources: [release.yaml]\n"
    "configMapGenerator: [{name: one, files: [values.yaml=one.yaml]}, {name: two, files: [k=two.yaml]}]\n"
)
PATCHED = "resources: [release.yaml]\npatches: [{path: p.yaml, target: {kind: HelmRelease}}]\n"
PATCH = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: gpus}\n%s\n"
BUILT = "helmCharts: [{name: gpu-operator, version: v26.7.0, %s}]\n"
CHART = "apiVersion: v2\nname: gpus\nversion: 1.0.0\ndependencies: [{name: gpu-operator, version: v26.7.0}]\n"
BOTH = {"v/bad.yaml": BAD + OTHER, "v/good.yaml": GOOD + OTHER}


@pytest.fixture
def old(tmp_path, monkeypatch):
    """Files in which an old driver is said."""
    monkeypatch.chdir(tmp_path)

    def of(files):
        reading = read_in(tmp_path, files)
        hits = build_report(reading, RULES).hits
        return [
            f"{h.file}:{h.line}"
            for h in hits
            if h.diagnostic.problem.startswith("driver 550.54.15")
        ]

    return of


def indented(values):
    return values.replace("\n", "")


def named_in(text):
    """The files that it names: one that nobody names would be judged as it stands."""
    return {name: values for name, values in BOTH.items() if name in text}


@every(
    ("helm", "expected"),
    [
        ("{valueFiles: [$values/v/bad.yaml, $values/v/good.yaml]}", []),
        ("{valueFiles: [$values/v/good.yaml, $values/v/bad.yaml]}", ["v/bad.yaml:1"]),
        # what is not in view excuses nothing
        ("{valueFiles: [$values/v/bad.yaml, $values/v/gone.yaml]}", ["v/bad.yaml:1"]),
        (f"{{valueFiles: [$values/v/bad.yaml], valuesObject: {{{indented(GOOD)}}}}}", []),
        (f"{{valueFiles: [$values/v/bad.yaml], values: '{indented(GOOD)}'}}", []),
        (f"{{valueFiles: [$values/v/good.yaml], valuesObject: {{{indented(BAD)}}}}}", ["a.yaml:7"]),
        (f"{{values: '{indented(BAD)}', valuesObject: {{{indented(GOOD)}}}}}", []),
        (f"{{values: '{indented(GOOD)}', valuesObject: {{{indented(BAD)}}}}}", ["a.yaml:7"]),
        (
            f"{{values: '{indented(BAD)}', parameters: [{{name: driver.version, value: 580.178.04}}]}}",
            [],
        ),
        (
            f"{{values: '{indented(GOOD)}', parameters: [{{name: driver.version, value: 550.54.15}}]}}",
            ["a.yaml:7"],
        ),
        (
            "{values: 'driver: {enabled: false}', parameters: [{name: driver.version, value: 550.54.15}]}",
            [],
        ),
        (
            f"{{values: '{indented(BAD)}', fileParameters: [{{name: driver.version, path: v}}]}}",
            [],
        ),
    ],
)
def test_argo_cd_lays_parameters_over_values_over_files(old, helm, expected):
    """`valuesObject` takes the place of `values`, and is not laid over it."""
    assert old({"a.yaml": ARGO % helm} | named_in(helm)) == expected


@every(
    ("helm", "files", "expected"),
    [
        ("{}", {"values.yaml": BAD}, ["charts/gpus/values.yaml:2"]),
        ("{}", {}, []),
        ("{valueFiles: [values.yaml, on.yaml]}", {"values.yaml": BAD, "on.yaml": GOOD}, []),
        ("{valueFiles: [/charts/gpus/on.yaml]}", {"values.yaml": BAD, "on.yaml": GOOD}, []),
        (
            "{valueFiles: [on.yaml]}",
            {"values.yaml": GOOD, "on.yaml": BAD},
            ["charts/gpus/on.yaml:2"],
        ),
        (
            "{valueFiles: ['https://h/v.yaml']}",
            {"values.yaml": BAD},
            ["charts/gpus/values.yaml:2"],
        ),
        (
            "{parameters: [{name: gpu-operator.driver.enabled, value: 'false'}]}",
            {"values.yaml": BAD},
            [],
        ),
        (
            "{valuesObject: {gpu-operator: {driver: {version: 580.178.04}}}}",
            {"values.yaml": BAD},
            [],
        ),
    ],
)
def test_files_of_a_chart_in_the_repository_are_beside_it(old, helm, files, expected):
    """Its own values are the lowest layer."""
    below = {f"charts/gpus/{name}": f"gpu-operator:\n  {text}" for name, text in files.items()}
    chart = {"charts/gpus/Chart.yaml": CHART}
    assert old({"a.yaml": OF_A_PATH % helm} | chart | below) == expected


@every(
    ("generators", "path", "files", "expected"),
    [
        (LIST, "{{at}}", {"a": GOOD, "b": GOOD}, []),
        (LIST, "{{at}}", {"a": GOOD}, ["v/bad.yaml:1"]),
        (LIST, "{{ .deep.er }}", {"x": GOOD, "y": GOOD}, []),
        (LIST, "{{ .gone }}", {"a": GOOD}, ["v/bad.yaml:1"]),
        (LIST, "{{at}}", {"a": GOOD, "b": OTHER}, ["v/bad.yaml:1"]),
        # who makes them is not known, and the files in view are
        ("clusters: {}", "{{name}}", {"a": GOOD, "b": GOOD}, []),
        ("clusters: {}", "{{name}}", {"a": GOOD, "b": OTHER}, ["v/bad.yaml:1"]),
        ("clusters: {}", "{{name}}", {}, ["v/bad.yaml:1"]),
        ("clusters: {}", "{{name}}/{{name}}", {"a/a": GOOD, "a/b": OTHER}, []),
        ("list: {elementsYaml: a}", "{{at}}", {"a": GOOD}, []),
    ],
)
def test_a_set_makes_a_release_of_each_element(old, generators, path, files, expected):
    """A file for all of them is judged as each of them has it."""
    helm = f"{{valueFiles: [$values/v/bad.yaml, '$values/c/{path}.yaml']}}"
    more = {f"c/{name}.yaml": text for name, text in files.items()}
    given = {"a.yaml": SET % (f"{{{generators}}}", helm), "v/bad.yaml": BAD + OTHER}
    assert old(given | more) == expected


@every(
    ("spec", "files", "expected"),
    [
        ("valuesFrom: [{kind: ConfigMap, name: one}]", {"one": BAD}, ["one.yaml:1"]),
        (
            f"valuesFrom: [{{kind: ConfigMap, name: one}}]\n  values: {{{BAD.strip()}}}",
            {"one": GOOD},
            ["release.yaml:7"],
        ),
        (
            f"valuesFrom: [{{kind: ConfigMap, name: one}}]\n  values: {{{GOOD.strip()}}}",
            {"one": BAD},
            [],
        ),
        (
            "valuesFrom: [{kind: ConfigMap, name: one}, {kind: ConfigMap, name: two, valuesKey: k}]",
            {"one": BAD, "two": GOOD},
            [],
        ),
        (
            "valuesFrom: [{kind: ConfigMap, name: two, valuesKey: k}, {kind: ConfigMap, name: one}]",
            {"one": BAD, "two": GOOD},
            ["one.yaml:1"],
        ),
        (  # what a Secret lays over it is not known, and no excuse of a file
            "valuesFrom: [{kind: ConfigMap, name: one}, {kind: Secret, name: s}]",
            {"one": BAD + OTHER},
            ["one.yaml:1"],
        ),
    ],
)
def test_flux_lays_values_over_what_it_has_from_elsewhere(old, spec, files, expected):
    """Of several in `valuesFrom` the later wins."""
    more = {f"{name}.yaml": text for name, text in files.items()}
    release = {"release.yaml": FLUX % f"  {spec}", "kustomization.yaml": GENERATED}
    assert old(release | more) == expected


@every(
    ("patch", "expected"),
    [
        (f"spec: {{values: {{{GOOD.strip()}}}}}", []),
        ("spec: {chart: {spec: {version: v26.7.1}}}", ["release.yaml:6"]),
        (f"spec: {{values: {{{OTHER.strip()}}}}}", ["release.yaml:6"]),
    ],
)
def test_values_of_a_release_are_as_a_kustomization_patches_them(old, patch, expected):
    """The patched release is what Flux gets."""
    files = {
        "release.yaml": FLUX % f"  values: {{{BAD.strip()}}}",
        "kustomization.yaml": PATCHED,
        "p.yaml": PATCH % patch,
    }
    assert old(files) == expected


@every(
    ("chart", "expected"),
    [
        ("valuesFile: v/bad.yaml, additionalValuesFiles: [v/good.yaml]", []),
        ("valuesFile: v/good.yaml, additionalValuesFiles: [v/bad.yaml]", ["v/bad.yaml:1"]),
        (f"valuesFile: v/bad.yaml, valuesInline: {{{GOOD.strip()}}}", []),
        (f"valuesFile: v/bad.yaml, valuesInline: {{{OTHER.strip()}}}", ["v/bad.yaml:1"]),
        (f"valuesFile: v/bad.yaml, valuesMerge: replace, valuesInline: {{{OTHER.strip()}}}", []),
        ("valuesFile: v/bad.yaml, valuesMerge: replace", ["v/bad.yaml:1"]),
        (
            f"valuesFile: v/bad.yaml, valuesMerge: merge, valuesInline: {{{GOOD.strip()}}}",
            ["v/bad.yaml:1"],
        ),
        (
            f"valuesFile: v/good.yaml, valuesMerge: merge, valuesInline: {{{BAD.strip()}}}",
            [],
        ),
        # further files come after what stands in the kustomization
        (
            f"additionalValuesFiles: [v/bad.yaml], valuesInline: {{{GOOD.strip()}}}",
            ["v/bad.yaml:1"],
        ),
        (f"additionalValuesFiles: [v/good.yaml], valuesInline: {{{BAD.strip()}}}", []),
    ],
)
def test_kustomize_has_a_file_then_what_is_inline_then_further_files(old, chart, expected):
    """`valuesMerge` says what becomes of the file."""
    assert old({"kustomization.yaml": BUILT % chart} | named_in(chart)) == expected


def test_of_two_releases_one_that_deploys_it_is_enough(old):
    """What one lays over a file, the other does not."""
    files = {
        "a.yaml": ARGO % "{valueFiles: [$values/v/bad.yaml]}",
        "b.yaml": ARGO % "{valueFiles: [$values/v/bad.yaml, $values/v/good.yaml]}",
    }
    assert old(files | BOTH) == ["v/bad.yaml:1"]
    assert old({"b.yaml": files["b.yaml"]} | BOTH) == []
    # a sample deploys nothing
    assert old({"examples/b.yaml": files["b.yaml"]} | BOTH) == ["v/bad.yaml:1"]


def test_what_a_variable_decides_of_a_release_has_no_order():
    """Nobody knows which layers there are, nor which releases."""
    application = {"spec": {"source": {"helm": {"valueFiles": UNKNOWN, "valuesObject": {"a": 1}}}}}
    release = Resource("argoproj.io/v1alpha1/Application", "a", application)
    assert merged_release_values(ReleasePart(release, ("spec", "source")), "a.yaml") is None
    assert generated_release_parameters({"spec": {"generators": UNKNOWN}}, [], []) == [{}]
