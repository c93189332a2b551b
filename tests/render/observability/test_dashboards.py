"""Dashboards: each query is under the contract, no panel lacks unit or description, and no two panels overlap."""

import json
import re
from functools import lru_cache, partial
from itertools import chain

import pytest
import yaml

import sizes
from gpuyard.plan import plan_or_raise
from gpuyard.render.observability import dashboards as module
from gpuyard.render.observability.dashboards import (
    check_dashboards,
    dashboard_objects,
    dashboards,
)
from gpuyard.render.observability.panels import OKABE_ITO
from gpuyard.render.observability.rules import rule_groups
from gpuyard.render.observability.targets import targets
from gpuyard.render.observability.templates import alert_links, dashboard_templates
from gpuyard.spec.read import read_stack_file
from kit.every import judge
from kit.levels import upstream
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool, team

DATA = sizes.ROOT / "components" / "gpuyard" / "render" / "observability"
DRAWN = sizes.ROOT / "scripts" / "dashboards" / "stack.yaml"
"""The stack of the pictures: draw.py asks the queries of each of its panels."""
STACKS = [
    DRAWN,
    *sorted((sizes.ROOT / "stacks").glob("Pulumi.*.yaml")),
    *sorted((sizes.ROOT / "tests" / "golden_stacks").glob("*.yaml")),
]
SERVER_SIDE_ONLY = 262144
"""Bytes of annotations, and so of an object that `kubectl apply` without --server-side copies into one."""
RECORDED = re.compile(r"gpuyard:[\w:]+")
NAMES = re.compile(r"\b(?:gpuyard:|DCGM_|kueue_|gpu_validation_|vllm:|nv_|tgi_)[\w:]+")
FULL = {
    "pools": [pool(), cut_pool(), shared_pool()],
    "teams": [team(guarantee={"train": 8}), team("speech", guarantee={"train": 8})],
    "priorities": {"production": 100, "research": 10},
    "targets": {
        "utilisation_percent": "65..85",
        "memory_percent": 80,
        "idle_percent": 20,
        "wait_p95_minutes": {"production": 10, "research": 120},
    },
}


@lru_cache
def planned(path):
    return plan_or_raise(read_stack_file(path.read_bytes(), path.stem).spec)


@lru_cache
def full():
    return plan_of(platform(**FULL))


def panels_of(dashboard):
    return dashboard["panels"]


def expressions(found):
    return {
        target["expr"]
        for each in found.values()
        for panel in panels_of(each)
        for target in panel["targets"]
    }


def test_each_query_returns_series_on_every_stack():
    def accepted(path):
        assert [str(each) for each in check_dashboards(planned(path))] == []

    judge([(path.stem, partial(accepted, path)) for path in STACKS])


def test_every_recorded_series_that_a_panel_reads_exists_on_some_stack():
    recorded = {name for path in STACKS for name in module.query_scope(planned(path)).recorded}
    read = set(RECORDED.findall(json.dumps(dashboard_templates())))
    assert read <= recorded, f"no rule records {sorted(read - recorded)}"


def test_each_panel_is_drawn():
    named = [
        p["title"] for each in dashboard_templates() for row in each["rows"] for p in row["panels"]
    ]
    drawn = [
        panel["title"] for each in dashboards(planned(DRAWN)).values() for panel in panels_of(each)
    ]
    assert drawn == named


def metrics_read():
    return sorted(set(NAMES.findall(json.dumps(dashboard_templates()))))


@pytest.mark.parametrize(
    "name", [each for each in metrics_read() if not each.startswith("gpuyard:")]
)
def test_a_renamed_metric_is_an_error(monkeypatch, name):
    changed = json.loads(re.sub(rf"\b{name}\b", f"{name}x", json.dumps(dashboard_templates())))
    for part in chain(
        changed, (p for each in changed for row in each["rows"] for p in row["panels"])
    ):
        part.pop("when", None)
    monkeypatch.setattr(module, "dashboard_templates", lambda: tuple(changed))
    assert any(f"{name}x" in str(each) for each in check_dashboards(full()))


@pytest.mark.parametrize("label", ["pool", "node", "team", "cluster_queue", "part", "class"])
def test_a_renamed_label_is_an_error(monkeypatch, label):
    text = re.sub(rf"\b{label}(=~|!=|=\\|[,)])", rf"{label}x\1", json.dumps(dashboard_templates()))
    monkeypatch.setattr(module, "dashboard_templates", lambda: tuple(json.loads(text)))
    assert any(f"{label}x" in str(each) for each in check_dashboards(full()))


def test_panels_have_unit_and_description_and_do_not_overlap():
    for path in STACKS:
        for file, each in dashboards(planned(path)).items():
            taken = [
                (x, y)
                for panel in panels_of(each)
                for place in [panel["gridPos"]]
                for x in range(place["x"], place["x"] + place["w"])
                for y in range(place["y"], place["y"] + place["h"])
            ]
            assert len(taken) == len(set(taken)), file
            assert max(x for x, _ in taken) == 23, file
            for panel in panels_of(each):
                assert panel["description"].endswith("."), (file, panel["title"])
                assert panel["fieldConfig"]["defaults"]["unit"], (file, panel["title"])


def test_targets_of_the_stack_file_are_thresholds():
    found = {
        panel["title"]: [
            step["value"] for step in panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
        ]
        for each in dashboards(full()).values()
        for panel in panels_of(each)
    }
    assert found["Utilisation"] == [None, 0.65]
    assert found["Idle"] == [None, 0.2]
    assert found["Wait by priority, 95th percentile"] == [None, 600, 7200]


def test_each_target_of_the_stack_file_has_a_line_beside_its_limit():
    fleet = dashboards(full())["gpuyard-lab-fleet.json"]
    lines = {
        each["matcher"]["options"]
        for panel in panels_of(fleet)
        if "and their targets" in panel["title"]
        for each in panel["fieldConfig"]["overrides"]
    }
    limits = {f"{each.priority or each.name}, target" for each in targets(full())}
    assert len(limits) == 6
    assert lines == limits | {"utilisation", "memory", "idle", "production", "research"}


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({}, []),
        ({"memory_percent": 80}, ["Shares and their targets"]),
        (
            {"wait_p95_minutes": {"production": 10}},
            ["Waits and their targets, 95th percentile"],
        ),
    ],
)
def test_targets_that_the_stack_file_lacks_have_no_panel(given, shown):
    fleet = dashboards(plan_of(platform(**{**FULL, "targets": given})))["gpuyard-lab-fleet.json"]
    assert [each["title"] for each in panels_of(fleet) if "their targets" in each["title"]] == shown


@pytest.mark.parametrize(
    ("given", "steps"),
    [
        ({"wait_p95_minutes": {"production": 10}}, [None, 600]),
        ({"memory_percent": 80}, [None]),
    ],
)
def test_a_target_that_the_stack_file_lacks_is_no_threshold(given, steps):
    queue = dashboards(plan_of(platform(**{**FULL, "targets": given})))["gpuyard-lab-queue.json"]
    (found,) = [
        each for each in panels_of(queue) if each["title"] == "Wait by priority, 95th percentile"
    ]
    assert [
        each["value"] for each in found["fieldConfig"]["defaults"]["thresholds"]["steps"]
    ] == steps


def test_alerts_link_to_a_dashboard_that_exists_with_their_pool_node_team_and_queue():
    known = {name for each in dashboard_templates() for name in each["alerts"]}
    every = yaml.safe_load((DATA / "alerts.yaml").read_text())
    assert known <= {each["alert"] for each in every}
    for plan in (full(), plan_of(platform([pool()]))):
        uids = {f"/d/{each['uid']}" for each in dashboards(plan).values()}
        alerts = [rule for group in rule_groups(plan) for rule in group["rules"] if "alert" in rule]
        links = {each["alert"]: each["annotations"].get("dashboard") for each in alerts}
        assert {link.partition("?")[0] for link in links.values() if link} <= uids
    links = alert_links(full())
    assert links["GpuIdle"] == (
        "/d/team-lab?refresh=1m{{ with $labels.pool }}&var-pool={{ . }}{{ end }}"
        "{{ with $labels.team }}&var-team={{ . }}{{ end }}"
    )
    assert "{{ with or $labels.queue $labels.cluster_queue }}" in links["QueueWaitLong"]


def test_a_platform_without_teams_has_no_panel_of_teams_and_queues():
    found = dashboards(plan_of(platform([pool()])))
    assert {file.removesuffix(".json").rsplit("-", 1)[1] for file in found} == {
        "fleet",
        "node",
        "cost",
    }
    assert not any("by (team)" in expression for expression in expressions(found))


def test_links_lead_to_dashboards_that_exist():
    found = dashboards(full())
    uids = {f"/d/{each['uid']}" for each in found.values()}
    linked = {
        link["url"]
        for each in found.values()
        for link in chain(each["links"], *(panel.get("links", ()) for panel in panels_of(each)))
    }
    assert linked <= uids


def test_series_of_the_plan_have_colours_that_all_readers_can_tell_apart():
    found = dashboards(full())["gpuyard-lab-fleet.json"]
    panel = next(each for each in panels_of(found) if each["title"] == "GPUs allocated by team")
    colours = [
        each["properties"][0]["value"]["fixedColor"] for each in panel["fieldConfig"]["overrides"]
    ]
    assert colours == list(OKABE_ITO[: len(colours)])


def test_a_large_fleet_has_no_heatmap_of_all_gpus_and_opens_one_node():
    large = dashboards(plan_of(platform([pool(nodes=100)])))
    titles = [each["title"] for each in panels_of(large["gpuyard-lab-fleet.json"])]
    assert "GPU activity" not in titles
    assert "GPUs by activity" in titles
    variables = {v["name"]: v for v in large["gpuyard-lab-node.json"]["templating"]["list"]}
    assert not variables["node"].get("includeAll")
    assert variables["pool"]["includeAll"]


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        (part + 0.055) ** 2.4 / 1.055**2.4 if part > 0.04045 else part / 12.92 for part in parts
    ]
    return sum(part * weight for part, weight in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))


def text_on(colour):
    """The colour of text that Grafana chooses (getTextColorForAlphaBackground of @grafana/ui 13.2.3)."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#202226" if (red * 299 + green * 587 + blue * 114) / 1000 > 180 else "#F7F8FA"


def test_large_values_have_the_contrast_of_wcag_aa_on_the_colour_of_their_state():
    colours = {
        step["color"]
        for each in dashboards(planned(DRAWN)).values()
        for panel in panels_of(each)
        if panel["options"].get("colorMode") == "background_solid"
        for step in panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
    }
    assert len(colours) == 3
    for colour in colours:
        low, high = sorted([luminance(colour), luminance(text_on(colour))])
        assert (high + 0.05) / (low + 0.05) >= 3, colour


def test_the_sidecar_of_grafana_finds_each_config_map():
    values = yaml.safe_load(upstream("values", "kube-prometheus-stack.yaml").read_text())
    sidecar = values["grafana"]["sidecar"]["dashboards"]
    plan = plan_of(platform(**FULL, observability={"grafana": True}))
    objects = dashboard_objects(plan)
    assert len(objects) == len(dashboards(plan))
    for each in objects:
        labels, (content,) = each["metadata"]["labels"], each["data"].values()
        assert labels[sidecar["label"]] == sidecar["labelValue"]
        assert json.loads(content)["uid"]
        assert len(content) < SERVER_SIDE_ONLY
    assert sidecar["searchNamespace"] == "ALL"
    assert {each["metadata"]["namespace"] for each in objects} == {"monitoring"}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"observability": {}},
        {"observability": {"prometheus": "none", "grafana": True}},
        {"observability": {"prometheus": "existing", "grafana": True}, "cloud": "simulated"},
    ],
)
def test_without_grafana_or_metrics_the_cluster_has_no_dashboards(given):
    assert dashboard_objects(plan_of(platform(**FULL, **given))) == []


def test_an_existing_grafana_gets_the_dashboards_in_the_namespace_of_prometheus():
    given = {"prometheus": "existing", "namespace": "metrics", "grafana": True}
    objects = dashboard_objects(plan_of(platform(**FULL, observability=given)))
    assert {each["metadata"]["namespace"] for each in objects} == {"metrics"}
