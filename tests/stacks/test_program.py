"""The stack program on the strict mock monitor, for every stack file in stacks/."""

import json
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pulumi
import pytest
import yaml
from testbed.plugins.cloud.account import Account
from testbed.plugins.cloud.service import reservations

from gpuyard import plan_or_raise, read_stack_file
from gpuyard.plan.capacity.scaling import installs_karpenter
from gpuyard.plan.observability.stage import installs_monitoring
from gpuyard.plan.records.late import UnresolvedOutput, unresolved_output_names
from gpuyard.render.addon_charts import chart_addons
from gpuyard.render.platform import releases
from kit.cases.records import objects_of
from kit.clouds import answers
from kit.clouds.given import account_with
from kit.levels import upstream

ROOT = Path(__file__).parents[2]
STACKS = sorted((ROOT / "stacks").glob("Pulumi.*.yaml"))
KUEUES = [
    "Release:kueue-system/kueue",
    "Service:kueue-system/gpuyard-kueue-answers",
]
"""Kueue's chart, and the service that says when it answers."""
OPERATOR = ["Release:gpu-operator/gpu-operator"]
MONITORING = ["Release:monitoring/kube-prometheus-stack"]
KARPENTER = ["Release:kube-system/karpenter", "Release:kube-system/karpenter-crd"]
LOCAL = ROOT / "stacks" / "Pulumi.local.yaml"


def spec_of(stack):
    reading = read_stack_file(stack.read_bytes(), stack.name)
    assert reading.spec is not None, [str(finding) for finding in reading.findings]
    return reading.spec


@pytest.fixture
def local(pulumi_mocks):
    return pulumi_mocks.with_settings(stack="local").run(ROOT, config=LOCAL)


@pytest.mark.parametrize("stack", STACKS, ids=lambda path: path.name)
def test_every_stack_file_is_a_platform(stack):
    assert plan_or_raise(spec_of(stack)).name


@pytest.mark.parametrize("stack", STACKS, ids=lambda path: path.name)
def test_a_stack_registers_its_rendered_objects_known_or_not(pulumi_mocks, stack, tmp_path):
    plan = plan_or_raise(spec_of(stack))
    raw = yaml.safe_load(stack.read_text(encoding="utf-8"))["config"]["gpuyard:platform"]
    given = (raw.get("cluster") or {}).get("existing")
    account = account_with(raw) if given else Account(tmp_path)
    reserved = ROOT / "stacks" / "reservations" / f"{plan.name}.json"
    if reserved.exists():
        reservations.write(tmp_path, json.loads(reserved.read_text(encoding="utf-8")))
    calls = answers.calls(account)
    clouds = pulumi_mocks.with_settings(outputs=answers.outputs, calls=calls)
    graph, _ = clouds.assert_same_when_unknown(ROOT, config=stack)
    told = plan.name if isinstance(plan.cluster_name, UnresolvedOutput) else plan.cluster_name
    rendered = objects_of(replace(plan, cluster_name=told))
    objects = {one.name: str(one.inputs) for one in kubernetes_objects(graph)}
    known = [obj for obj in rendered if not unresolved_output_names(obj)]
    wanted = {str({key: sort_keys(obj[key]) for key in sorted(obj)}) for obj in known}
    assert wanted <= set(objects.values())
    # A chart is no manifest: Helm renders it where it goes in. Values that only the cloud knows differ, and
    # a check that has passed leaves a ConfigMap.
    beside = [
        name
        for name, inputs in objects.items()
        if inputs not in wanted and not name.endswith("-passed")
    ]
    charts = [*(KUEUES if plan.queueing.install else []), *(OPERATOR if operated(plan) else [])]
    charts += KARPENTER if installs_karpenter(plan.spec) else []
    charts += MONITORING if installs_monitoring(plan.spec) else []
    of_addons = {addon.name for addon in chart_addons()}
    charts += [
        f"Release:{release.namespace}/{release.name}"
        for name, release in releases(plan).items()
        if name in of_addons
    ]
    late = [called(obj) for obj in rendered if unresolved_output_names(obj)]
    assert sorted(name.partition(":")[2] for name in beside) == sorted([*charts, *late])


def called(obj):
    """The name of an object's resource, without its component."""
    meta = obj["metadata"]
    return f"{obj['kind']}:{'/'.join(filter(None, (meta.get('namespace'), meta['name'])))}"


def operated(plan):
    return plan.operator is not None and plan.operator.install


def kubernetes_objects(graph):
    """What is inside the cluster: of the cloud and of the engine are others."""
    return [one for one in graph if one.custom and one.type.startswith("kubernetes:")]


def sort_keys(value):
    """As the record of a run holds a value."""
    if isinstance(value, dict):
        return {key: sort_keys(value[key]) for key in sorted(value)}
    return [sort_keys(one) for one in value] if isinstance(value, list) else value


def test_the_local_stack_is_valid_under_the_real_definitions(pulumi_mocks):
    strict = pulumi_mocks.with_settings(crds=upstream("crds"), require_checks=True)
    assert strict.run(ROOT, config=LOCAL).unchecked == []


def test_the_local_stack_has_three_pools_three_teams_and_one_queueing(local):
    kinds = [one.type.rpartition(":")[2] for one in local if not one.custom]
    assert (
        sorted(kinds)
        == ["GpuNodePool"] * 3 + ["GpuOperator", "Platform", "Queueing"] + ["Team"] * 3
    )
    assert len(local.of_type("kubernetes:core/v1:Node")) == 6


def test_the_cluster_is_known_by_name_and_what_is_ours_stays_ours(local):
    (provider,) = local.of_type("pulumi:providers:kubernetes")
    assert provider.inputs == {
        "clusterIdentifier": "local",
        "context": "gpuyard-simulated",
        "enableConfigMapMutable": "true",
        "enablePatchForce": "true",
    }


@pytest.mark.repeats("the others of this file")
def test_the_stack_says_what_a_reader_asks_first(local):
    outputs = local.stack_outputs
    assert sorted(outputs) == ["bill", "digest", "notes", "pools", "teams", "validation"]
    assert sorted(outputs["pools"]) == ["dev", "serve", "train"]
    assert sorted(outputs["teams"]) == ["search", "speech", "vision"]
    assert outputs["bill"]["simulated"] is True
    assert local.secret_stack_outputs == frozenset()


@pytest.mark.repeats("the others of this file")
def test_no_name_in_the_state_follows_the_platforms_name(pulumi_mocks, local):
    renamed = yaml.safe_load(LOCAL.read_text(encoding="utf-8"))["config"]["gpuyard:platform"]
    renamed["name"] = "other"
    again = pulumi_mocks.with_settings(stack="local").run(ROOT, config={"platform": renamed})
    components = {one.urn for one in local if not one.custom}
    assert {one.urn for one in again if not one.custom} == components


def test_a_refused_spec_ends_the_program_with_every_finding_and_no_resource(pulumi_mocks):
    spec = yaml.safe_load(LOCAL.read_text(encoding="utf-8"))["config"]["gpuyard:platform"]
    spec["pools"][0]["nodes"] = "9..1"
    spec["budget"]["max_usd_per_hour"] = -1
    with pytest.raises(pulumi.RunError) as caught:
        pulumi_mocks.run(ROOT, config={"platform": spec})
    text = str(caught.value)
    assert "pools[0].nodes: the range runs backwards" in text
    assert "budget.max_usd_per_hour: out of bounds" in text


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({}, "Missing required configuration variable 'gpuyard:platform'"),
        ({"platform": "research"}, "gpuyard:platform"),
        ({"platform": []}, "a mapping"),
    ],
)
def test_a_stack_without_a_platform_ends_with_a_message(pulumi_mocks, config, text):
    with pytest.raises(pulumi.RunError) as caught:
        pulumi_mocks.run(ROOT, config=config)
    assert text in str(caught.value)


def test_the_project_finds_its_stacks_and_its_environment():
    project = yaml.safe_load((ROOT / "Pulumi.yaml").read_text(encoding="utf-8"))
    assert project["name"] == "gpuyard"
    assert (ROOT / project["stackConfigDir"] / "Pulumi.local.yaml").is_file()
    assert project["runtime"] == {
        "name": "python",
        "options": {"toolchain": "pip", "virtualenv": ".venv"},
    }


def test_the_plugin_uses_the_same_environment():
    plugin = yaml.safe_load((ROOT / "components/PulumiPlugin.yaml").read_text(encoding="utf-8"))
    options = plugin["runtime"]["options"]
    assert (ROOT / "components" / options["virtualenv"]).resolve() == (ROOT / ".venv").resolve()


def test_the_plugin_installs_this_project_where_nothing_is_installed():
    lines = (ROOT / "components/requirements.txt").read_text(encoding="utf-8").splitlines()
    wanted = [line for line in lines if not line.startswith("#")]
    assert wanted[0] == "--editable ..[aws,gcp]"
    folders = [line.removeprefix("--editable ").partition("[")[0] for line in wanted]
    projects = [*(ROOT / "components").glob("*/pyproject.toml"), ROOT / "pyproject.toml"]
    above = {"gpuyard_advisor", "gpuyard_testing"}  # a program needs neither
    assert {(ROOT / "components" / each).resolve() for each in folders} == {
        each.parent for each in projects if each.parent.name not in above
    }


def test_the_plugin_serves_nothing_when_it_is_only_imported():
    runpy.run_path(str(ROOT / "components/__main__.py"), run_name="imported")


@pytest.mark.repeats("none: it runs no line that is measured")
@pytest.mark.parametrize(
    ("imports", "most"),
    [("import gpuyard.resources", 3), ("import gpuyard.resources as r; r.Platform", 450)],
)
def test_a_program_loads_the_components_that_it_uses_and_no_sdk(imports, most):
    program = f"import sys; {imports}; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout.split()
    heavy = {"pulumi_aws", "pulumi_gcp", "kubernetes", "boto3", "rich"}
    assert sorted({name.partition(".")[0] for name in loaded} & heavy) == []
    # The modules of pulumi_kubernetes are lazy; one with content has modules of its own.
    assert [each for each in loaded if each.startswith("pulumi_kubernetes.core.v1.")] == []
    assert sum(each.split(".")[0] == "gpuyard" for each in loaded) <= most
