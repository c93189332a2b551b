"""Node pools: one for each rung, bought, placed, sized and named as GKE and the ladder want it."""

from dataclasses import replace

import pytest

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.gcp.graph import gcp_graph
from gpuyard_core.catalogue.gke.nodes import is_arm_host
from gpuyard_core.catalogue.machines import MACHINES
from kit.stacks import plan_of, platform
from render.gcp.made import POOL, gpu_pool, graph_of, inputs_of

HELD = {"reserved": "projects/acme/reservations/h100", "nodes": 2}


def rungs(graph, part="train"):
    return {each.name: each.inputs for each in graph.of_part(part) if each.kind == POOL}


def bought(*capacity, **rest):
    return rungs(graph_of(gpu_pool(capacity=list(capacity), **rest)))


# ── rungs ─────────────────────────────────────────────────────────────────────────────────────────
def test_each_rung_is_a_node_pool_bought_in_its_way():
    found = bought(HELD, "spot", "on-demand")
    assert list(found) == ["train-reserved-78b24d", "train-spot", "train-on-demand"]
    held, spot, plain = (each["nodeConfig"] for each in found.values())
    assert held["reservationAffinity"] == {
        "consumeReservationType": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": ["projects/acme/reservations/h100"],
    }
    assert spot["spot"] is True
    assert "spot" not in plain
    assert spot["reservationAffinity"] == plain["reservationAffinity"]
    assert plain["reservationAffinity"] == {"consumeReservationType": "NO_RESERVATION"}


def test_a_rung_that_is_added_later_replaces_nothing():
    other = {"reserved": "another", "nodes": 2}
    before = bought("on-demand", nodes="0..8")
    after = bought(HELD, "spot", "on-demand", nodes="0..8")
    assert before.keys() < after.keys()
    assert after.keys() < bought(other, HELD, "spot", "on-demand", nodes="0..8").keys()


def test_what_a_pool_was_called_first_names_its_node_pools():
    found = graph_of(gpu_pool("big", previous_names=["train"]))
    assert list(rungs(found)) == ["train-on-demand"]


def test_two_rungs_of_one_way_have_two_names():
    found = bought({"spot": True, "nodes": 1}, {"on-demand": True, "nodes": 1}, "spot")
    assert list(found) == ["train-spot", "train-on-demand", "train-spot-2"]


def test_a_name_that_gke_would_not_take_is_cut():
    (name,) = rungs(
        graph_of(gpu_pool("training-of-very-large-models")), "training-of-very-large-models"
    )
    assert name == "training-of-very-large-models-on-demand"
    long = "training-of-the-very-largest-models"
    (name,) = rungs(graph_of(gpu_pool(long)), long)
    assert (len(name), name[:33]) == (40, "training-of-the-very-largest-mode")


def test_flex_start_nodes_are_not_repaired_and_stay_a_week():
    (flex,) = bought("flex-start").values()
    assert flex["nodeConfig"]["flexStart"] is True
    assert flex["nodeConfig"]["maxRunDuration"] == "604800s"
    assert flex["management"]["autoRepair"] is False
    assert "upgradeSettings" not in flex
    assert "queuedProvisioning" not in flex


def test_queued_nodes_come_all_at_once_and_carry_the_label_that_pods_select():
    (queued,) = bought("flex-start", provisioning="queued").values()
    assert queued["queuedProvisioning"] == {"enabled": True}
    assert queued["nodeConfig"]["labels"]["cloud.google.com/gke-queued"] == "true"
    assert queued["autoscaling"]["totalMinNodeCount"] == 0
    # the taint of the same key is GKE's: flavors tolerate it, and nobody adds it twice
    assert [taint["key"] for taint in queued["nodeConfig"]["taints"]] == ["nvidia.com/gpu"]


def test_every_machine_of_a_pool_has_node_pools_and_a_reservation_holds_the_first():
    machines = ["a3-highgpu-8g", "a3-megagpu-8g"]
    found = bought(HELD, "on-demand", machine=machines)
    assert list(found) == [
        "train-reserved-78b24d",
        "train-on-demand",
        "train-on-demand-a3-megagpu-8g",
    ]
    types = [each["nodeConfig"]["machineType"] for each in found.values()]
    assert types == [machines[0], *machines]
    gpus = [each["nodeConfig"]["guestAccelerators"][0]["type"] for each in found.values()]
    assert gpus == ["nvidia-h100-80gb", "nvidia-h100-80gb", "nvidia-h100-mega-80gb"]


# ── how many ──────────────────────────────────────────────────────────────────────────────────────
def sizes(found):
    return [
        (s["totalMinNodeCount"], s["totalMaxNodeCount"])
        if (s := each.get("autoscaling"))
        else each["nodeCount"]
        for each in found.values()
    ]


def test_what_is_not_reserved_is_left_for_the_other_rungs():
    assert sizes(bought(HELD, "spot", nodes="1..6")) == [(1, 2), (0, 4)]


def test_the_nodes_that_always_run_come_from_the_first_rungs():
    assert sizes(bought(HELD, "on-demand", nodes="3..6")) == [(2, 2), (1, 4)]


def test_nodes_that_always_run_are_never_flex_start():
    assert sizes(bought("flex-start", "on-demand", nodes="1..4")) == [(0, 4), (1, 4)]


def test_a_rung_to_which_nothing_is_left_is_not_made():
    assert sizes(bought({**HELD, "nodes": 4}, "on-demand")) == [(0, 4)]


def test_a_pool_of_one_size_keeps_its_nodes_and_falls_to_the_next_rung():
    assert sizes(bought("spot", "on-demand", nodes=4)) == [4, (0, 4)]
    assert sizes(bought({**HELD, "nodes": 4}, nodes=4)) == [4]


def test_a_pool_without_nodes_keeps_its_place():
    assert sizes(bought("on-demand", nodes=0)) == [0]


def test_gke_counts_a_pool_of_several_zones_in_total():
    found = bought("on-demand", nodes=4, zones=["us-central1-a", "us-central1-b"])
    (one,) = found.values()
    assert sizes(found) == [(4, 4)]
    assert (one["initialNodeCount"], one["autoscaling"]["locationPolicy"]) == (2, "ANY")
    assert one["nodeLocations"] == ["us-central1-a", "us-central1-b"]


@pytest.mark.parametrize(("nodes", "first"), [("0..4", 0), ("1..4", 1), ("7..9", 2)])
def test_a_pool_starts_with_a_node_in_each_zone_where_it_starts_with_any(nodes, first):
    (one,) = bought("on-demand", nodes=nodes, zones=[]).values()
    assert one["initialNodeCount"] == first
    assert "nodeLocations" not in one


def test_the_zones_of_a_cluster_are_those_of_a_pool_that_names_none():
    graph = graph_of(
        gpu_pool(zones=[], nodes="4..6"), cluster={"zones": ["us-central1-a", "us-central1-b"]}
    )
    assert inputs_of(graph, "train-on-demand")["initialNodeCount"] == 2


def test_what_the_autoscaler_changes_is_no_drift():
    graph = graph_of(gpu_pool("a"), gpu_pool("b", nodes=4))
    assert graph.resource("a-on-demand").ignores == ("nodeCount", "initialNodeCount")
    assert graph.resource("b-on-demand").ignores == ()


# ── placement, upgrades, networks ─────────────────────────────────────────────────────────────────
def test_nodes_that_talk_over_a_fabric_stand_close_together():
    (one,) = bought("on-demand").values()
    assert one["placementPolicy"] == {"type": "COMPACT"}
    (held,) = bought({**HELD, "nodes": 4}).values()
    assert "placementPolicy" not in held


def test_the_nodes_of_a_rack_are_placed_by_one_policy():
    rack = gpu_pool(machine="a4x-highgpu-4g", nodes=18, capacity=[{"reserved": "r", "nodes": 18}])
    graph = graph_of(rack)
    assert inputs_of(graph, "train-rack") == {
        "name": "lab-train",
        "region": "us-central1",
        "workloadPolicy": {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "1x72"},
    }
    (one,) = rungs(graph).values()
    assert one["placementPolicy"] == {
        "type": "COMPACT",
        "policyName": UnresolvedOutput("train-rack.name"),
    }


def test_scarce_nodes_are_upgraded_one_by_one_and_without_a_further_one():
    (one,) = bought("spot").values()
    surge = {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 1}
    assert one["upgradeSettings"] == surge
    assert one["management"] == {"autoRepair": True, "autoUpgrade": True}
    assert one["nodeDrainConfigs"] == [{"respectPdbDuringNodePoolDeletion": True}]


@pytest.mark.parametrize("machine", ["c4a-standard-4", "t2a-standard-4"])
def test_nodes_of_controllers_on_arm_are_told_to_have_no_taint(machine):
    """An older GKE has no such word: nothing else says it."""
    graph = graph_of(system={"machine": machine, "nodes": 2})
    config = inputs_of(graph, "system")["nodeConfig"]
    assert config["taintConfig"] == {"architectureTaintBehavior": "NONE"}


def test_machines_of_arm_are_those_of_the_catalogue():
    hosts = [m for m in MACHINES.values() if m.cloud == "gcp" and not m.is_gpu_machine]
    assert {m.name for m in hosts if m.arch == "arm64"} == {
        m.name for m in hosts if is_arm_host(m.name)
    }


def test_the_controllers_have_nodes_of_their_own_without_taints():
    found = inputs_of(graph_of(), "system")
    config = found["nodeConfig"]
    assert config["machineType"] == "e2-standard-4"
    assert {"guestAccelerators", "taints", "taintConfig"}.isdisjoint(config)
    assert found["upgradeSettings"] == {"strategy": "SURGE", "maxSurge": 1, "maxUnavailable": 0}
    assert found["autoscaling"] == {
        "totalMinNodeCount": 3,
        "totalMaxNodeCount": 3,
        "locationPolicy": "BALANCED",
    }


def test_system_nodes_that_are_described_become_the_smallest_that_has_it():
    system = {"machine": {"cpu": 8, "memory_gib": 32}, "nodes": 2}
    found = inputs_of(graph_of(system=system), "system")
    assert found["nodeConfig"]["machineType"] == "n2-standard-8"


@pytest.mark.parametrize(
    ("said", "settings", "drain"),
    [
        ({}, {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 1}, {}),
        (
            {"max_surge": 2, "drain_minutes": 120},
            {"strategy": "SURGE", "maxSurge": 2, "maxUnavailable": 0},
            {"pdbTimeoutDuration": "7200s", "graceTerminationDuration": "7200s"},
        ),
        ({"blue_green": True}, {"strategy": "BLUE_GREEN"}, {}),
    ],
)
def test_how_nodes_are_replaced_is_what_the_stack_file_says(said, settings, drain):
    (one,) = bought("on-demand", machine="g2-standard-8", upgrade=said).values()
    assert one["upgradeSettings"] == settings
    assert one["nodeDrainConfigs"] == [{"respectPdbDuringNodePoolDeletion": True, **drain}]


def test_a_pool_of_elsewhere_is_replaced_by_nobody():
    plan = plan_of(platform([gpu_pool()], cloud="gcp"))
    (train,) = plan.pools
    with pytest.raises(ValueError, match="train has no node pool on Google Cloud"):
        gcp_graph(replace(plan, pools=(replace(train, upgrade=None),)))
