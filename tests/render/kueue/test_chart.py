"""Kueue's chart with values from the plan, held against the values that the chart has."""

import pytest
import yaml
from testbed.plugins.kubernetes.helm import unknown_values

from gpuyard.plan.queueing.kueue import frameworks
from gpuyard.render.files import render_files
from gpuyard.render.kueue.chart import kueue_objects, kueue_release, kueue_values
from gpuyard.render.kueue.configuration import kueue_configuration
from gpuyard.render.platform import releases
from kit.levels import upstream
from kit.stacks import SYSTEM, plan_of, platform, pool, spec_of

LATE = {"cluster.name": "blue"}


def values(**more):
    return kueue_values(plan_of(platform(**more)))


def charts_own():
    return yaml.safe_load(upstream("values", "kueue.yaml").read_text(encoding="utf-8"))


def charts_configuration():
    return yaml.safe_load(charts_own()["managerConfig"]["controllerManagerConfigYaml"])


def test_what_can_stand_in_a_queue_is_what_the_chart_lists():
    assert charts_configuration()["integrations"]["frameworks"] == frameworks(spec_of(platform()))


def paths(tree, at=()):
    for key, value in tree.items():
        yield (*at, key)
        if isinstance(value, dict):
            yield from paths(value, (*at, key))


@pytest.mark.repeats("tests/render/test_golden.py")
@pytest.mark.parametrize("cloud", ["none", "aws"])
def test_every_value_is_one_of_the_charts(cloud):
    assert list(unknown_values(values(cloud=cloud), charts_own())) == []


def test_a_value_that_the_chart_does_not_have_would_be_found():
    wrong = {"controllerManager": {"replica": 2}}
    assert list(unknown_values(wrong, charts_own())) == ["controllerManager.replica"]


def test_nothing_that_the_charts_own_configuration_sets_is_lost():
    ours, theirs = kueue_configuration(plan_of(platform())), charts_configuration()
    assert set(paths(theirs)) <= set(paths(ours))
    for part in ("health", "webhook", "leaderElection", "controller", "clientConnection"):
        assert ours[part] == theirs[part]
    assert ours["metrics"] == theirs["metrics"] | {"enableClusterQueueResources": True}
    assert ours["integrations"] == theirs["integrations"]


def test_the_configuration_names_what_the_chart_makes():
    made = values()
    text = made["managerConfig"]["controllerManagerConfigYaml"]
    certificates = yaml.safe_load(text)["internalCertManagement"]
    # templates/_helpers.tpl: everything is named for this, whatever the release is called.
    assert certificates == {
        "enable": True,
        "webhookServiceName": f"{made['fullnameOverride']}-webhook-service",
        "webhookSecretName": f"{made['fullnameOverride']}-webhook-server-cert",
    }


def test_two_managers_never_go_at_once_and_keep_apart():
    manager = values()["controllerManager"]
    assert manager["replicas"] > manager["podDisruptionBudget"]["minAvailable"]
    (spread,) = manager["topologySpreadConstraints"]
    assert spread["whenUnsatisfiable"] == "ScheduleAnyway", "a cluster of one node has them too"
    # templates/_helpers.tpl, kueue.selectorLabels
    assert spread["labelSelector"] == {"matchLabels": {"app.kubernetes.io/name": "kueue"}}


def test_it_runs_on_system_nodes_where_they_are_ours():
    assert "nodeSelector" not in values()["controllerManager"]
    ours = values(cloud="aws", system=SYSTEM)["controllerManager"]
    assert ours["nodeSelector"] == {"gpuyard.dev/pool": "system"}


@pytest.mark.parametrize(
    ("nodes", "memory"),
    [(4, "512Mi"), ("0..100", "512Mi"), ("0..101", "2Gi"), (1000, "2Gi"), ("0..1001", "4Gi")],
)
def test_memory_grows_with_the_most_nodes(nodes, memory):
    resources = values(pools=[pool(nodes=nodes)])["controllerManager"]["manager"]["resources"]
    assert {resources["limits"]["memory"], resources["requests"]["memory"]} == {memory}


def test_the_image_is_the_version_of_the_plan_and_comes_from_the_mirror():
    picked = {"software": {"kueue": "0.19.1"}, "mirror": {"images": "mirror.example/gpu"}}
    image = values(**picked)["controllerManager"]["manager"]["image"]
    assert image == {
        "repository": "mirror.example/gpu/kueue/kueue",
        "tag": "v0.19.1@sha256:7a2204a64388f51a0239f22df989b62390ec1b3d21424ee3a35be7bbc23f9f8f",
        "pullPolicy": "IfNotPresent",
    }
    release = kueue_release(plan_of(platform(**picked)))
    assert release is not None
    assert (release.version, release.namespace) == ("0.19.1", "kueue-system")


@pytest.mark.parametrize(
    "raw",
    [platform(queueing={"install": False}), platform(cloud="simulated")],
    ids=["another's", "simulated"],
)
def test_where_kueue_is_there_already_nothing_of_the_chart_is_rendered(raw):
    plan = plan_of(raw)
    assert (kueue_release(plan), kueue_objects(plan)) == (None, [])
    assert "kueue" not in releases(plan)
    assert not [name for name in render_files(plan, LATE) if "kueue" in name]


def test_the_files_say_what_to_install_before_the_queues():
    files = render_files(plan_of(platform()), LATE)
    names = list(files)
    folder = "002-kueue"
    assert names.index(f"{folder}.yaml") < names.index(f"{folder}/values.yaml")
    assert names.index(f"{folder}/values.yaml") < names.index("003-queueing.yaml")
    told = yaml.safe_load(files[f"{folder}/release.yaml"])
    assert told == {
        "release": "kueue",
        "namespace": "kueue-system",
        "chart": "oci://registry.k8s.io/kueue/charts/kueue",
        "version": "0.19.2",
    }
    assert yaml.safe_load(files[f"{folder}/values.yaml"]) == values()
    command = files[f"{folder}/values.yaml"].partition("\nfullname")[0]
    assert "--version 0.19.2" in command
    (namespace,) = yaml.safe_load_all(files[f"{folder}.yaml"])
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


def test_a_chart_in_a_folder_has_the_version_it_has():
    mirror = {"images": "mirror.example", "charts": "./charts"}
    text = render_files(plan_of(platform(mirror=mirror)), LATE)["002-kueue/release.yaml"]
    assert text.startswith("# helm upgrade --install kueue ./charts/kueue \\\n")
