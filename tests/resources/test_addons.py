"""Add-ons in a Platform: a new record is registered after those that it names, without another change."""

import pytest

from gpuyard.resources.component import RELEASE_TYPE
from kit.addons import add_toys
from kit.components import component, waits_for
from kit.stacks import platform, pool, team

RAW = platform([pool()], [team("vision", guarantee={"train": 8})], cloud="simulated")


@pytest.fixture
def toys(monkeypatch):
    add_toys(monkeypatch)


@pytest.mark.usefixtures("toys")
def test_a_new_add_on_is_registered_after_those_that_it_names(pulumi_mocks):
    graph = pulumi_mocks.run(lambda: component("Platform", RAW))
    namespace, release = graph.one(name="lab:Namespace:toys"), graph.one(RELEASE_TYPE)
    assert graph.ancestors(namespace)[0].name == graph.ancestors(release)[0].name == "lab"
    assert (release.name, release.inputs["values"]) == ("lab:Release:toys/toy", {"replicas": 2.0})
    first = waits_for(graph, namespace.name)
    assert first >= {"ValidatingAdmissionPolicy:gpuyard-lab", "ClusterQueue:lab-vision"}
    assert waits_for(graph, release.name) == {*first, "Namespace:toys"}
    assert waits_for(graph, "lab:Namespace:toy-user") == {"Namespace:toys", "Release:toys/toy"}


@pytest.mark.usefixtures("toys")
def test_with_rendered_manifests_its_chart_is_an_object(pulumi_mocks):
    graph = pulumi_mocks.run(lambda: component("Platform", RAW | {"apply": "render"}))
    assert graph.of_type(RELEASE_TYPE) == []
    name = "lab:ConfigMap:toys/gpuyard-toy-release"
    assert graph.one(name=name).inputs["data"]["chart"] == "oci://toys.example/charts/toy"
    assert waits_for(graph, "lab:Namespace:toy-user") == {name.partition(":")[2], "Namespace:toys"}


def test_the_other_resources_stay_as_they_are(pulumi_mocks, monkeypatch):
    before = pulumi_mocks.run(lambda: component("Platform", RAW))
    add_toys(monkeypatch)
    graph = pulumi_mocks.run(lambda: component("Platform", RAW))
    others = {one.urn: one.dependencies for one in graph if "toy" not in one.name}
    assert others == {one.urn: one.dependencies for one in before}
