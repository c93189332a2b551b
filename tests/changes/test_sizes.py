"""The size of a node group when the stack file changes its bounds."""

import pytest
from testbed.plugins.cloud.shapes import Place

from gpuyard.changes.deployed_state import deployed_state
from gpuyard.changes.preserved_labels import with_sizes
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import ClampedNumber, CloudCall
from kit.clouds.deployments import NAME, Deployment
from kit.generated.changed import planned
from kit.stacks import platform, pool

GROUP = "train-on-demand"
DESIRED = "scalingConfig.desiredSize"


def graph_on(plan):
    return plan.provider.graph(plan)


def of(nodes):
    return planned(platform([pool(nodes=nodes), pool("more", nodes=2)], cloud="aws"), "aws")


def resized(before, after):
    """The graph of the nodes `after`, where nodes `before` are deployed."""
    plan = of(before)
    state = Deployment(plan.provider.graph(plan), Place(cloud="aws", region="us-east-1")).export(
        plan
    )
    graph = graph_on(of(after))
    return with_sizes(graph, deployed_state(state).cloud_resources(NAME, graph))


@pytest.mark.parametrize(("before", "after"), [("0..2", "1..2"), ("0..12", "2..10"), (2, "3..4")])
def test_a_group_with_new_bounds_keeps_the_size_that_eks_tells_within_them(before, after):
    graph = resized(before, after)
    low, high = map(int, after.split(".."))
    group = graph.resource(GROUP)
    size = UnresolvedOutput("size-of-train-on-demand.scalingConfigs.0.desiredSize")
    assert group.inputs["scalingConfig"] == {
        "minSize": low,
        "desiredSize": ClampedNumber(size, low, high),
        "maxSize": high,
    }
    assert group.ignores == ()
    assert graph.calls[-1] == CloudCall(
        kind="aws:eks/getNodeGroup:getNodeGroup",
        name="size-of-train-on-demand",
        args={"clusterName": "lab", "nodeGroupName": group.inputs["nodeGroupName"]},
        outputs=("scalingConfigs",),
    )
    assert graph.resources.count(group) == 1
    others = [each for each in graph.resources if each.name != GROUP]
    assert others == [each for each in graph_on(of(after)).resources if each.name != GROUP]


@pytest.mark.parametrize(("before", "after"), [("0..2", "0..2"), ("0..2", 2), (2, 4)])
def test_bounds_that_stay_and_nodes_of_a_fixed_number_ask_nothing(before, after):
    assert resized(before, after) is None


def test_a_group_that_is_not_there_yet_asks_nothing():
    graph = graph_on(of("1..2"))
    assert with_sizes(graph, {}) is None
