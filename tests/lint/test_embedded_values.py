"""Configuration inside something else is found by what it says, with lines of the file around it."""

import base64
import json
import textwrap

import pytest

from gpuyard_core.yaml_tree import Document
from gpuyard_lint.charts import chart_of, values_of_chart
from gpuyard_lint.embedded_values import A_TEMPLATE_OF_VALUES, with_embedded
from gpuyard_lint.items import FileLocation, Item
from gpuyard_lint.read import read
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES as ALL_RULES
from gpuyard_lint.rules.rule import UNKNOWN, Resource
from kit.levels import upstream

NOWHERE = FileLocation("", Document(None, {}))
MIG = "version: v1\nmig-configs:\n  mixed:\n  - {devices: all, mig-devices: {1g.5gb: 4}}\n"
PLUGIN = "version: v1\nsharing: {timeSlicing: {replicas: 4}}\n"
RULES = "groups:\n- name: a\n  rules: [{alert: x, expr: y}]\n"
ADAPTER = "rules:\n- seriesQuery: x\n- metricsQuery: y\n"
DASHBOARD = '{"title": "GPUs", "panels": [\n {"gridPos": {}, "targets": [{"expr": "up"}]}]}\n'
COUNTERS = "# words\nDCGM_FI_DEV_GPU_UTIL, gauge, use\n\nDCGM_FI_DEV_FB_USED, gauge, memory\n"


def indent(text, by):
    return "".join(f"{' ' * by}{line}" for line in text.splitlines(keepends=True))


def config_map(text, name="c", key="config.yaml"):
    head = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata:\n  {key}: |\n"
    return (head + indent(text, 4)).encode()


def kinds(data):
    reading = read(data if isinstance(data, bytes) else data.encode(), "f.yaml")
    return [(item.resource.kind, item.resource.name) for item in reading.items]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (MIG, "config:mig-parted"),
        (PLUGIN, "config:device-plugin"),
        (RULES, "config:prometheus-rules"),
        (ADAPTER, "config:prometheus-adapter"),
        (COUNTERS, "config:dcgm-counters"),
        (DASHBOARD, "config:grafana-dashboard"),
    ],
)
def test_it_is_found_in_a_config_map(text, kind):
    assert kinds(config_map(text)) == [("v1/ConfigMap", "c"), (kind, "config.yaml")]


ALERT = """{"title": "idle", "condition": "C", "data": [
 {"refId": "A", "model": {"expr": "dcgm_gpu_utilization < 5"}}]}"""


@pytest.mark.parametrize(("text", "line"), [(ALERT, 2), (f"[\n{ALERT},\n{ALERT}]", 3)])
def test_rules_of_grafana_are_read_as_its_api_gives_them(text, line):
    made = build_report(read(text.encode(), "rules.json"), ALL_RULES)
    where = "data[0].model.expr"
    assert (made.hits[0].rule.id, made.hits[0].line, made.hits[0].diagnostic.location) == (
        "GPU-MET-01",
        line,
        where,
    )
    assert len(made.hits) == text.count("idle")


@pytest.mark.parametrize(
    "text", [f"[{ALERT}, {{}}]", f"[{ALERT}, 1]", '"words"', '[{"condition": "C", "data": []}]']
)
def test_a_list_of_something_else_is_no_list_of_rules(text):
    assert [each.is_unrecognized for each in read(text.encode(), "f.json").skipped] == [True]


APPLICATION = """apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: gpu}
spec:
  source:
    chart: gpu-operator
    targetRevision: v26.3.3
    helm:
      values: |
        driver: {enabled: %s}
"""


@pytest.mark.parametrize(
    ("value", "said"), [("{{ .on }}", [(9, True)]), ("'{{ .on }}'", []), ("[", [])]
)
def test_values_that_are_a_template_are_said(value, said):
    reading = read((APPLICATION % value).encode(), "a.yaml")
    assert [(each.line, each.template) for each in reading.skipped] == said
    assert {each.reason for each in reading.skipped} <= {A_TEMPLATE_OF_VALUES}


@pytest.mark.parametrize(
    "text", ['{"panels": [1,\n 2]}\n', '{"panels": [\n]}\n', '{"panels": {"a":\n "b"}}\n']
)
def test_panels_of_something_else_are_no_dashboard(text):
    assert kinds(config_map(text)) == [("v1/ConfigMap", "c")]


@pytest.mark.parametrize(
    ("text", "kind"),
    [(MIG, "mig-parted"), (RULES, "prometheus-rules"), (DASHBOARD, "grafana-dashboard")],
)
def test_it_may_be_a_file_of_its_own(text, kind):
    assert kinds(text) == [(f"config:{kind}", "f.yaml")]


def test_lines_are_those_of_the_file_around():
    item = read(config_map(MIG), "f").items[1]
    assert item.place.position(("mig-configs", "mixed", 0, "mig-devices")) == (9, 20)
    assert item.place.position(("mig-configs", "mixed", 0, "mig-devices", "1g.5gb"))[0] == 9


def test_text_on_one_line_stands_on_that_line():
    data = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": MIG}}, indent=1)
    item = read(data.encode(), "f").items[1]
    line, column = item.place.position(("mig-configs", "mixed", 0, "devices"))
    assert data.splitlines()[line - 1][column - 1 :].startswith('"a": "version')
    deep = json.dumps(
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": config_map(MIG).decode()}}, indent=1
    )
    assert [i.place.position(("data",)) for i in read(deep.encode(), "f").items[1:]] == [(5, 3)]


def test_an_object_in_a_text_is_an_object():
    text = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
    assert kinds(config_map(text))[1] == (
        "config.kueue.x-k8s.io/v1beta2/Configuration",
        "(no name)",
    )


@pytest.mark.parametrize(
    "text",
    [
        "flags: are words here\nand: [not yaml\n",
        "just\nwords\n",
        "sharing: {a: b}\nx: y\n",
        "# DCGM_ in a comment\nonly\n",
        "groups: []\na: b\n",
        "rules: [5]\nseriesQuery: x\n",
    ],
)
def test_other_text_is_nobodys_configuration(text):
    assert kinds(config_map(text)) == [("v1/ConfigMap", "c")]


def test_the_priority_expander_is_told_by_one_config_map_only():
    name = "cluster-autoscaler-priority-expander"
    text = "10:\n- .*\n50:\n- on-demand.*\n"
    found = read(config_map(text, name, "priorities"), "f").items
    assert found[1].resource.kind == "config:priority-expander"
    assert found[1].place.position(("50",)) == (8, 1)
    assert len(kinds(config_map(text, "other", "priorities"))) == 1
    assert len(kinds(config_map(text, name, "others"))) == 1
    assert len(kinds(config_map("a: [\n", name, "priorities"))) == 1
    assert len(kinds(config_map("- a\n", name, "priorities"))) == 1


def test_rules_in_a_custom_resource_are_rules():
    data = (
        "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata: {name: r}\nspec:\n"
    )
    reading = read((data + indent(RULES, 2)).encode(), "f")
    assert [i.resource.kind for i in reading.items][1] == "config:prometheus-rules"
    assert reading.items[1].place.position(("groups", 0, "rules", 0, "expr")) == (7, 24)


OPERATOR = {"devicePlugin": {"config": {"data": {"a": PLUGIN}}}, "toolkit": {"enabled": False}}


@pytest.mark.parametrize(
    ("raw", "where"),
    [
        (
            {
                "apiVersion": "helm.toolkit.fluxcd.io/v2",
                "kind": "HelmRelease",
                "spec": {"chart": {"spec": {"chart": "gpu-operator"}}, "values": OPERATOR},
            },
            "helm.toolkit.fluxcd.io/v2/HelmRelease",
        ),
        (
            {
                "apiVersion": "argoproj.io/v1alpha1",
                "kind": "Application",
                "spec": {"source": {"chart": "gpu-operator", "helm": {"valuesObject": OPERATOR}}},
            },
            "argoproj.io/v1alpha1/Application",
        ),
        (
            {
                "apiVersion": "argoproj.io/v1alpha1",
                "kind": "Application",
                "spec": {
                    "source": {"chart": "gpu-operator", "helm": {"values": json.dumps(OPERATOR)}}
                },
            },
            "argoproj.io/v1alpha1/Application",
        ),
    ],
)
def test_a_release_of_a_git_tool_has_values(raw, where):
    assert [kind for kind, _ in kinds(json.dumps(raw))] == [
        where,
        "values:gpu-operator",
        "config:device-plugin",
    ]


FLUX = {"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease"}
ARGO = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application"}
KUSTOMIZE = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
CHART = {"chart": {"spec": {"chart": "gpu-operator"}}, "values": OPERATOR}


@pytest.mark.parametrize(
    ("raw", "whole"),
    [
        ({**FLUX, "spec": CHART}, True),
        ({**FLUX, "spec": {**CHART, "valuesFrom": []}}, True),
        ({**FLUX, "spec": {**CHART, "valuesFrom": [{"kind": "ConfigMap", "name": "v"}]}}, False),
        (
            {
                **ARGO,
                "spec": {
                    "source": {
                        "chart": "gpu-operator",
                        "helm": {"values": json.dumps(OPERATOR), "valueFiles": ["$v/values.yaml"]},
                    }
                },
            },
            False,
        ),
        ({**KUSTOMIZE, "helmCharts": [{"name": "gpu-operator", "valuesInline": OPERATOR}]}, True),
        (
            {
                **KUSTOMIZE,
                "helmCharts": [
                    {"name": "other", "valuesFile": "other.yaml"},
                    {"name": "gpu-operator", "valuesInline": OPERATOR},
                ],
            },
            True,
        ),
        (
            {
                **KUSTOMIZE,
                "helmCharts": [
                    {"name": "gpu-operator", "valuesInline": OPERATOR, "valuesFile": "v.yaml"}
                ],
            },
            False,
        ),
    ],
)
def test_what_values_from_elsewhere_may_say_below_these_is_unknown(raw, whole):
    [values] = [
        item.resource.properties
        for item in read(json.dumps(raw).encode(), "kustomization.yaml").items
        if item.resource.kind == "values:gpu-operator"
    ]
    assert values["toolkit"]["enabled"] is False
    assert values.get("driver") is (None if whole else UNKNOWN)
    assert values["toolkit"].get("version") is (None if whole else UNKNOWN)


def test_a_release_of_pulumi_and_of_terraform_has_values():
    state = {
        "type": "kubernetes:helm.sh/v3:Release",
        "urn": "a::b",
        "inputs": {"chart": "nvidia/gpu-operator", "values": OPERATOR},
    }
    release = {"type": "helm_release", "address": "helm_release.x"}
    values = {"chart": "gpu-operator", "values": [json.dumps(OPERATOR), "[]", "a: [", "5"]}
    plan = {"planned_values": {"root_module": {"resources": [{**release, "values": values}]}}}
    for document in ({"steps": [{"op": "create", "newState": state}]}, plan):
        assert kinds(json.dumps(document)) == [
            ("helm:Release", "b" if "steps" in document else "helm_release.x"),
            ("values:gpu-operator", "gpu-operator"),
            ("config:device-plugin", "a"),
        ]


def test_how_many_sources_there_are_may_be_unknown():
    spec = {"template": {"spec": {"sources": UNKNOWN}}}
    item = Item(Resource("argoproj.io/v1alpha1/ApplicationSet", "a", {"spec": spec}), NOWHERE)
    assert list(with_embedded(item)) == [item]


def test_values_in_a_kustomization_without_a_kind_stand_where_they_are_written():
    text = (
        "helmCharts:\n- name: other\n- name: gpu-operator\n  valuesInline:\n"
        "    mig:\n      config: all-1g.10gb\n"
    )
    _, values = read(text.encode(), "apps/kustomization.yaml").items
    assert values.resource.kind == "values:gpu-operator"
    assert values.place.position(("mig", "config")) == (6, 7)


def test_a_release_without_a_chart_or_values_has_none():
    for spec in ({}, {"values": 5}, {"chart": 5}, {"values": {"a": "b"}}):
        raw = {"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "spec": spec}
        assert len(kinds(json.dumps(raw))) == 1


@pytest.mark.parametrize(
    ("value", "chart"),
    [
        (OPERATOR, "gpu-operator"),
        ({"migManager": {}}, "gpu-operator"),
        ({"driver": {}}, None),
        ({"devicePlugin": {}, "scheduler": {}, "devices": {}}, None),
        ({"devicePlugin": {"enabled": False}, "scheduler": {"kubeScheduler": {}}}, None),
        ({"devicePlugin": {}, "schedulerName": "hami-scheduler"}, None),
        ({"devicePlugin": {}, "schedular": {}}, "gpu-operator"),
        ({"driver": {}, "toolkit": {}}, "gpu-operator"),
        ({"managerConfig": {}}, "kueue"),
        ({"settings": {"clusterName": "a"}, "controller": {}}, "karpenter"),
        ({"settings": {"theme": "dark"}, "controller": {}}, None),
        ({"expanderPriorities": {}}, "cluster-autoscaler"),
        ({"config": {"map": {}}, "migStrategy": "mixed"}, "nvidia-device-plugin"),
        ({"customMetrics": "", "serviceMonitor": {}}, "dcgm-exporter"),
        ({"apiVersion": "v1", "migManager": {}}, None),
        ({"replicas": 1}, None),
        ([], None),
    ],
)
def test_values_say_which_chart_they_are_for(value, chart):
    assert chart_of(value) == chart


def test_an_umbrella_chart_has_values_under_names():
    data = {"gpu-operator": OPERATOR, "kueue": {"replicas": 1}, "other": {"a": 1}}
    assert kinds(json.dumps(data)) == [
        ("values:gpu-operator", "gpu-operator"),
        ("config:device-plugin", "a"),
        ("values:kueue", "kueue"),
    ]


def test_a_chart_around_the_vendors_may_have_its_name():
    value = {"gpu-operator": {"driver": {"enabled": True}, "devicePlugin": {}}}
    place = FileLocation("values.local.yaml", Document(value, {}))
    found = [each.resource for each in values_of_chart(value, place, "gpu-operator")]
    assert [each.kind for each in found] == ["values:gpu-operator"]
    assert set(found[0].properties) == {"driver", "devicePlugin"}


def test_what_helm_itself_reads_in_an_umbrella_chart_is_no_value_of_the_chart_below():
    data = {"gpu-operator": {"enabled": True, "global": {}, "tags": {}, "driver": {}, "enable": 1}}
    hits = build_report(read(json.dumps(data).encode(), "values.yaml"), ALL_RULES).hits
    assert [hit.diagnostic.location for hit in hits] == ["enable"]


@pytest.mark.parametrize("chart", ["gpu-operator", "kueue", "karpenter", "cluster-autoscaler"])
def test_the_real_values_of_a_chart_are_told_by_what_they_say(chart):
    data = (upstream("values") / f"{chart}.yaml").read_bytes()
    assert kinds(data)[0] == (f"values:{chart}", chart)


@pytest.mark.parametrize("chart", ["keda", "kube-prometheus-stack", "opencost", "volcano"])
def test_the_values_of_other_charts_are_said_not_to_be_known(chart):
    reading = read((upstream("values") / f"{chart}.yaml").read_bytes(), chart)
    assert reading.items == ()
    assert "no known format" in reading.skipped[0].reason


def test_the_layouts_that_come_with_the_operator_are_read():
    data = (upstream("data") / "0400_configmap.yaml").read_bytes()
    (_, config) = read(data, "f").items
    assert "all-1g.5gb" in config.resource.properties["mig-configs"]


def test_rules_of_the_adapter_are_read_in_the_values_of_its_chart():
    data = (
        b"prometheus: {url: http://p}\nrules:\n  default: false\n  custom:\n"
        b"  - {seriesQuery: DCGM_FI_DEV_GPU_UTIL, metricsQuery: 'avg(DCGM_FI_DEV_GPU_UTIL)'}\n"
    )
    (item,) = read(data, "v.yaml").items
    assert item.resource.kind == "config:prometheus-adapter"
    assert item.place.position(("custom", 0, "metricsQuery")) == (5, 41)
    assert read(b"rules: {custom: [{a: b}]}\n", "v.yaml").items == ()
    assert read(b"rules: 5\n", "v.yaml").items == ()


NODE_CLASS = """apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: b}
spec:
  userData: |
    [settings.kubernetes]
    rename-by-default = 1
    [settings.kubelet-device-plugins.nvidia]
    device-sharing-strategy = "%s"
    [settings.kubelet-device-plugins.nvidia.%s]
    replicas = %s
    rename-by-default = false
"""


@pytest.mark.parametrize(
    ("strategy", "replicas", "method", "read_as"),
    [
        ("time-slicing", 4, "timeSlicing", 4),
        ("mps", 1, "mps", UNKNOWN),
        ("mps", '"x"', "mps", UNKNOWN),
    ],
)
def test_settings_of_bottlerocket_share_gpus_where_they_stand(strategy, replicas, method, read_as):
    text = NODE_CLASS % (strategy, strategy, replicas)
    _, item = read(text.encode(), "f.yaml").items
    assert item.resource.kind == "config:device-plugin"
    (shared,) = item.resource.properties["sharing"].items()
    assert shared[0] == method
    assert shared[1]["resources"] == [{"name": "nvidia.com/gpu", "replicas": read_as}]
    assert shared[1].get("failRequestsGreaterThanOne", method) in {UNKNOWN, "mps"}
    for path, line in (
        ((), "[settings.kubelet-device-plugins.nvidia]"),
        (
            ("sharing", method, "resources", 0),
            f"[settings.kubelet-device-plugins.nvidia.{strategy}]",
        ),
        (("sharing", method, "renameByDefault"), "rename-by-default = false"),
    ):
        assert text.splitlines()[item.place.position(path)[0] - 1].strip() == line


@pytest.mark.parametrize(
    "settings",
    [
        "[settings.kubelet-device-plugins]\nnvidia = 1",
        "[settings]\nkubelet-device-plugins = 1",
        'settings.kubelet-device-plugins.nvidia.device-sharing-strategy = "none"',
        "#!/bin/sh\nset -e",
    ],
)
def test_other_user_data_shares_nothing(settings):
    text = NODE_CLASS[: NODE_CLASS.index("    [")] + indent(settings, 4)
    assert len(read(text.encode(), "f.yaml").items) == 1


def test_of_user_data_in_base64_no_line_is_told_but_its_own():
    settings = textwrap.dedent(NODE_CLASS[NODE_CLASS.index("    [") :]) % (
        "time-slicing",
        "other",
        2,
    )
    text = NODE_CLASS[: NODE_CLASS.index("|")] + base64.b64encode(settings.encode()).decode()
    _, item = read(text.encode(), "f.yaml").items
    assert item.resource.properties["sharing"]["timeSlicing"]["renameByDefault"] is UNKNOWN
    assert item.place.position(("sharing", "timeSlicing")) == (5, 3)


@pytest.mark.parametrize(
    ("name", "chart"),
    [("gpu-operator", ["values:gpu-operator"]), ("intel-gpu-resource-driver", [])],
)
def test_a_chart_of_another_vendor_is_told_by_the_name_of_its_source(name, chart):
    release = {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": "gpus"},
        "spec": {
            "chartRef": {"kind": "OCIRepository", "name": name},
            "values": {"cdi": {}, "nfd": {"enabled": False}},
        },
    }
    assert [kind for kind, _ in kinds(json.dumps(release))][1:] == chart


JOB = "- {job_name: dcgm-exporter, static_configs: [{targets: ['gpus:9400']}]}\n"


@pytest.mark.parametrize(
    "text",
    [
        f"scrape_configs:\n{JOB}",
        f"prometheus:\n  prometheusSpec:\n    additionalScrapeConfigs:\n    {JOB}",
        (
            "kube-prometheus-stack:\n  prometheus:\n    prometheusSpec:\n"
            f"      additionalScrapeConfigs:\n      {JOB}"
        ),
    ],
)
def test_jobs_of_prometheus_are_read_in_its_configuration_and_its_charts_values(text):
    assert [kind for kind, _ in kinds(text)] == ["config:scrape-jobs"]


@pytest.mark.parametrize(
    "text",
    [
        "prometheus: {prometheusSpec: {additionalScrapeConfigs: []}}\n",
        "prometheus: {prometheusSpec: x}\n",
        "kube-prometheus-stack: {prometheus: x}\n",
        "kube-prometheus-stack: x\n",
    ],
)
def test_values_of_prometheus_without_jobs_have_none(text):
    assert kinds(text) == []


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("migManager: {config: {data: {config.yaml: *}}}\ndriver: {}\n", ["config:mig-parted"]),
        # keys that the operator's chart does not read: nothing is made of what is below
        ("migParted: {config: {data: {config.yaml: *}}}\ndriver: {}\nmigManager: {}\n", []),
        ("migManager: {layouts: {config.yaml: *}}\ndriver: {}\n", []),
        ("layouts: {config.yaml: *}\nconfig: {}\nfailOnInitError: true\n", ["config:mig-parted"]),
    ],
)
def test_what_the_operators_chart_does_not_read_configures_nothing(values, expected):
    found = kinds(values.replace("*", json.dumps(MIG)))
    assert [kind for kind, _ in found if not kind.startswith("values:")] == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gpu-feature-discovery-config", []),
        ("gfd", []),
        ("gfd-and-plugin", ["config:device-plugin"]),
        ("time-slicing", ["config:device-plugin"]),
    ],
)
def test_what_is_for_the_labels_of_nodes_alone_shares_nothing(name, expected):
    found = kinds(config_map(PLUGIN, name))
    assert [kind for kind, _ in found if kind != "v1/ConfigMap"] == expected
