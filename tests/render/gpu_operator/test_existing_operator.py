"""An operator that is there already: what it must be told, and what differs."""

import copy

import pytest

from gpuyard.plan.software.support import config_map_names
from gpuyard.render.files import render_files
from gpuyard.render.gpu_operator.existing_operator import differences, required_values
from gpuyard.render.gpu_operator.objects import gpu_operator_objects, operator_namespace
from kit.stacks import cut_pool, plan_of, platform, pool, spec_of

THERE = {"install": False, "namespace": "nvidia"}
PLAN = plan_of(platform([pool(), cut_pool()], gpu_operator=THERE))


def told(plan=PLAN):
    """The policy of an operator that has all the values."""
    return {"spec": copy.deepcopy(required_values(plan))}


def test_two_config_maps_are_put_beside_it_and_nothing_else():
    objects = gpu_operator_objects(PLAN)
    assert [(o["kind"], o["metadata"]["namespace"], o["metadata"]["name"]) for o in objects] == [
        ("ConfigMap", "nvidia", "gpuyard-mig-parted-lab"),
        ("ConfigMap", "nvidia", "gpuyard-device-plugin-lab"),
    ]
    assert {o["metadata"]["labels"]["gpuyard.dev/platform"] for o in objects} == {"lab"}
    assert operator_namespace(PLAN) == "nvidia"
    files = render_files(PLAN, {})
    assert not [name for name in files if "operator/" in name]


def test_two_platforms_beside_one_operator_do_not_meet():
    names = [config_map_names(spec_of(platform(name=n, gpu_operator=THERE))) for n in ("a", "b")]
    assert set(names[0]).isdisjoint(names[1])


def test_its_exporter_reads_the_counters_of_the_platform():
    plan = plan_of(platform(gpu_operator=THERE, observability={}))
    named = "gpuyard-dcgm-counters-lab"
    assert named in {each["metadata"]["name"] for each in gpu_operator_objects(plan)}
    assert differences(plan, told(plan)) == []
    policy = told(plan)
    del policy["spec"]["dcgmExporter"]
    said = [each for each in differences(plan, policy) if each.startswith("dcgmExporter")]
    assert said == [f"dcgmExporter.config.name is empty, required {named}"]
    policy["spec"]["dcgmExporter"] = {"serviceMonitor": {"enabled": True}}
    assert "dcgmExporter.serviceMonitor.enabled is true, required false" in differences(
        plan, policy
    )


def test_an_operator_that_is_told_all_is_as_it_must_be():
    assert differences(PLAN, told()) == []
    silent = told()
    del silent["spec"]["mig"], silent["spec"]["driver"]["enabled"]
    assert differences(PLAN, silent) == [], "unsaid is on, and each pool has its own strategy"


def test_versions_and_upgrades_are_its_owners():
    assert set(required_values(PLAN)["driver"]) == {"enabled"}
    policy = told()
    policy["spec"]["driver"] |= {"version": "580.1.2", "upgradePolicy": {"autoUpgrade": False}}
    assert differences(PLAN, policy) == []


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (
            ("devicePlugin", "config"),
            {"name": "theirs"},
            "devicePlugin.config.name is theirs, required gpuyard-device-plugin-lab",
        ),
        (
            ("migManager", "config"),
            None,
            "migManager.config.name is empty, required gpuyard-mig-parted-lab",
        ),
        (("mig", "strategy"), "single", "mig.strategy is single, required mixed"),
        (("driver", "enabled"), False, "driver.enabled is false, required true"),
        (
            ("daemonsets", "tolerations"),
            [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
            "daemonsets.tolerations lacks {key: gpuyard.dev/pool, operator: Exists, effect: NoSchedule}",
        ),
        (
            ("toolkit", "env"),
            None,
            "toolkit.env lacks {name: ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED, value: false}",
        ),
    ],
)
def test_what_differs_is_said_with_both_values(path, value, said):
    policy = told()
    section = policy["spec"]
    for key in path[:-1]:
        section = section[key]
    section[path[-1]] = value
    assert said in differences(PLAN, policy)


def test_a_part_that_somebody_else_brings_must_be_off():
    plan = plan_of(platform([pool(image="own-driver")], gpu_operator={"install": False}))
    assert differences(plan, {}) == [
        "driver.enabled is empty, required false",
        *differences(plan, {})[1:],
    ]
    assert "mig.strategy is empty, required none" not in differences(plan, {})


def test_paths_of_a_cloud_are_compared_too():
    cos = pool(machine="a3-highgpu-8g", image="cos")
    plan = plan_of(platform([cos], cloud="gcp", gpu_operator={"install": False}))
    assert differences(plan, told(plan)) == []
    place = "/home/kubernetes/bin/nvidia"
    assert f"hostPaths.driverInstallDir is empty, required {place}" in differences(
        plan, {"spec": {}}
    )


@pytest.mark.parametrize(
    "raw",
    [
        platform(),
        platform(cloud="simulated", gpu_operator={"install": False}),
        platform([pool(image="bottlerocket-nvidia")], cloud="aws", gpu_operator={"install": False}),
    ],
    ids=["ours", "simulated", "nothing to bring"],
)
def test_where_there_is_no_other_nothing_is_needed(raw):
    assert required_values(plan_of(raw)) == {}
