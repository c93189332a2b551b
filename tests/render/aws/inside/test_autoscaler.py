"""Cluster Autoscaler on EKS: its chart's values, whom it may change, and in which order groups are filled."""

import json
import re

import pytest
import yaml
from testbed.plugins.cloud.inside.autoscaler import Autoscaler, Scalable, Settings
from testbed.plugins.kubernetes.helm import unknown_values

from gpuyard.plan.capacity.scaling import installs_autoscaler
from gpuyard.render.aws.in_cluster.autoscaler import (
    autoscaler_values,
    node_group_autoscaler,
    priorities,
    priority_objects,
)
from gpuyard.render.aws.pools import group_name, group_sizes, node_group_pools
from gpuyard.render.cloud.graph import resolve_values
from gpuyard.render.files import render_files
from gpuyard.render.supply.images import pulled_images
from gpuyard_core.catalogue.machines import MACHINES
from kit.clouds.aws import SUBNETS, VPC, graph_of
from kit.levels import upstream
from kit.stacks import plan_of, platform, pool, spec_of

UUID = "7ebd3f5d-0c1a-4be2-9d52-0f2a7c1e6b11"
LADDER = [{"reserved": "cr-0123456789abcdef0", "nodes": 2}, "spot", "on-demand"]
TWO = [
    pool("train", nodes="0..8", machine="p5.48xlarge", capacity=LADDER, zones=["us-east-1a"]),
    pool("train-spot", nodes="0..4", machine="g6.12xlarge", capacity=["spot"]),
]


def plan(pools=None, **more):
    return plan_of(platform(pools or TWO, cloud="aws", **more))


def asg(name):
    """As EKS names the auto-scaling group that it makes for a node group."""
    return f"eks-{name}-{UUID}"


def number(plan, name):
    """Which number the expander gives a group: the highest of which a pattern is found in its name."""
    found = [
        n for n, patterns in priorities(plan).items() if any(map_to(p, name) for p in patterns)
    ]
    return max(found)


def map_to(pattern, name):
    return re.search(pattern, name) is not None


@pytest.mark.parametrize("zones", [None, ["us-east-1a"]], ids=["asked", "us-east-1"])
def test_every_value_is_one_of_the_charts(zones):
    own = yaml.safe_load(upstream("values", "cluster-autoscaler.yaml").read_text(encoding="utf-8"))
    values = autoscaler_values(plan([pool(nodes="0..4", **({"zones": zones} if zones else {}))]))
    # Arguments of the program are free, and so are what a node is selected and what a pod asks for.
    free = {"extraArgs", "nodeSelector", "resources"}
    given = {key: value for key, value in values.items() if key not in free}
    assert list(unknown_values(given, own)) == []
    assert free <= set(own)
    assert values.get("awsRegion") == (zones and "us-east-1")


def test_the_image_is_that_of_the_clusters_minor_and_the_chart_has_its_own_version():
    release = node_group_autoscaler(plan(kubernetes="1.35"))
    assert release.values["image"] == {
        "repository": "registry.k8s.io/autoscaling/cluster-autoscaler",
        "tag": "v1.35.2@sha256:aac369dc283927a623deb1af54696efcc722ae79255aa07788422e495bab887d",
    }
    assert (release.namespace, release.chart, release.version) == (
        "kube-system",
        "cluster-autoscaler",
        "9.59.0",
    )


def test_chart_and_image_come_from_a_mirror():
    mirror = {"images": "mirror.example/all", "charts": "oci://mirror.example/charts"}
    release = node_group_autoscaler(plan(mirror=mirror))
    assert release.chart == "oci://mirror.example/charts/cluster-autoscaler"
    assert release.repository == ""
    assert release.values["image"]["repository"] == (
        "mirror.example/all/autoscaling/cluster-autoscaler"
    )


def test_its_image_is_among_those_that_a_stack_pulls():
    found = plan(kubernetes="1.36")
    (listed,) = [each for each in pulled_images(found) if each.component == "Cluster Autoscaler"]
    image = autoscaler_values(found)["image"]
    assert listed.reference == f"{image['repository']}:{image['tag']}"
    assert listed.digest


def test_a_node_goes_when_nothing_asks_for_anything_on_it():
    """With the defaults a node that is used less than half is emptied, and a gang loses its part there."""
    given = autoscaler_values(plan())["extraArgs"]
    thresholds = [float(given[f"scale-down-{of}utilization-threshold"]) for of in ("", "gpu-")]
    thousandth_of_a_cpu = 1 / (1000 * max(machine.vcpus for machine in MACHINES.values()))
    assert all(0 < each < thousandth_of_a_cpu for each in thresholds)
    assert given["ignore-daemonsets-utilization"] == "true"
    assert given["emit-per-nodegroup-metrics"] == "true"
    assert "enable-provisioning-requests" not in given


def test_it_answers_requests_where_a_pool_makes_some():
    asks = [pool("train", nodes="0..8", machine="p5.48xlarge", provisioning="atomic")]
    assert autoscaler_values(plan(asks))["extraArgs"]["enable-provisioning-requests"] == "true"


def test_memory_grows_with_the_nodes():
    sizes = [
        autoscaler_values(
            plan([pool("train", nodes=f"0..{n}", machine="g6.12xlarge")], cluster=WIDE)
        )
        for n in (100, 101, 1001)
    ]
    assert [each["resources"]["limits"]["memory"] for each in sizes] == ["600Mi", "2Gi", "4Gi"]


# ── in which order ────────────────────────────────────────────────────────────────────────────────
def test_each_ladder_is_filled_from_its_first_rung_down():
    found = plan()
    (train, other) = node_group_pools(found)
    numbers = [number(found, asg(group_name(train, s.option))) for s in group_sizes(train)]
    assert numbers == [30, 20, 10]
    assert number(found, asg(group_name(other, group_sizes(other)[0].option))) == 30


def test_a_pattern_means_one_group_also_beside_one_whose_name_begins_alike():
    found = plan()
    names = [asg(group_name(p, s.option)) for p in node_group_pools(found) for s in group_sizes(p)]
    patterns = [p for n, each in priorities(found).items() if n > 1 for p in each]
    for pattern in patterns:
        assert len([name for name in names if map_to(pattern, name)]) == 1
    assert len(patterns) == len(names)


def test_a_group_of_somebody_else_comes_last_and_is_not_forgotten():
    found = plan()
    assert number(found, asg("theirs")) == 1
    assert number(found, asg("system")) == 1


def test_the_expander_takes_them_as_they_are_bought():
    """The stand-in reads the very ConfigMap: what is short is left alone, and the next rung is tried."""
    found = plan()
    (config,) = priority_objects(found)
    given = yaml.safe_load(config["data"]["priorities"])
    train = node_group_pools(found)[0]
    names = [asg(group_name(train, size.option)) for size in group_sizes(train)]
    scaler = Autoscaler(Settings(priorities=given))
    pod = {
        "spec": {"containers": [{"resources": {"requests": {"nvidia.com/gpu": "8"}}}]},
        "status": {"conditions": [_unschedulable()]},
    }
    chosen: list[str] = []
    for step in range(3):
        groups = [_group(name, short=name in chosen) for name in reversed(names)]
        grown = [each for each in scaler.look(groups, [pod], float(step)) if each.size]
        chosen += [each.group for each in grown]
    assert chosen == names


def _unschedulable():
    return {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


def _group(name, *, short):
    node = {
        "metadata": {"labels": {}},
        "spec": {},
        "status": {"allocatable": {"cpu": "8", "nvidia.com/gpu": "8", "pods": "100"}},
    }
    error = "InsufficientInstanceCapacity" if short else ""
    return Scalable(name, 4, 1 if short else 0, 0, node, error)


# ── whose it is ───────────────────────────────────────────────────────────────────────────────────
def test_it_may_change_groups_of_this_cluster_alone():
    graph = graph_of([pool("train", nodes="0..8")])
    policy = resolve_values(graph.resource("autoscaler-rights").inputs["policy"], str)
    looks, changes = json.loads(policy)["Statement"]
    assert all(":Describe" in each or ":Get" in each for each in looks["Action"])
    assert changes["Action"] == [
        "autoscaling:SetDesiredCapacity",
        "autoscaling:TerminateInstanceInAutoScalingGroup",
    ]
    (owned,) = changes["Condition"]["StringEquals"].items()
    assert owned == ("aws:ResourceTag/k8s.io/cluster-autoscaler/lab", "owned")
    identity = graph.resource("autoscaler-identity").inputs
    values = autoscaler_values(plan())
    assert identity["serviceAccount"] == values["rbac"]["serviceAccount"]["name"]
    assert identity["namespace"] == node_group_autoscaler(plan()).namespace


FIXED = {"system": {"machine": "m7i.xlarge", "nodes": 2}}
WIDE = {"network": {"id": VPC, "subnets": {"private": SUBNETS}}}
RANGE = {"system": {"machine": "m7i.xlarge", "nodes": "2..3"}}


@pytest.mark.parametrize(
    ("raw", "comes"),
    [
        (platform([pool(nodes="0..4")], cloud="aws", **FIXED), True),
        (platform([pool(nodes=4)], cloud="aws", **FIXED), False),
        (platform([pool(nodes=4)], cloud="aws", **RANGE), True),
        (platform([pool(nodes="0..4")], cloud="aws", cluster={"existing": "blue"}), False),
        (platform([pool(nodes="0..4")], cloud="simulated"), False),
        (platform([pool(nodes="4", machine="a3-highgpu-8g")], cloud="gcp"), False),
    ],
    ids=["a pool scales", "nothing scales", "the system scales", "existing", "simulated", "gke"],
)
def test_it_comes_where_a_node_group_of_ours_is_a_range(raw, comes):
    assert installs_autoscaler(spec_of(raw)) is comes
    plan = plan_of(raw)
    assert bool(plan.provider.autoscaler_objects(plan)) is comes
    assert (plan.provider.autoscaler_release(plan) is not None) is comes


def test_where_objects_become_files_it_is_a_folder_of_its_own():
    files = render_files(plan(), {"cluster.name": "lab"})
    (folder,) = {name.partition("/")[0] for name in files if "-autoscaler/" in name}
    assert f"{folder}.yaml" in files
    assert "--repo https://kubernetes.github.io/autoscaler" in files[f"{folder}/release.yaml"]
