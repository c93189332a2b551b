"""Node groups: one for each way of buying, what bounds them, and what they are called."""

import pytest

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.aws.pools import group_sizes, node_groups
from kit.clouds.node_groups import (
    GROUND,
    GROUP,
    PLACEMENT,
    TAG,
    TEMPLATE,
    ZONES,
    aws,
    graph_of,
    late,
)
from kit.stacks import cut_pool, plan_of, pool, shared_pool

RESERVED = {"reserved": "cr-0a", "nodes": 8}
LADDER = {
    "capacity": [RESERVED, "spot", "on-demand"],
    "nodes": "2..16",
    "scaling": "autoscaler",
    "zones": ["us-east-1b"],
}


def group(raw, name):
    return graph_of(raw).resource(name)


def names(raw):
    return [each.name for each in graph_of(raw).resources_of_kind(GROUP)]


def bounds(raw):
    return {
        each.name: tuple(each.inputs["scalingConfig"].values())
        for each in graph_of(raw).resources_of_kind(GROUP)
    }


# ── which there are ───────────────────────────────────────────────────────────────────────────────
def test_each_way_of_buying_is_a_group():
    assert names(aws([pool(**LADDER)])) == [
        "system",
        "train-reserved-cr-0a",
        "train-spot",
        "train-on-demand",
    ]


@pytest.mark.parametrize("at", range(4))
def test_a_rung_more_leaves_all_others_as_they_are(at):
    before = graph_of(aws([pool(**LADDER)]))
    ladder = [*LADDER["capacity"]]
    ladder.insert(at, {"reserved": "cr-0b", "nodes": 4})
    after = graph_of(aws([pool(**{**LADDER, "capacity": ladder})]))
    added = {each.name for each in after.resources} - {each.name for each in before.resources}
    tags = {name for name in added if "/" in name}
    assert added - tags == {"train-reserved-cr-0b", "train-reserved-cr-0b-template"}
    for each in before.resources:
        now = after.resource(each.name)
        same = {k: v for k, v in each.inputs.items() if k != "scalingConfig"}
        assert {k: v for k, v in now.inputs.items() if k != "scalingConfig"} == same


def test_two_rungs_of_one_way_are_one_group():
    ladder = [{"spot": True, "nodes": 2}, "on-demand", {"spot": True, "nodes": 3}]
    raw = aws([pool(capacity=ladder, nodes="0..4", scaling="autoscaler")])
    assert bounds(raw) == {
        "system": (2, 2, 2),
        "train-spot": (0, 0, 4),
        "train-on-demand": (0, 0, 4),
    }


def test_nodes_that_karpenter_makes_are_in_no_group():
    raw = aws([pool(nodes="0..4", scaling="karpenter"), pool("steady")])
    assert names(raw) == ["system", "steady-on-demand"]


def test_a_pool_that_may_have_no_node_has_no_group():
    assert names(aws([pool(nodes=0), pool("steady")])) == ["system", "steady-on-demand"]


def test_a_renamed_pool_keeps_its_groups():
    assert names(aws([pool("new", previous_names=["train"])])) == ["system", "train-on-demand"]


def test_a_long_name_is_cut_for_eks_and_stays_unique():
    long = "a" * 40
    held = [{"reserved": f"cr-0123456789abcdef{n}", "nodes": 2} for n in range(2)]
    found = graph_of(aws([pool(long, capacity=held, zones=["us-east-1a"])])).resources_of_kind(
        GROUP
    )
    called = [each.inputs["nodeGroupName"] for each in found[1:]]
    assert [len(name) for name in called] == [63, 63]
    assert called[0] != called[1]
    assert all(name.startswith(f"{long}-reserved-cr-0") for name in called)
    assert "nodeGroupName" not in found[0].inputs


def test_nodes_of_a_pool_that_boots_from_nothing_are_not_bought():
    simulated = plan_of({**aws(), "cloud": "simulated", "system": None})
    with pytest.raises(ValueError, match="train has no node image"):
        node_groups(simulated, GROUND)


# ── how many nodes ────────────────────────────────────────────────────────────────────────────────
def test_the_nodes_that_always_run_are_bought_the_best_way():
    assert bounds(aws([pool(**LADDER)])) == {
        "system": (2, 2, 2),
        "train-reserved-cr-0a": (2, 2, 8),
        "train-spot": (0, 0, 16),
        "train-on-demand": (0, 0, 16),
    }


def test_a_pool_of_one_size_is_all_there_from_the_first_day():
    raw = aws([pool(**{**LADDER, "nodes": 12, "scaling": "fixed"})])
    assert bounds(raw) == {
        "system": (2, 2, 2),
        "train-reserved-cr-0a": (8, 8, 8),
        "train-spot": (4, 4, 12),
        "train-on-demand": (0, 0, 12),
    }


def test_a_block_is_neither_started_by_us_nor_held_when_it_ends():
    ladder = [{"block": "cr-0b", "nodes": 4}, "on-demand"]
    raw = aws([pool(capacity=ladder, nodes=6, zones=["us-east-1a"])])
    assert bounds(raw) == {
        "system": (2, 2, 2),
        "train-block-cr-0b": (0, 0, 4),
        "train-on-demand": (2, 2, 6),
    }
    assert group(raw, "train-block-cr-0b").ignores == ("scalingConfig.desiredSize",)
    assert group(raw, "train-on-demand").ignores == ()


def test_an_autoscalers_number_of_nodes_is_left_to_it():
    raw = aws([pool(**LADDER)])
    assert group(raw, "train-spot").ignores == ("scalingConfig.desiredSize",)


def test_sizes_are_those_of_the_ladder():
    (size,) = group_sizes(plan_of(aws([pool(nodes=4)])).pools[0])
    assert (size.low, size.initial_nodes, size.high, size.option.mode) == (4, 4, 4, "on-demand")


# ── what it says ──────────────────────────────────────────────────────────────────────────────────
def test_a_group_says_what_the_plan_says():
    raw = aws([pool(**LADDER, labels={"lab.example/row": "3"})], kubernetes="1.35")
    found = group(raw, "train-spot")
    planned = plan_of(raw).pools[0]
    assert found.inputs == {
        "nodeGroupName": "train-spot",
        "clusterName": late("name"),
        "nodeRoleArn": late("role"),
        "subnetIds": [late("us-east-1b")],
        "launchTemplate": found.inputs["launchTemplate"],
        "amiType": "AL2023_x86_64_NVIDIA",
        "version": "1.35",
        "releaseVersion": "1.35.8-20260930",
        "capacityType": "SPOT",
        "instanceTypes": ["p5.48xlarge"],
        "scalingConfig": {"minSize": 0, "desiredSize": 0, "maxSize": 16},
        "labels": planned.labels,
        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
        "updateConfig": {"maxUnavailablePercentage": 10, "updateStrategy": "MINIMAL"},
        "nodeRepairConfig": found.inputs["nodeRepairConfig"],
        "forceUpdateVersion": False,
        "tags": {
            "cost-center": "lab",
            "gpuyard.dev/platform": "lab",
            "gpuyard.dev/pool": "train",
            "owner": "lab",
        },
    }
    assert planned.labels["lab.example/row"] == "3"
    template = found.inputs["launchTemplate"]
    assert template["id"] == UnresolvedOutput("train-spot-template.id")
    assert template["version"].parts == (UnresolvedOutput("train-spot-template.latestVersion"),)
    assert (found.part, found.after, found.delete_first) == ("train", ("cluster",), True)


def test_a_gpu_that_has_gone_is_replaced_and_one_with_bad_rows_started_anew():
    repair = group(aws(), "train-on-demand").inputs["nodeRepairConfig"]
    actions = {
        each["nodeUnhealthyReason"]: each["repairAction"]
        for each in repair["nodeRepairConfigOverrides"]
    }
    assert repair["enabled"] is True
    assert actions["NvidiaXID79Error"] == "Replace"
    assert actions["NvidiaDoubleBitError"] == "Reboot"


def test_nodes_of_no_zone_are_in_all_of_them():
    assert group(aws(), "train-on-demand").inputs["subnetIds"] == [late(zone) for zone in ZONES]


def test_several_machines_are_in_the_group_and_none_in_its_template():
    raw = aws([pool(machine=["g6.12xlarge", "g6.24xlarge"])])
    assert group(raw, "train-on-demand").inputs["instanceTypes"] == ["g6.12xlarge", "g6.24xlarge"]
    assert "instanceType" not in group(raw, "train-on-demand-template").inputs


def test_the_machine_of_a_block_is_in_its_template_and_not_in_the_group():
    raw = aws([pool(capacity=[{"block": "cr-0b", "nodes": 4}], zones=["us-east-1a"])])
    found = group(raw, "train-block-cr-0b").inputs
    assert found["capacityType"] == "CAPACITY_BLOCK"
    assert "instanceTypes" not in found


def test_clusters_and_pools_are_protected_unless_the_stack_file_says_otherwise():
    assert all(each.protect for each in graph_of(aws()).resources_of_kind(GROUP))
    free = graph_of(aws(cluster={"protect": False}))
    assert not any(each.protect for each in free.resources_of_kind(GROUP))
    assert not any(each.protect for each in graph_of(aws()).resources_of_kind(TEMPLATE))


def test_an_unknown_minor_or_image_is_not_pinned_to_a_release_of_another():
    found = group(aws([pool(image="bottlerocket-nvidia")]), "train-on-demand").inputs
    assert found["amiType"] == "BOTTLEROCKET_x86_64_NVIDIA"
    assert found["version"] == "1.36"
    assert "releaseVersion" not in found


def test_an_image_of_ones_own_is_asked_for_once_and_kept():
    raw = aws([pool(image="ubuntu-eks"), pool("more", image="ubuntu-eks")])
    graph = graph_of(raw)
    (call,) = graph.calls
    assert call.args == {
        "name": "/aws/service/canonical/ubuntu/eks/24.04/1.36/stable/current/amd64/hvm/ebs-gp3/ami-id"
    }
    template = graph.resource("train-on-demand-template")
    assert template.inputs["imageId"] == UnresolvedOutput("ubuntu-amd64.insecureValue")
    assert template.ignores == ("imageId",)
    said = graph.resource("train-on-demand").inputs
    assert not {"amiType", "version", "releaseVersion"} & said.keys()


# ── autoscalers ───────────────────────────────────────────────────────────────────────────────────
def test_an_autoscaler_reads_of_an_empty_group_what_its_nodes_will_have():
    raw = aws([cut_pool(nodes="0..2", scaling="autoscaler")])
    tags = graph_of(raw).resources_of_kind(TAG)
    told = {each.inputs["tag"]["key"]: each.inputs["tag"]["value"] for each in tags}
    prefix = "k8s.io/cluster-autoscaler/node-template"
    assert told.pop(f"{prefix}/resources/vpc.amazonaws.com/efa") == "4"
    assert told == plan_of(raw).pools[0].autoscaler_hints.tags
    assert told[f"{prefix}/resources/nvidia.com/mig-1g.5gb"] == "16"
    assert told[f"{prefix}/taint/nvidia.com/gpu"] == "present:NoSchedule"
    for each in tags:
        assert each.inputs["autoscalingGroupName"] == UnresolvedOutput(
            "serve-on-demand.resources.0.autoscalingGroups.0.name"
        )
        assert each.inputs["tag"]["propagateAtLaunch"] is False
    assert graph_of(raw).resource("serve-on-demand").outputs == ("resources",)


def test_an_autoscaler_is_told_of_no_adapter_that_is_not_there():
    raw = aws([pool(machine="g5.xlarge", nodes="0..2", scaling="autoscaler")])
    assert not [each.name for each in graph_of(raw).resources_of_kind(TAG) if "efa" in each.name]


def test_nobody_reads_tags_of_a_pool_that_does_not_scale():
    assert graph_of(aws([shared_pool()])).resources_of_kind(TAG) == []


# ── placement ─────────────────────────────────────────────────────────────────────────────────────
def test_ways_without_a_place_of_their_own_share_the_pools_placement_group():
    graph = graph_of(aws([pool(**LADDER)]))
    (close,) = graph.resources_of_kind(PLACEMENT)
    assert (close.name, close.inputs["strategy"]) == ("train-placement", "cluster")
    templates = {
        each.name: each.inputs.get("placement") for each in graph.resources_of_kind(TEMPLATE)
    }
    assert templates == {
        "system-template": None,
        "train-reserved-cr-0a-template": None,
        "train-spot-template": {"groupName": UnresolvedOutput("train-placement.id")},
        "train-on-demand-template": {"groupName": UnresolvedOutput("train-placement.id")},
    }


# ── the system ────────────────────────────────────────────────────────────────────────────────────
def test_the_systems_nodes_stand_in_every_zone_and_have_successors_before_they_go():
    found = group(aws(system={"machine": "m7i.xlarge", "nodes": "2..3"}), "system")
    assert found.inputs["scalingConfig"] == {"minSize": 2, "desiredSize": 2, "maxSize": 3}
    assert found.inputs["subnetIds"] == [late(zone) for zone in ZONES]
    assert found.inputs["amiType"] == "AL2023_x86_64_STANDARD"
    assert found.inputs["labels"] == {"gpuyard.dev/platform": "lab", "gpuyard.dev/pool": "system"}
    assert "taints" not in found.inputs
    assert (found.delete_first, found.part) == (False, "system")
    assert found.ignores == ("scalingConfig.desiredSize",)


def test_systems_of_one_size_keep_it():
    assert group(aws(), "system").ignores == ()


def test_a_cluster_that_exists_may_have_no_system_of_ours():
    raw = aws(cluster={"existing": "lab"}, system=None)
    assert names({k: v for k, v in raw.items() if k != "system"}) == ["train-on-demand"]


@pytest.mark.parametrize(
    ("machine", "type_", "image"),
    [
        ("m7g.xlarge", "m7g.xlarge", "AL2023_ARM_64_STANDARD"),
        ("m99gd.xlarge", "m99gd.xlarge", "AL2023_ARM_64_STANDARD"),
        ("m99i-flex.xlarge", "m99i-flex.xlarge", "AL2023_x86_64_STANDARD"),
        ({"cpu": 6, "memory_gib": 20}, "m7i.2xlarge", "AL2023_x86_64_STANDARD"),
    ],
    ids=["known", "unknown Graviton", "unknown", "described"],
)
def test_the_systems_image_is_for_its_machine(machine, type_, image):
    found = group(aws(system={"machine": machine, "nodes": 2}), "system").inputs
    assert found["instanceTypes"] == [type_]
    assert found["amiType"] == image


def test_a_described_machine_is_the_smallest_that_has_it():
    raw = aws(system={"machine": {"cpu": 4, "memory_gib": 20}, "nodes": 2})
    groups = [each.inputs for each in graph_of(raw).resources if each.name == "system"]
    assert [group["instanceTypes"] for group in groups] == [["m7i.2xlarge"]]


@pytest.mark.parametrize(
    ("said", "update", "forced"),
    [
        ({}, {"maxUnavailablePercentage": 10, "updateStrategy": "MINIMAL"}, False),
        (
            {"max_unavailable": 2, "max_surge": 1, "force": True},
            {"maxUnavailable": 2, "updateStrategy": "DEFAULT"},
            True,
        ),
    ],
)
def test_how_nodes_are_replaced_is_what_the_stack_file_says(said, update, forced):
    one = group(aws([pool(upgrade=said)]), "train-on-demand").inputs
    assert (one["updateConfig"], one["forceUpdateVersion"]) == (update, forced)
