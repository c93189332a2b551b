"""Values are for the chart that a reference says, and not for the one that their keys are like."""

import pytest

from gpuyard_lint.combined.chart_references import resolve_chart_references
from gpuyard_lint.items import LintInput
from gpuyard_lint.read import read
from kit.every import every

MIG = "mig: {config: all-balanced}\n"
RICH = "driver: {enabled: true}\ndevicePlugin: {migStrategy: mixed}\n"
FLUX = (
    "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: g}\n"
    "spec:\n  chart: {spec: {chart: gpu-operator}}\n"
)
FROM = "  valuesFrom: [{kind: ConfigMap, name: v}]\n"
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: v}\ndata:\n  values.yaml: |\n    mig: {a: b}\n"
ARGO = (
    "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: g}\nspec:\n  source:\n"
    "    chart: %s\n    helm: {%s}\n"
)
CHART = (
    "apiVersion: v2\nname: p\nversion: 1.0.0\ndependencies: [{name: gpu-operator, alias: nvidia}]\n"
)


def found(files, said=()):
    """The values there are: of which chart, from which file, and their place in it."""
    reading = LintInput()
    for name, text in files.items():
        reading += read(text.encode(), name)
    told = resolve_chart_references(reading, said, list(files), lambda file: files.get(file, ""))
    values = [item for item in told.items if item.resource.kind.startswith("values:")]
    return sorted((i.resource.name, i.place.file, i.place.prefix) for i in values), told.skipped


def kustomize(chart, rest="valuesFile: v.yaml"):
    return f"helmCharts: [{{name: {chart}, {rest}}}]\n"


@every(
    ("files", "expected"),
    [
        ({"v.yaml": MIG}, []),
        (
            {"kustomization.yaml": kustomize("gpu-operator"), "v.yaml": MIG},
            [("gpu-operator", "v.yaml", ())],
        ),
        ({"kustomization.yaml": kustomize("hami"), "v.yaml": RICH}, []),
        (  # what is laid over it may mend it
            {
                "kustomization.yaml": kustomize(
                    "gpu-operator", "valuesFile: v.yaml, additionalValuesFiles: [w.yaml]"
                ),
                "v.yaml": MIG,
            },
            [],
        ),
        (
            {
                "a/kustomization.yaml": kustomize("gpu-operator", "valuesFile: ../v.yaml"),
                "b/kustomization.yaml": kustomize("hami", "valuesFile: ../v.yaml"),
                "v.yaml": MIG,
            },
            [],
        ),
        (
            {
                "app.yaml": ARGO % ("gpu-operator", "valueFiles: [$values/g/v.yaml]"),
                "g/v.yaml": MIG,
            },
            [("gpu-operator", "g/v.yaml", ())],
        ),
        (
            {
                "app.yaml": ARGO % ("gpu-operator", "valueFiles: [$values/gone.yaml, own.yaml]"),
                "own.yaml": MIG,
            },
            [],
        ),
        (
            {"r.yaml": FLUX + FROM, "c.yaml": CONFIG},
            [("gpu-operator", "c.yaml", ())],
        ),
        ({"r.yaml": FLUX + FROM, "c.yaml": CONFIG, "d.yaml": CONFIG}, []),
        ({"r.yaml": FLUX + FROM, "c.yaml": CONFIG.replace("mig: {a: b}", "some words")}, []),
        ({"r.yaml": FLUX, "c.yaml": CONFIG}, []),
        ({"r.yaml": FLUX + FROM.replace("ConfigMap", "Secret"), "c.yaml": CONFIG}, []),
        ({"r.yaml": FLUX + FROM.replace("}]", "}, {name: w}]"), "c.yaml": CONFIG}, []),
        ({"r.yaml": FLUX.replace("spec:\n  chart", "spec: 1\nx:\n  chart"), "c.yaml": CONFIG}, []),
        (
            {"p/Chart.yaml": CHART, "p/values.yaml": "nvidia:\n  mig: {config: a}\nother: {}\n"},
            [("gpu-operator", "p/values.yaml", ("nvidia",))],
        ),
        (
            {
                "p/Chart.yaml": CHART,
                "p/values.yaml": "nvidia: 1\n",
                "p/x.yaml": "nvidia: {a: {}}\n",
            },
            [],
        ),
        ({"p/Chart.yaml": CHART, "p/values.yaml": "nvidia: {{ a }\n"}, []),
        ({"p/Chart.yaml": "name: p\n", "p/values.yaml": "nvidia: {mig: {}}\n"}, []),
        ({"p/Chart.yaml": "alias: {{ a }\n", "p/values.yaml": "nvidia: {mig: {}}\n"}, []),
        ({"p/Chart.yaml": CHART + "---\na: b\n", "p/values.yaml": "nvidia: {mig: {}}\n"}, []),
    ],
)
def test_what_says_the_chart_wins_over_the_keys(files, expected):
    assert found(files)[0] == expected


def test_what_is_inside_values_under_an_alias_has_its_place():
    config = (
        "version: v1\\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 1}]}}"
    )
    written = (
        f'other: 1\nnvidia:\n  devicePlugin:\n    config:\n      data:\n        a: "{config}"\n'
    )
    files = {"p/Chart.yaml": CHART, "p/values.yaml": written}
    reading = LintInput() + read(CHART.encode(), "p/Chart.yaml")
    told = resolve_chart_references(reading, (), list(files), lambda file: files[file])
    (inner,) = [i for i in told.items if i.resource.kind == "config:device-plugin"]
    assert inner.place.position(("sharing",))[0] == 6


@pytest.mark.parametrize(("template", "kept"), [("p/templates/x.yaml", []), ("x.yaml", ["mine"])])
def test_templates_of_a_chart_s_own_may_read_what_the_vendor_s_does_not(template, kept):
    written = "nvidia: {driver: {enabled: true}, mine: {a: b}}\n"
    files = {"p/Chart.yaml": CHART, "p/values.yaml": written, template: "a: b\n"}
    told = resolve_chart_references(LintInput(), (), list(files), lambda file: files[file])
    (values,) = [i for i in told.items if i.resource.kind == "values:gpu-operator"]
    assert sorted(values.resource.properties) == ["driver", *kept]


def test_a_template_stays_what_it_was():
    files = {"kustomization.yaml": kustomize("gpu-operator"), "v.yaml": "mig: {{ .Values.a }\n"}
    assert [each.file for each in found(files)[1]] == ["v.yaml"]


def test_a_file_that_is_told_is_read_and_one_that_a_command_tells_stays():
    files = {"kustomization.yaml": kustomize("gpu-operator"), "v.yaml": MIG}
    assert found(files)[1] == ()
    assert found(files, said=["v.yaml"])[0] == []


@pytest.mark.parametrize("chart", ["1", "[gpu-operator]"])
def test_a_chart_without_a_name_tells_nothing(chart):
    files = {"kustomization.yaml": kustomize(chart), "v.yaml": MIG}
    assert found(files)[0] == []


@every(
    ("helm", "expected"),
    [
        ("parameters: [{name: mig.config, value: a}]", {"mig": {"config": "a"}}),
        (
            "parameters: [{name: a.b, value: '1', forceString: true}, {name: a.c, value: '2'}]",
            {"a": {"b": "1", "c": 2}},
        ),
        ("parameters: [{value: a}]", {}),
        ("valuesObject: {}, parameters: [{name: a, value: b}]", {"a": "b"}),
        # over files of which nobody knows what they say
        ("valueFiles: [v.yaml], parameters: [{name: a, value: b}]", {"a": "b"}),
        ("parameters: []", None),
        ("releaseName: g", None),
    ],
)
def test_parameters_of_argo_cd_are_values(helm, expected):
    items = read((ARGO % ("gpu-operator", helm)).encode(), "app.yaml").items
    made = [i.resource.properties for i in items if i.place.prefix[-1:] == ("parameters",)]
    assert made == ([] if expected is None else [expected])


def test_a_parameter_of_argo_cd_is_told_at_its_own_line():
    helm = """
      parameters: [
        {name: driver.enabled,
         value: "false"},
        {name: toolkit.version, value: v1.17.4}]
    """
    application = ARGO % ("gpu-operator", helm)
    items = read(application.encode(), "app.yaml").items
    (values,) = (i for i in items if i.place.prefix[-1:] == ("parameters",))
    lines = application.splitlines()
    paths = (("toolkit", "version"), ("driver", "enabled"), ("mig", "strategy"))
    told = [lines[values.place.position(path)[0] - 1].strip() for path in paths]
    assert told == [
        "{name: toolkit.version, value: v1.17.4}]",
        'value: "false"},',
        "parameters: [",
    ]
