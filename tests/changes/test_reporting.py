"""What a platform reports of itself: also where its last deployment ended early, and left it no outputs."""

import json

import pytest

from gpuyard.changes.deployed_state import DeployedState, deployed_state_from_engine
from gpuyard.changes.planned_changes import plan_changes
from gpuyard.changes.platforms import report_objects, reported_state
from gpuyard_core.names import REPORT_CONFIGMAP
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool, team

OLD, NEW = "580.178.04", "595.91.07"
PLATFORM = "urn:pulumi:dev::lab::gpuyard:index:Platform::lab"
MAP = "urn:pulumi:dev::lab::gpuyard:index:Platform$kubernetes:core/v1:ConfigMap::lab:report"


def plan(driver=OLD, guarantee=8, **more):
    pools = [pool(nodes=2), shared_pool(nodes=2, **more)]
    teams = [team(guarantee={"train": guarantee}), team("speech")]
    return plan_of(platform(pools, teams, cloud="simulated", software={"driver": driver}))


def stand(before, **platform_has):
    """What the engine tells of a state: the outputs of each resource."""
    there = {"type": "kubernetes:core/v1:ConfigMap", "outputs": report_objects(before)[0]}
    return deployed_state_from_engine(
        {PLATFORM: {"type": "gpuyard:index:Platform", **platform_has}, MAP: there}
    )


def test_the_report_of_a_whole_deployment_is_read_again():
    found = reported_state(stand(plan()), "lab")
    assert found["pools"]["dev"] == {
        "machine": "g6.12xlarge",
        "nodes": "2",
        "sharing": "time-slicing",
        "resources": {"nvidia.com/gpu.shared": 16},
        "driver": OLD,
    }
    assert found["teams"] == {
        "vision": {"guarantee": {"train nvidia.com/gpu": 8}},
        "speech": {"guarantee": {}},
    }
    assert reported_state(stand(plan()), "another") == {}
    assert reported_state(DeployedState((), {}), "lab") == {}


@pytest.mark.parametrize("left", [{}, {"outputs": None}])
def test_after_a_deployment_that_ended_early_the_same_change_is_seen_again(left):
    said = plan_changes(plan(NEW, guarantee=4), None, stand(plan(), **left), "lab")
    assert said.driver_rollouts == {"train": OLD, "dev": OLD}
    assert said.rollout_waves == (("dev",), ("train",))
    assert [(lost.team, left) for lost, left in said.reduced_quotas] == [("vision", 4)]
    cut = plan_of(platform([cut_pool("dev")], cloud="simulated"))
    gone = plan_changes(cut, None, stand(plan(), **left), "lab")
    assert {loss.digest for loss in gone.disruptions} != set()


def test_the_outputs_of_a_whole_deployment_come_first():
    """A release before this one has written nothing down, or something that is older."""
    said = plan_changes(plan(NEW), None, stand(plan(), outputs={"pools": {}}), "lab")
    assert (said.driver_rollouts, said.rollout_waves) == ({}, ())


def test_where_there_is_no_platform_yet_nothing_is_compared():
    _, report = stand(plan()).resources
    assert plan_changes(plan(NEW), None, DeployedState((report,), {}), "lab").driver_rollouts == {}


@pytest.mark.parametrize(
    "data", [None, {}, {"pools": "{"}, {"pools": "7", "teams": "[]"}, {"pools": 7}]
)
def test_what_nobody_can_read_says_nothing(data):
    obj = {**report_objects(plan())[0], "data": data}
    there = {MAP: {"type": "kubernetes:core/v1:ConfigMap", "outputs": obj}}
    assert reported_state(deployed_state_from_engine(there), "lab") == {"pools": {}, "teams": {}}
    bare = {MAP: {"type": "kubernetes:core/v1:ConfigMap", "outputs": {"metadata": 7}}}
    assert reported_state(deployed_state_from_engine(bare), "lab") == {}


def test_it_is_text_of_one_line_under_a_name_of_its_own():
    (found,) = report_objects(plan())
    assert found["metadata"]["name"] == REPORT_CONFIGMAP
    assert found["metadata"]["namespace"] == "gpuyard-lab"
    assert json.loads(found["data"]["pools"]).keys() == {"train", "dev"}
    assert "\n" not in found["data"]["pools"]


def test_where_objects_become_files_none_is_written_down():
    assert report_objects(plan_of(platform([pool()], apply="render"))) == []
