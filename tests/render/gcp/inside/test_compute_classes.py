"""Classes as GKE's autoscaler reads them: the node pools of the graph, in the order of the ladder."""

import pytest

from gpuyard.plan.queueing.queueing import plan_flavor
from gpuyard.render.gcp.capacity_options import option_node_pools
from gpuyard.render.gcp.in_cluster.compute_classes import compute_class_objects
from gpuyard.render.platform import platform_objects
from gpuyard_core.catalogue.gke.classes import CLASS_LABEL
from render.gcp.made import POOL, gpu_pool, graph_of, inputs_of, plan_on_gcp

LADDER = [
    {"mode": "reserved", "reservation": "ours", "nodes": 2},
    "flex-start",
    "spot",
    "on-demand",
]


def classes(*pools, **rest):
    objects = compute_class_objects(plan_on_gcp(*pools, **rest))
    return {each["metadata"]["name"]: each["spec"] for each in objects}


def order(spec):
    return [name for rule in spec["priorities"] for name in rule["nodepools"]]


def test_a_ladder_is_gone_down_in_its_order():
    pool = gpu_pool(capacity=LADDER)
    spec = classes(pool)["pool-train"]
    names = order(spec)
    assert [name.rpartition("train-")[2].split("-")[0] for name in names] == [
        "reserved",
        "flex",
        "spot",
        "on",
    ]
    assert all(len(rule["nodepools"]) == 1 for rule in spec["priorities"])
    assert spec | {"priorities": [], "description": ""} == {
        "description": "",
        "priorities": [],
        "nodePoolAutoCreation": {"enabled": False},
        "activeMigration": {"optimizeRulePriority": False},
        "autoscalingPolicy": {"gpuConsolidationThreshold": 1},
        "whenUnsatisfiable": "DoNotScaleUp",
    }


@pytest.mark.parametrize("moves", [True, False])
def test_what_may_move_up_is_moved_by_the_class(moves):
    pool = gpu_pool(capacity=["spot", "on-demand"], failback=moves)
    assert classes(pool)["pool-train"]["activeMigration"] == {"optimizeRulePriority": moves}


def test_a_ladder_of_one_step_has_nothing_to_move_to():
    spec = classes(gpu_pool(capacity=["on-demand"], failback=True))["pool-train"]
    assert spec["activeMigration"] == {"optimizeRulePriority": False}


def test_machines_of_a_rung_are_gone_through_before_the_next_rung():
    pool = gpu_pool(machine=["a3-highgpu-8g", "a3-megagpu-8g"], capacity=["spot", "on-demand"])
    assert order(classes(pool)["pool-train"]) == [
        "train-spot",
        "train-spot-a3-megagpu-8g",
        "train-on-demand",
        "train-on-demand-a3-megagpu-8g",
    ]


def test_a_class_names_all_node_pools_of_its_pool_and_they_carry_it():
    pools = [gpu_pool(capacity=LADDER), gpu_pool("serve", capacity=["on-demand"])]
    graph, found = graph_of(*pools), classes(*pools)
    carried = {name: [] for name in found}
    for each in graph.resources:
        if each.kind == POOL and each.part in {"train", "serve"}:
            config = inputs_of(graph, each.name)["nodeConfig"]
            name = config["labels"][CLASS_LABEL]
            assert {"key": CLASS_LABEL, "value": name, "effect": "NO_SCHEDULE"} in config["taints"]
            assert "autoscaling" in inputs_of(graph, each.name), "the class would call it missing"
            carried[name].append(inputs_of(graph, each.name)["name"])
    assert carried == {name: order(spec) for name, spec in found.items()}


def test_queues_send_pods_to_the_class_and_past_its_taint():
    plan = plan_on_gcp(gpu_pool(capacity=LADDER))
    (pool,) = plan.pools
    flavor = plan_flavor(pool)
    assert flavor.node_labels[CLASS_LABEL] == "pool-train"
    assert CLASS_LABEL in {taint.key for taint in flavor.taints}


def test_a_pool_that_nobody_scales_has_no_class():
    plan = plan_on_gcp(gpu_pool(nodes=2), gpu_pool("burst"))
    assert [each["metadata"]["name"] for each in plan.provider.autoscaler_objects(plan)] == [
        "pool-burst"
    ]
    kinds = [each["kind"] for each in platform_objects(plan)]
    assert kinds.count("ComputeClass") == 1
    assert not [g for g in option_node_pools(plan.pools[0]) if g.scales]


@pytest.mark.parametrize("name", ["gke-pool", "autopilot"])
def test_no_class_has_a_name_that_gke_refuses(name):
    (found,) = classes(gpu_pool(name))
    assert not found.startswith(("gke", "autopilot"))
