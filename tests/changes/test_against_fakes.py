"""What is announced is what happens: the same stacks, asked of us and of the fake provider's own Diff."""

import pytest
from testbed.plugins.cloud.shapes import Place

from gpuyard.changes.deployed_state import deployed_state
from gpuyard.changes.graphs import ResourceAction
from gpuyard.changes.planned_changes import plan_changes
from gpuyard.render.cloud.graph import late_value_names
from kit.clouds.deployments import NAME, Deployment
from kit.generated.changed import REGIONS, changed

PLACES = {
    "aws": Place(cloud="aws", region=REGIONS["aws"]),
    "gcp": Place(cloud="gcp", region=REGIONS["gcp"], project="my-project"),
}


def verdicts(cloud, number):
    """Ours and theirs, by resource; of ours also which rest on answers of the cloud."""
    first, second = changed(cloud, number)
    deployment = Deployment(first.provider.graph(first), PLACES[cloud])
    wanted = second.provider.graph(second)
    said = plan_changes(second, wanted, deployed_state(deployment.export(first)), NAME)
    ours = {each.name: each for each in said.resources}
    return ours, deployment.next(wanted)


def differences(cloud, number):
    """Where we say other than they do; what nobody can know without asking the cloud is left out."""
    return _differences(cloud, number, *verdicts(cloud, number))


def _differences(cloud, number, ours, theirs):
    asked = {
        name
        for name, each in ours.items()
        if each.has_queried_inputs and each.action is ResourceAction.SAME
    }
    hang = {name for name, each in ours.items() if each.may_be_replaced}
    plan = changed(cloud, number)[1]
    for each in plan.provider.graph(plan).resources:
        if hang & {name.partition(".")[0] for name in late_value_names(each.inputs)}:
            hang.add(each.name)
    return {
        name: (ours[name].action.value, verdict, [str(each) for each in ours[name].fields])
        for name, verdict in theirs.items()
        if ours[name].action.value != verdict
        and not (name in asked and verdict == "update")
        and not (name in hang and verdict == "replace")
    }


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_what_is_announced_is_what_the_provider_does(cloud):
    seen = set()
    for number in range(8):
        ours, theirs = verdicts(cloud, number)
        assert _differences(cloud, number, ours, theirs) == {}, number
        seen |= {each.action for each in ours.values()}
    assert seen >= {ResourceAction.SAME, ResourceAction.UPDATE, ResourceAction.REPLACE}


@pytest.mark.repeats("test_what_is_announced_is_what_the_provider_does")
@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_it_is_so_for_many_pairs(cloud):
    for number in range(8, 150):
        assert differences(cloud, number) == {}, number
