"""Karpenter as a component: definitions, controller and NodePools in this order, in clusters of ours."""

import pytest

from gpuyard.plan.records.late import resolve_outputs
from gpuyard.render.aws.graph import aws_graph
from gpuyard.render.aws.karpenter.charts import karpenter_values
from gpuyard.resources import Karpenter
from gpuyard.resources import platform as platforms
from gpuyard.resources.clusters.change_preview import ChangePreview
from gpuyard.resources.component import RELEASE_TYPE
from gpuyard_core.errors import OutputValueMissing
from kit.clouds import answers
from kit.components import component, waits_for
from kit.stacks import plan_of, platform, pool

OURS = platform([pool(nodes="0..4", scaling="karpenter")], cloud="aws")
STORES = {name: f"the-{name}" for name in aws_graph(plan_of(OURS)).late_values}
CRDS, CONTROLLER = "lab:Release:kube-system/karpenter-crd", "lab:Release:kube-system/karpenter"
CLASS, NODES = "lab:EC2NodeClass:train-on-demand", "lab:NodePool:train-on-demand"


def alone(raw, stores=None):
    return lambda: Karpenter(
        "lab", {"platform": raw, "stores": STORES if stores is None else stores}
    )


def order(graph):
    """What each of them was made after, by name."""
    names = (CRDS, CONTROLLER, CLASS, NODES)
    short = {name.removeprefix("lab:"): name for name in names}
    return {n: {short[each] for each in waits_for(graph, n) if each in short} for n in names}


def test_it_is_made_from_the_definitions_on_and_goes_in_the_opposite_order(pulumi_mocks):
    """Without the controller nobody ends the nodes of a class that is to go."""
    found = order(pulumi_mocks.run(alone(OURS)))
    assert found[CRDS] == set()
    assert CRDS in found[CONTROLLER]
    assert CONTROLLER in found[CLASS]
    assert {CLASS, CONTROLLER} <= found[NODES]


def test_charts_and_classes_have_what_the_cloud_has_made(pulumi_mocks):
    graph = pulumi_mocks.run(alone(OURS))
    crds, controller = (graph.one(RELEASE_TYPE, name=name).inputs for name in (CRDS, CONTROLLER))
    assert crds["chart"] == "oci://public.ecr.aws/karpenter/karpenter-crd"
    assert controller["values"] == resolve_outputs(
        karpenter_values(plan_of(OURS)), STORES.__getitem__
    )
    assert controller["values"]["settings"]["interruptionQueue"] == "the-interruptions.name"
    spec = graph.one(name=CLASS).inputs["spec"]
    assert spec["instanceProfile"] == "the-karpenter-nodes.name"
    groups = [each["id"] for each in spec["securityGroupSelectorTerms"]]
    assert groups == ["the-cluster.vpcConfig.clusterSecurityGroupId", "the-nodes.id"]


def test_what_nobody_says_is_asked_for(pulumi_mocks):
    with pytest.raises(OutputValueMissing, match=r"are missing: set .*karpenter-nodes\.name"):
        pulumi_mocks.run(alone(OURS, {}))


def test_where_objects_become_files_charts_are_some(pulumi_mocks):
    graph = pulumi_mocks.run(alone(OURS | {"apply": "render"}))
    assert graph.of_type(RELEASE_TYPE) == []
    for chart in ("karpenter-crd", "karpenter"):
        name = f"lab:ConfigMap:kube-system/gpuyard-{chart}-release"
        data = graph.one(name=name).inputs["data"]
        assert data["version"] == "1.14.1"
        assert ("the-interruptions.name" in data["values.yaml"]) is (chart == "karpenter")


TWO = platform(
    [
        pool("base", nodes=1),
        pool(nodes="0..4", scaling="karpenter"),
        pool("calm", nodes="0..4", scaling="karpenter"),
    ],
    cloud="aws",
)


def groups(graph, name):
    """Of those that it waits for."""
    return [
        each for each in graph.one(name=name).dependencies if "nodeGroup" in each and "base" in each
    ]


def test_of_pools_that_wait_it_is_told_later_and_nothing_else_changes(pulumi_mocks, monkeypatch):
    """They keep their class until the first pool has new nodes, and new ones of theirs are of the old one."""
    clouds = pulumi_mocks.with_settings(outputs=answers.outputs, calls=answers.calls())
    names = [f"lab-karpenter:{kind}:train-on-demand" for kind in ("EC2NodeClass", "NodePool")]

    def made(*turns):
        monkeypatch.setattr(
            platforms, "preview_changes", lambda *_: ChangePreview(rollout_waves=turns)
        )
        return clouds.run(lambda: component("Platform", TWO))

    at_once, later = made(), made(("base",), ("train",))
    for name in names:
        assert not groups(at_once, name)
        assert groups(later, name)
        assert at_once.one(name=name).inputs == later.one(name=name).inputs
    calm = "lab-karpenter:NodePool:calm-on-demand"
    assert waits_for(later, calm) == waits_for(at_once, calm)
    assert {each.urn for each in at_once} == {each.urn for each in later}


def test_elsewhere_it_is_empty(pulumi_mocks):
    graph = pulumi_mocks.run(alone(platform(), {}))
    assert [one for one in graph if one.custom] == []


def test_a_platform_brings_it_where_a_pool_is_its_own(pulumi_mocks):
    clouds = pulumi_mocks.with_settings(outputs=answers.outputs, calls=answers.calls())
    for raw, brought in ((OURS, ["lab-karpenter"]), (platform([pool()], cloud="aws"), [])):
        graph = clouds.run(lambda raw=raw: component("Platform", raw))
        assert [one.name for one in graph if one.type.endswith(":Karpenter")] == brought
        assert len(graph.of_type("aws:eks/nodeGroup:NodeGroup")) == 2 - len(brought)
