"""Cluster Autoscaler as a component: in clusters of ours on EKS, after what it reads; classes on GKE."""

from gpuyard.render.aws.in_cluster.autoscaler import autoscaler_values
from gpuyard.resources.component import RELEASE_TYPE
from kit.clouds import answers
from kit.components import component, waits_for
from kit.stacks import plan_of, platform, pool

SCALES = platform([pool(nodes="0..4")], cloud="aws")
CONFIG = "ConfigMap:kube-system/cluster-autoscaler-priority-expander"
RELEASE = "Release:kube-system/cluster-autoscaler"


def test_the_chart_comes_after_what_it_reads(pulumi_mocks):
    graph = pulumi_mocks.run(lambda: component("ClusterAutoscaler", SCALES))
    made = graph.one(RELEASE_TYPE)
    assert made.name == f"lab:{RELEASE}"
    assert made.inputs == {
        "name": "cluster-autoscaler",
        "namespace": "kube-system",
        "chart": "cluster-autoscaler",
        "repositoryOpts": {"repo": "https://kubernetes.github.io/autoscaler"},
        "version": "9.59.0",
        "values": autoscaler_values(plan_of(SCALES)),
        "skipAwait": True,
    }
    assert waits_for(graph, made.name) == {CONFIG}


def test_where_objects_become_files_the_chart_is_one(pulumi_mocks):
    graph = pulumi_mocks.run(lambda: component("ClusterAutoscaler", SCALES | {"apply": "render"}))
    assert graph.of_type(RELEASE_TYPE) == []
    name = "lab:ConfigMap:kube-system/gpuyard-cluster-autoscaler-release"
    assert graph.one(name=name).inputs["data"]["version"] == "9.59.0"


def test_elsewhere_it_is_empty(pulumi_mocks):
    graph = pulumi_mocks.run(lambda: component("ClusterAutoscaler", platform()))
    assert [one for one in graph if one.custom] == []


def test_on_gke_it_is_a_class_for_each_pool_that_scales(pulumi_mocks):
    there = {"machine": "a3-megagpu-8g", "zones": ["us-central1-a"]}
    pools = [pool(nodes="0..4", **there), pool("steady", nodes=2, **there)]
    graph = pulumi_mocks.run(lambda: component("ClusterAutoscaler", platform(pools, cloud="gcp")))
    assert [one.name for one in graph if one.custom] == ["lab:ComputeClass:pool-train"]


def test_a_platform_brings_it_where_something_scales(pulumi_mocks):
    clouds = pulumi_mocks.with_settings(outputs=answers.outputs, calls=answers.calls())
    aws, gcp = {}, {"machine": "a3-megagpu-8g", "zones": ["us-central1-a"]}
    there = ["lab-cluster-autoscaler"]
    cases = [
        ("aws", aws, "0..4", there),
        ("aws", aws, 4, []),
        ("gcp", gcp, "0..4", there),
        ("gcp", gcp, 4, []),
    ]
    for cloud, more, nodes, brought in cases:
        raw = platform([pool(nodes=nodes, **more)], cloud=cloud)
        graph = clouds.run(lambda raw=raw: component("Platform", raw))
        assert [one.name for one in graph if one.type.endswith(":ClusterAutoscaler")] == brought
