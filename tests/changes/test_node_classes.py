"""Whether Karpenter is told another node for a pool, from what the last deployment left."""

import pytest
from testbed.plugins.cloud.shapes import Place

from gpuyard.changes.deployed_state import DeployedState, deployed_state
from gpuyard.changes.planned_changes import changed_node_classes, plan_changes
from gpuyard.plan.records.late import resolve_outputs
from gpuyard.render.aws.karpenter import nodes
from gpuyard.render.platform import karpenter_nodes
from kit.clouds.deployments import NAME, Deployment
from kit.generated.changed import planned
from kit.stacks import platform, pool


def of(minor="1.34", **more):
    """A pool of a fixed size, two of Karpenter's."""
    mine = {"nodes": "0..4", "scaling": "karpenter"}
    pools = [pool("base", nodes=1), pool("burst", **mine, **more), pool("other", **mine)]
    return planned(platform(pools, cloud="aws", kubernetes=minor), "aws")


def state(plan, name=NAME, change=lambda spec: spec):
    """As the API server shows it: late values told, and fields of its own beside ours."""
    found = []
    for obj in resolve_outputs(karpenter_nodes(plan), lambda late: f"the-{late}"):
        spec = change(obj["spec"] | {"added": "by the API server"})
        urn = f"urn:pulumi:dev::lab::x::{name}-karpenter:{obj['kind']}:{obj['metadata']['name']}"
        found.append({"urn": urn, "type": "kubernetes:x:y", "outputs": {"spec": spec}})
    return found


def stand(plan, **more):
    return deployed_state({"version": 3, "deployment": {"resources": state(plan, **more)}})


def test_what_was_deployed_is_no_change():
    assert changed_node_classes(of(), stand(of()), NAME) == []


def test_another_release_of_images_is_a_change_of_every_pool_and_a_disk_of_its_own(monkeypatch):
    """Another minor is none: Karpenter takes the image of the release for the cluster's own."""
    before = stand(of())
    assert changed_node_classes(of(disk_gib=900), before, NAME) == ["burst"]
    assert changed_node_classes(of("1.35"), before, NAME) == []
    monkeypatch.setattr(nodes, "AL2023_RELEASES", {"1.34": "1.34.12-20270101"})
    assert changed_node_classes(of(), before, NAME) == ["burst", "other"]


def test_labels_of_nodes_are_in_the_template_and_bounds_are_not():
    assert changed_node_classes(of(labels={"rack": "r1"}), stand(of()), NAME) == ["burst"]
    more = {"nodes": "0..8", "scaling": "karpenter"}
    pools = [pool("base", nodes=1), pool("burst", **more), pool("other", **more)]
    plan = planned(platform(pools, cloud="aws", kubernetes="1.34"), "aws")
    assert changed_node_classes(plan, stand(of()), NAME) == []


@pytest.mark.parametrize("change", [lambda spec: None, lambda spec: {}, lambda spec: "[secret]"])
def test_a_class_of_which_nothing_can_be_read_is_another(change):
    assert changed_node_classes(of(), stand(of(), change=change), NAME) == ["burst", "other"]


def test_an_overlay_of_shares_makes_no_node():
    shared = of(sharing={"time_slicing": 2})
    assert "NodeOverlay" in {obj["kind"] for obj in karpenter_nodes(shared)}
    assert changed_node_classes(shared, stand(shared), NAME) == []


def test_what_is_new_or_of_another_platform_changes_nothing():
    assert changed_node_classes(of(), DeployedState((), {}), NAME) == []
    assert changed_node_classes(of(disk_gib=900), stand(of(), name="another"), NAME) == []
    fixed = planned(platform([pool("base", nodes=1)], cloud="aws"), "aws")
    assert changed_node_classes(fixed, stand(of()), NAME) == []


def test_karpenter_is_told_after_a_pool_whose_nodes_are_replaced():
    """One that is its own alone has nobody who goes first."""
    before, after = of(), of("1.35", disk_gib=900)
    whole = Deployment(
        before.provider.graph(before), Place(cloud="aws", region="us-east-1")
    ).export(before)
    whole["deployment"]["resources"] += state(before)
    said = plan_changes(after, after.provider.graph(after), deployed_state(whole))
    assert said.rollout_waves == (("base",), ("burst",))
    smaller = of(disk_gib=900)
    assert (
        plan_changes(smaller, smaller.provider.graph(smaller), deployed_state(whole)).rollout_waves
        == ()
    )


def test_a_list_of_another_length_is_another():
    longer = {"subnetSelectorTerms": [{"id": each} for each in "abcdef"]}
    assert changed_node_classes(of(), stand(of(), change=lambda spec: spec | longer), NAME) == [
        "burst",
        "other",
    ]
