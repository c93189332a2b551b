"""Kueue's chart as a resource: before the queues, after its namespace, gone when they are."""

import pytest

from gpuyard.render.kueue.chart import kueue_values
from gpuyard.resources.component import RELEASE_TYPE
from gpuyard.sdk_classes import sdk_version
from kit.components import component, waits_for
from kit.stacks import plan_of, platform, pool, team

OWN = platform(
    teams=[team(guarantee={"train": 8}), team("speech", borrow={"train": 8})],
    pools=[pool(), pool("more")],
)
RELEASE = "Release:kueue-system/kueue"
CLOSED = {"images": "mirror.example", "charts": "./charts"}


def run(mocks, kind="Platform", **more):
    return mocks.run(lambda: component(kind, {**OWN, **more}))


def release_of(graph, chart="kueue"):
    (found,) = [one for one in graph.of_type(RELEASE_TYPE) if one.inputs["name"] == chart]
    return found


def test_the_release_is_what_was_rendered(pulumi_mocks):
    made = release_of(run(pulumi_mocks))
    assert made.inputs == {
        "name": "kueue",
        "namespace": "kueue-system",
        "chart": "oci://registry.k8s.io/kueue/charts/kueue",
        "version": "0.19.2",
        "values": kueue_values(plan_of(OWN)),
        "skipAwait": True,
    }
    assert made.name == f"lab-queueing:{RELEASE}"
    assert made.options["version"] == sdk_version("kubernetes")


def test_a_chart_in_a_folder_is_installed_at_the_version_it_has(pulumi_mocks):
    made = release_of(run(pulumi_mocks, mirror=CLOSED))
    assert made.inputs["chart"] == "./charts/kueue"
    assert "version" not in made.inputs


def test_definitions_come_first_then_the_controller_then_every_object(pulumi_mocks):
    graph = run(pulumi_mocks)
    assert waits_for(graph, f"lab-queueing:{RELEASE}") == {"Namespace:kueue-system"}
    kinds = ("ResourceFlavor", "Cohort", "ClusterQueue", "WorkloadPriorityClass", "LocalQueue")
    queueing = [one for one in graph if one.custom and one.inputs.get("kind") in kinds]
    assert {one.inputs["kind"] for one in queueing} == set(kinds) - {"WorkloadPriorityClass"}
    for one in queueing:
        assert reaches(graph, one, f"lab-queueing:{RELEASE}"), one.name


def test_what_kueues_webhooks_judge_waits_until_they_answer(pulumi_mocks):
    graph = run(pulumi_mocks)
    answers = "Service:kueue-system/gpuyard-kueue-answers"
    assert RELEASE in waits_for(graph, f"lab-queueing:{answers}")
    for name in ("ResourceFlavor:train", "Cohort:lab", "ClusterQueue:lab-vision"):
        assert answers in waits_for(graph, f"lab-queueing:{name}")


def reaches(graph, one, name):
    """Whether a resource waits for another, by whatever way."""
    by_urn = {each.urn: each for each in graph}
    seen, ahead = set(), [one.urn]
    while ahead:
        urn = ahead.pop()
        seen.add(urn)
        ahead += [d for d in by_urn[urn].dependencies if d not in seen]
    return any(by_urn[urn].name == name for urn in seen)


def test_the_order_is_the_same_in_a_queueing_of_its_own(pulumi_mocks):
    graph = run(pulumi_mocks, "Queueing")
    assert RELEASE in waits_for(graph, "lab:ClusterQueue:lab-vision")


@pytest.mark.parametrize(
    "more",
    [{"queueing": {"install": False}}, {"cloud": "simulated"}],
    ids=["another's", "simulated"],
)
def test_where_kueue_is_there_already_no_release_is_registered(pulumi_mocks, more):
    graph = run(pulumi_mocks, **more)
    assert "kueue" not in {one.inputs["name"] for one in graph.of_type(RELEASE_TYPE)}
    assert not [one for one in graph if one.name.endswith("Namespace:kueue-system")]


def test_a_preview_with_unknown_outputs_registers_the_same(pulumi_mocks):
    pulumi_mocks.assert_same_when_unknown(lambda: component("Platform", OWN))


def test_nodes_of_a_cluster_of_your_own_are_not_made(pulumi_mocks):
    graph = run(pulumi_mocks)
    assert graph.of_type("kubernetes:core/v1:Node") == []
    outputs = graph.one(name="lab-train").registered_outputs
    assert outputs == {"nodes": [], "resources": {"nvidia.com/gpu": 8}}


@pytest.mark.parametrize(
    ("more", "name"), [({}, "lab"), ({"cluster": {"existing": "blue"}}, "blue")]
)
def test_a_cluster_of_your_own_is_called_as_the_stack_file_says(pulumi_mocks, more, name):
    record = run(pulumi_mocks, **more).one(name="lab:ConfigMap:gpuyard-lab/gpuyard-platform")
    assert record.inputs["data"]["cluster"] == name
