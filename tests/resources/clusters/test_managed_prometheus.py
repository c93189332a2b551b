"""A managed Prometheus as resources: its chart gets what the cloud has made."""

import re

import yaml

from gpuyard.resources.component import RELEASE_TYPE
from kit.clouds import answers
from kit.components import component
from kit.stacks import platform, pool

OURS = platform([pool()], cloud="aws", observability={"prometheus": "managed"})
CHART = "lab:Release:monitoring/kube-prometheus-stack"
WRITTEN = re.compile(
    r"https://aps-workspaces\.us-east-1\.amazonaws\.com/workspaces/ws-[^/]+/api/v1/remote_write"
)


def made(mocks, **more):
    clouds = mocks.with_settings(outputs=answers.outputs, calls=answers.calls())
    return clouds.run(lambda: component("Platform", OURS | more))


def target_of(values):
    (target,) = values["prometheus"]["prometheusSpec"]["remoteWrite"]
    return target["url"]


def test_prometheus_sends_to_the_workspace_of_the_platform(pulumi_mocks):
    release = made(pulumi_mocks).one(RELEASE_TYPE, name=CHART)
    assert WRITTEN.fullmatch(target_of(release.inputs["values"]))


def test_rendered_values_have_the_workspace_too(pulumi_mocks):
    graph = made(pulumi_mocks, apply="render")
    name = "lab:ConfigMap:monitoring/gpuyard-monitoring-release"
    values = yaml.safe_load(graph.one(name=name).inputs["data"]["values.yaml"])
    assert WRITTEN.fullmatch(target_of(values))
