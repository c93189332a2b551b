"""Values of charts that the chart around them leaves out, and what switches these on all the same."""

from gpuyard_lint.unused.dependencies import drop_disabled_subcharts
from kit.cases.reading import reading
from kit.every import every

CHART = """\
name: platform
dependencies:
  - {name: kueue}
  - {name: gpu-operator, condition: gpu-operator.enabled}
"""
TAGGED = "name: platform\ndependencies:\n  - {name: gpu-operator, tags: [gpu, ml]}\n"
OFF = """\
gpu-operator:
  enabled: false
  driver: {version: 535.54.03}
  devicePlugin:
    config:
      data:
        a: |
          version: v1
          sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
kueue: {enableKueueViz: true}
"""
ON = "gpu-operator: {enabled: true}\n"
UMBRELLA = {"c/Chart.yaml": CHART, "c/values.yaml": OFF}
PARAMETER = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: x}
spec:
  source:
    path: c
    helm:
      parameters:
        - name: gpu-operator.enabled
          value: "true"
"""


def kept(files):
    found = reading({name: text for name, text in files.items() if name.endswith(".yaml")})
    made = drop_disabled_subcharts(found, list(files), lambda file: files[file])
    return {item.resource.kind for item in made.items if item.place.file.startswith("c/values")}


ALL = kept({"c/values.yaml": OFF})
REST = {"values:kueue"}


def test_without_the_chart_around_them_nobody_knows():
    assert {"values:gpu-operator", *REST} < ALL


@every(
    ("more", "expected"),
    [
        ({}, REST),
        ({"c/Chart.yaml": CHART.replace(", condition: gpu-operator.enabled", "")}, ALL),
        (
            {
                "c/Chart.yaml": CHART.replace(
                    "gpu-operator.enabled", "'global.gpu, gpu-operator.enabled'"
                )
            },
            REST,
        ),
        ({"c/Chart.yaml": CHART.replace("gpu-operator.enabled", "global.gpu")}, ALL),
        ({"c/Chart.yaml": "{{ x }}: [condition: y"}, ALL),
        ({"c/Chart.yaml": CHART.replace("name: gpu-operator, ", "")}, ALL),
        (
            {
                "c/Chart.yaml": CHART.replace(
                    "{name: gpu-operator,", "{name: x, alias: gpu-operator,"
                )
            },
            REST,
        ),
        (
            {
                "c/Chart.yaml": f"{CHART}  - {{name: gpu-operator, alias: b, condition: b.enabled}}\n"
            },
            ALL,
        ),
        ({"c/Chart.yaml": CHART.replace("gpu-operator.enabled", "'{{ x }}'")}, ALL),
        ({"c/values.yaml": OFF.replace("enabled: false", "enabled: true")}, ALL),
        ({"c/values-prod.yaml": ON}, ALL),
        ({"c/values-prod.yaml": "gpu-operator: {driver: {enabled: true}}\n"}, REST),
        ({"prod.yaml": f"spec: {{values: {{platform: {{{ON.strip()}}}}}}}\n"}, ALL),
        ({"prod.yaml": f"a: [{{values: {{{ON.strip()}}}}}]\n"}, ALL),
        ({"prod.yaml": f"spec:\n  values: |\n    {ON}    b: 1\n"}, ALL),
        ({"prod.yaml": "gpu-operator: {enabled: false}\n"}, REST),
        ({"c/values-b.yaml": "kueue: {enableKueueViz: false}\n"}, REST),
        ({"prod.yaml": "gpu-operator:\n  - {{ enabled\n"}, REST),
        ({"app.yaml": PARAMETER}, ALL),
        ({"up.sh": "helm install c --set gpu-operator.enabled=true\n"}, ALL),
        ({"up.sh": "helm install c --set gpu-operator.enabled=false\n"}, REST),
        ({"up.sh": "# --set gpu-operator.enabled=true\n"}, REST),
        ({"README.md": "`--set gpu-operator.enabled=true` gives it GPUs.\n"}, ALL),
        ({"README.md": "| gpu-operator.enabled | whether | `true` |\n"}, REST),
        ({"c/templates/a.yaml": "{{ if .Values.gpu-operator.enabled }}"}, REST),
        ({"d/templates/a.yaml": "{{ if .Values.gpu-operator.enabled }}"}, REST),
        ({"d/Chart.yaml": "dependencies:\n- condition: gpu-operator.enabled\n  name: x\n"}, REST),
    ],
)
def test_a_condition_that_is_false(more, expected):
    assert kept({**UMBRELLA, **more}) == expected


@every(
    ("tags", "more", "expected"),
    [
        ("tags: {gpu: false}", {}, REST),
        ("tags: {gpu: false, ml: true}", {}, ALL),
        ("tags: {other: false}", {}, ALL),
        ("tags: {gpu: false}", {"prod.yaml": "tags: {ml: true}\n"}, ALL),
        ("tags: {gpu: false}", {"up.sh": "helm install c --set tags.gpu=true\n"}, ALL),
    ],
)
def test_tags_of_which_none_is_true(tags, more, expected):
    files = {"c/Chart.yaml": TAGGED, "c/values.yaml": f"{tags}\n{OFF}"}
    assert kept({**files, **more}) == expected


def test_a_condition_without_dots():
    files = {
        "c/Chart.yaml": CHART.replace("gpu-operator.enabled", "gpus"),
        "c/values.yaml": f"gpus: false\n{OFF}",
    }
    assert kept(files) == REST
    assert kept({**files, "prod.yaml": "gpus: true\n"}) == ALL


def test_a_chart_that_nothing_switches_off_or_without_values():
    assert kept({"c/Chart.yaml": "name: c\n", "c/values.yaml": OFF}) == ALL
    assert kept({"c/Chart.yaml": CHART, "c/values-prod.yaml": OFF}) == ALL


MANY = """\
name: platform
dependencies:
  - {name: gpu-operator, condition: "gpu-operator.enabled,gpus.enabled"}
  - {name: kueue, condition: "kueue.enabled,gpus.enabled"}
"""


@every(
    ("beside", "expected"),
    [
        (
            "gpu-operator: {enabled: false}\nkueue: {enabled: false}\ngpus: {enabled: false}\n",
            set(),
        ),
        ("gpu-operator: {enabled: false}\nkueue: {enabled: true}\n", REST),
        ("gpus: {enabled: true}\n", ALL),
    ],
)
def test_what_switches_several_on_is_read_once(beside, expected):
    """Each file is asked for once, however many charts are switched off."""
    off = f"{OFF}gpus: {{enabled: false}}\n".replace("kueue: {", "kueue: {enabled: false, ")
    files = {"c/Chart.yaml": MANY, "c/values.yaml": off, "prod.yaml": beside}
    asked: list[str] = []

    def text_of(file):
        asked.append(file)
        return files[file]

    found = reading({name: text for name, text in files.items() if name.startswith("c/v")})
    made = drop_disabled_subcharts(found, list(files), text_of)
    kinds = {item.resource.kind for item in made.items}
    assert kinds == expected, kinds
    assert asked.count("prod.yaml") <= 1
