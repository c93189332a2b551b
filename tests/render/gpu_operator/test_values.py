"""The GPU Operator's chart over all environments: every value is the chart's, and each part has one owner."""

import pytest
import yaml
from testbed.plugins.kubernetes.helm import unknown_values

from gpuyard.plan.sharing.gke_sharing import is_gke_managed
from gpuyard.plan.sharing.sharing import SharingMethod
from gpuyard.render.files import render_files
from gpuyard.render.gpu_operator.objects import gpu_operator_objects
from gpuyard.render.gpu_operator.values import gpu_operator_release
from gpuyard_core.catalogue.software.charts import GPU_OPERATOR_CHART, OPERATOR_IMAGES
from gpuyard_core.catalogue.software.images import (
    DEPLOY_LABEL,
    IMAGES,
    ComponentOwner,
    SoftwarePart,
)
from gpuyard_core.catalogue.software.pins import PINS
from gpuyard_testing import CrdFolder
from kit.every import every
from kit.levels import upstream
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool
from kit.upstream_pins import PARTS_BEHIND

MACHINES = {"aws": "p5.48xlarge", "gcp": "a3-highgpu-8g", "none": "p5.48xlarge"}


def of(*images, machine=None, **more):
    """A platform with a pool for each image, all of one cloud."""
    cloud = IMAGES[images[0]].cloud
    pools = [
        pool(f"p{n}", machine=machine or MACHINES[cloud], image=each)
        for n, each in enumerate(images)
    ]
    return platform(pools, cloud=cloud, **more)


MPS = pool("mps", machine="p4d.24xlarge", sharing={"mps": 4})
GKE_CUT = pool("cut", machine="a2-highgpu-8g", image="cos", sharing={"mig": {"1g.5gb": 7}})
GKE_MPS = pool("mps", machine="g2-standard-48", image="cos-gke", sharing={"mps": 4})
ARM = {"machine": "g5g.xlarge"}
V100 = {"gpu": "V100-32", "gpus": 8, "cpu": 64, "memory_gib": 512}
GB200 = {
    "machine": "p6e-gb200.36xlarge",
    "nodes": 18,
    "zones": ["us-east-1a"],
    "capacity": [{"block": "cr-0123456789abcdef0", "nodes": 18}],
}
A4X = {
    "machine": "a4x-highgpu-4g",
    "nodes": 18,
    "zones": ["us-central1-a"],
    "capacity": [{"reserved": "r", "nodes": 18}],
}
MATRIX = {
    **{name: of(name) for name in IMAGES},
    "cos and Google's own": of("cos", "cos-gke"),
    "cut by the operator, shared by GKE": platform([GKE_CUT, GKE_MPS], cloud="gcp"),
    "image and operator": of("al2023-nvidia", "ubuntu-eks"),
    "Bottlerocket beside Ubuntu": of("bottlerocket-nvidia", "ubuntu-eks"),
    "three hosts": of("own", "own-driver", "own-driver-toolkit"),
    "Arm": platform([pool(**ARM), pool("bare", image="ubuntu-eks", **ARM)], cloud="aws"),
    "closed modules": platform([pool(machine=V100)]),
    "both modules": platform([pool(machine=V100), pool("new")]),
    "every sharing": platform([pool(), cut_pool(), shared_pool(), MPS]),
    "sharing without MPS": platform([pool(), cut_pool(), shared_pool()]),
    "measured": of("own", observability={"prometheus": "existing"}),
    "not measured": of("own", observability={"prometheus": "none"}),
    "mirror": of("own", mirror={"images": "mirror.example/gpu"}, software={"driver": "580.178.04"}),
    "GB200": platform([pool(**GB200)], cloud="aws"),
    "GB200 on GKE": platform([pool(**A4X)], cloud="gcp"),
    "roce": platform([pool(fabric={"kind": "roce", "hcas": ["mlx5_0"]})]),
    "ethernet": platform([pool(machine={"gpu": "L4", "gpus": 1, "cpu": 8, "memory_gib": 32})]),
}
PLANS = {name: plan_of(raw) for name, raw in MATRIX.items()}
RELEASES = {
    name: release for name, plan in PLANS.items() if (release := gpu_operator_release(plan))
}


def charts_own():
    return yaml.safe_load(upstream("values", "gpu-operator.yaml").read_text(encoding="utf-8"))


def values(name):
    return RELEASES[name].values


def variables(section):
    return {each["name"]: each["value"] for each in section.get("env", [])}


def test_nothing_is_installed_where_nobody_needs_it():
    images = {"cos-gke", "bottlerocket-nvidia", "bottlerocket-nvidia-fips"}
    assert PLANS.keys() - RELEASES.keys() == images
    assert gpu_operator_release(plan_of(platform(cloud="simulated"))) is None
    assert gpu_operator_release(plan_of(of("own", gpu_operator={"install": False}))) is None


UNSAID = frozenset(
    {
        *("operator.version", "validator.version", "nodeStatusExporter.version"),
        *("dcgmExporter.config", "dcgmExporter.podLabelAllowlistRegex"),
    }
)
"""What its templates read and its own values leave out: a version is that of the chart."""


@pytest.mark.repeats("tests/render/test_golden.py")
def test_every_value_is_one_of_the_charts():
    own = charts_own()
    for name in RELEASES:
        assert set(unknown_values(values(name), own)) <= UNSAID, name


def policy(given):
    """What the chart's template makes of values: their sections, one of them under another word."""
    own, words = charts_own(), CRD_WORDS
    spec = {key: given[key] for key in given if key in words}
    spec["operator"] = {"runtimeClass": own["operator"]["runtimeClass"]}
    spec["daemonsets"] = dict(given["daemonsets"])
    spec["mig"] = {"strategy": given["mig"]["strategy"]} if given["mig"]["strategy"] else {}
    if "upgradePolicy" in given["driver"]:
        told = dict(given["driver"]["upgradePolicy"])
        told["podDeletion"] = told.pop("gpuPodDeletion")
        spec["driver"] = {**given["driver"], "upgradePolicy": told}
    return {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "cluster-policy"},
        "spec": spec,
    }


CRD_WORDS = frozenset(
    {
        *("psa", "cdi", "mig", "driver", "toolkit", "devicePlugin", "gfd", "migManager", "dcgm"),
        *("dcgmExporter", "nodeStatusExporter", "gdrcopy", "hostPaths", "validator"),
    }
)


@pytest.mark.repeats("tests/render/test_golden.py")
def test_the_policy_made_of_them_is_one_that_the_definition_takes():
    crds = CrdFolder(upstream("crds", "gpu-operator"))
    for name in RELEASES:
        assert crds.violations(policy(values(name))) == [], name
    wrong = policy(values("own") | {"migManager": {"config": {"default": "all-balanced"}}})
    assert crds.violations(wrong)


@every("name", sorted(PLANS))
def test_each_part_of_each_node_has_exactly_one_owner(name):
    """What the operator brings is enabled, and kept off every node where something else brings it."""
    plan = PLANS[name]
    for pool_plan in plan.pools:
        software = pool_plan.node_software
        for part in SoftwarePart:
            theirs = software.owners[part.value] != ComponentOwner.OPERATOR.value
            kept_off = pool_plan.labels.get(DEPLOY_LABEL[part]) == "false" or (
                pool_plan.labels.get("nvidia.com/gpu.deploy.operands") == "false"
            )
            enabled = name in RELEASES and values(name)[part.value]["enabled"]
            assert (enabled and not kept_off) is not theirs, (pool_plan.name, part)


@every("name", sorted(RELEASES))
def test_what_goes_with_what(name):
    plan, found = PLANS[name], values(name)
    driver = found["driver"]
    assert driver["enabled"] is ("version" in driver)
    assert driver["enabled"] or not found["gdrcopy"]["enabled"], "a container of the driver's pod"
    assert found["toolkit"]["enabled"] or "env" not in found["toolkit"]
    if found["toolkit"]["enabled"]:
        said = variables(found["toolkit"])["ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED"]
        assert said == "false"
        assert found["cdi"] == {"enabled": True}, "else nothing reaches a pod"
    mps = any(p.sharing is SharingMethod.MPS and not is_gke_managed(p) for p in plan.pools)
    cut = any(p.mig_config for p in plan.pools)
    assert found["mig"] == {"strategy": ("" if mps else "mixed") if cut else "none"}
    passed = {t["key"] for t in found["daemonsets"]["tolerations"]}
    assert {t.key for p in plan.pools for t in p.taints} <= passed
    workers = found["node-feature-discovery"]["worker"]["tolerations"]
    assert passed <= {t["key"] for t in workers}
    maps = {o["metadata"]["name"] for o in gpu_operator_objects(plan) if o["kind"] == "ConfigMap"}
    read = {found[part]["config"]["name"] for part in ("devicePlugin", "migManager")}
    if "config" in found["dcgmExporter"]:
        read.add(found["dcgmExporter"]["config"]["name"])
    assert read == maps


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ubuntu-eks", "open"),
        ("closed modules", "proprietary"),
        ("both modules", "auto"),
        ("Arm", "open"),
    ],
)
def test_kernel_modules_are_those_that_the_gpus_know(name, said):
    assert values(name)["driver"]["kernelModuleType"] == said


def test_another_driver_comes_when_jobs_have_ended_and_drains_nothing():
    told = values("own")["driver"]["upgradePolicy"]
    assert told["waitForCompletion"] == {
        "podSelector": "kueue.x-k8s.io/podset",
        "timeoutSeconds": 0,
    }
    assert (told["maxParallelUpgrades"], told["maxUnavailable"]) == (1, "25%")
    assert not told["drain"]["enable"]
    assert (told["gpuPodDeletion"]["force"], told["gpuPodDeletion"]["deleteEmptyDir"]) == (
        False,
        False,
    )


def test_google_kubernetes_engine_has_settings_of_its_own():
    for name in ("cos", "ubuntu-gke"):
        assert variables(values(name)["toolkit"])["RUNTIME_CONFIG_SOURCE"] == "file"
        assert variables(values(name)["migManager"]) == {"WITH_REBOOT": "true"}
    place = "/home/kubernetes/bin/nvidia"
    assert values("cos")["hostPaths"] == {"driverInstallDir": place}
    assert values("cos")["toolkit"]["installDir"] == place
    assert "hostPaths" not in values("ubuntu-gke")
    assert "env" not in values("own")["migManager"]


def test_critical_pods_are_let_in_on_gke_as_many_as_its_nodes_need():
    namespace, quota, *_ = gpu_operator_objects(PLANS["cos"])
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"
    assert quota["spec"] == {
        "hard": {"pods": "164"},
        "scopeSelector": {
            "matchExpressions": [
                {
                    "scopeName": "PriorityClass",
                    "operator": "In",
                    "values": ["system-node-critical", "system-cluster-critical"],
                }
            ]
        },
    }
    others = [o["kind"] for o in gpu_operator_objects(PLANS["own"])]
    assert others == ["Namespace", "ConfigMap", "ConfigMap"]
    classes = {values("cos")[each]["priorityClassName"] for each in ("operator", "daemonsets")}
    assert classes == {"system-node-critical"}


def test_arm_nodes_of_gke_have_a_taint_of_their_own():
    keys = {
        name: {t["key"] for t in values(name)["daemonsets"]["tolerations"]}
        for name in ("GB200 on GKE", "Arm")
    }
    assert "kubernetes.io/arch" in keys["GB200 on GKE"]
    assert "kubernetes.io/arch" not in keys["Arm"]


def test_gdrcopy_comes_with_a_driver_of_nodes_that_talk_past_the_kernel():
    has = {name for name in RELEASES if values(name)["gdrcopy"]["enabled"]}
    assert {"ubuntu-eks", "own", "roce"} <= has
    assert has.isdisjoint({"al2023-nvidia", "own-driver", "ubuntu-gke", "Arm", "ethernet"})


def test_nodes_say_how_they_are_where_anything_measures():
    measured = values("measured")["nodeStatusExporter"]
    assert measured == {"enabled": True, "version": values("measured")["operator"]["version"]}
    for name in ("own", "not measured"):
        assert values(name)["nodeStatusExporter"] == {"enabled": False}
        assert values(name)["dcgmExporter"]["enabled"] is True


def test_the_controller_runs_on_system_nodes_where_they_are_ours():
    assert values("cos")["operator"]["nodeSelector"] == {"gpuyard.dev/pool": "system"}
    assert "nodeSelector" not in values("own")["operator"]


def test_images_come_from_the_mirror_and_versions_from_the_stack_file():
    found, release = values("mirror"), RELEASES["mirror"]
    assert release.chart == "oci://mirror.example/gpu/nvidia/charts/gpu-operator"
    assert release.repository == ""
    assert found["driver"]["repository"] == "mirror.example/gpu/nvidia"
    assert found["driver"]["manager"]["repository"] == "mirror.example/gpu/nvidia/cloud-native"
    assert found["driver"]["version"] == "580.178.04"
    image = found["node-feature-discovery"]["image"]
    assert image["repository"] == "mirror.example/gpu/nfd/node-feature-discovery"
    assert image["tag"].startswith("v0.19.0@sha256:")
    plain = RELEASES["own"]
    assert (plain.chart, plain.version) == ("gpu-operator", "v26.7.1")
    assert plain.repository == GPU_OPERATOR_CHART.repository
    assert "repository" not in plain.values["driver"]


def test_each_part_that_runs_has_a_digest_but_those_of_each_system():
    """The operator and its chart put a colon before any version, so that it may be a tag and a digest."""
    given = values("own")
    pinned = {
        ".".join(image.values): section["version"].partition("@")[2][:7]
        for image in OPERATOR_IMAGES
        if "version" in (section := nested(given, image.values))
    }
    by_tag = {"driver": "", "gdrcopy": ""}
    assert {name for name, digest in pinned.items() if not digest} <= set(by_tag)
    assert {name for name, digest in pinned.items() if digest == "sha256:"} == {
        *("operator", "validator", "driver.manager", "toolkit", "devicePlugin", "gfd"),
        *("migManager", "dcgmExporter"),
    }


def nested(given, path):
    for key in path:
        given = given.get(key, {})
    return given


def test_another_chart_keeps_its_own_parts():
    plan = plan_of(of("own", software={"gpu-operator": "26.3.3", "mig-manager": "0.14.2"}))
    found = gpu_operator_release(plan).values
    assert "version" not in found["operator"]
    assert "version" not in found["devicePlugin"]
    assert "tag" not in found["node-feature-discovery"].get("image", {})
    assert found["migManager"]["version"] == "v0.14.2"


@pytest.mark.repeats("none: it runs no line that is measured")
def test_the_chart_names_the_images_that_we_know_by_the_pins_that_we_have():
    own = charts_own()
    for image in OPERATOR_IMAGES:
        section = own
        for key in image.values:
            section = section[key]
        assert section["repository"] == image.repository, image.values
        if image.pin:
            version = PARTS_BEHIND.get(image.pin, PINS[image.pin].version)
            assert section["version"] == image.tag.format(version), image.values
        else:
            assert "version" not in section


def test_the_files_say_how_to_install_it_before_the_queues():
    files = render_files(PLANS["own"], {"cluster.name": "blue"})
    (text,) = [text for name, text in files.items() if name.endswith("gpu-operator/release.yaml")]
    assert f"--repo {GPU_OPERATOR_CHART.repository} --version v26.7.1" in text
    assert yaml.safe_load(text)["repository"] == GPU_OPERATOR_CHART.repository
