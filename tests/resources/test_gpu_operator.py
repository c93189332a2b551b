"""The GPU Operator as a component: its chart after what it reads, or a look at another's."""

import asyncio

import pulumi
import pytest

from gpuyard.render.gpu_operator.existing_operator import required_values
from gpuyard.render.gpu_operator.values import operator_values
from gpuyard.resources import ClusterProvider
from gpuyard.resources.component import RELEASE_TYPE, Component
from gpuyard.resources.gpu_operator import component as operator_component
from kit.components import component, waits_for
from kit.stacks import plan_of, platform, pool, shape, team

THERE = {"install": False, "namespace": "nvidia"}
PLAN = plan_of(platform(gpu_operator=THERE))
RELEASE = "Release:gpu-operator/gpu-operator"


def test_the_chart_comes_after_what_its_agents_read(pulumi_mocks):
    graph = pulumi_mocks.run(lambda: component("GpuOperator", platform()))
    made = graph.one(RELEASE_TYPE)
    plan = plan_of(platform())
    assert made.name == f"lab:{RELEASE}"
    assert made.inputs == {
        "name": "gpu-operator",
        "namespace": "gpu-operator",
        "chart": "gpu-operator",
        "repositoryOpts": {"repo": "https://helm.ngc.nvidia.com/nvidia"},
        "version": "v26.7.1",
        "values": operator_values(plan, plan.operator),
        "skipAwait": True,
    }
    assert waits_for(graph, f"lab:{RELEASE}") == {
        "Namespace:gpu-operator",
        "ConfigMap:gpu-operator/gpuyard-mig-parted",
        "ConfigMap:gpu-operator/gpuyard-device-plugin",
    }
    assert graph.one(name="lab").registered_outputs == {
        "configurations": {
            "migManager": "gpuyard-mig-parted",
            "devicePlugin": "gpuyard-device-plugin",
        }
    }


def test_who_claims_gpus_waits_for_the_chart_that_defines_compute_domains(pulumi_mocks):
    claims = platform(
        [pool(sharing="dra")],
        [team("a", guarantee={"train": 8})],
        shapes=[shape("s", gpus_per_node=8)],
    )
    graph = pulumi_mocks.run(lambda: component("Platform", claims))
    (template,) = [one.name for one in graph if one.name.endswith("ResourceClaimTemplate:a/s")]
    assert RELEASE in waits_for(graph, template)
    assert graph.one(name="lab-gpu-operator").registered_outputs == {"configurations": {}}


def test_on_gke_the_chart_of_the_driver_of_claims_is_what_teams_wait_for(pulumi_mocks):
    claims = platform(
        [pool(machine="a3-highgpu-8g", sharing="dra", zones=["us-central1-a"])],
        [team("a", guarantee={"train": 8})],
        cloud="gcp",
        shapes=[shape("s", gpus_per_node=8)],
    )
    graph = pulumi_mocks.run(lambda: component("GpuOperator", claims))
    made = graph.one(RELEASE_TYPE)
    assert made.name == "lab:Release:gpu-operator/dra-driver-nvidia-gpu"
    assert {word: made.inputs[word] for word in ("name", "namespace", "version", "chart")} == {
        "name": "dra-driver-nvidia-gpu",
        "namespace": "gpu-operator",
        "version": "0.5.0",
        "chart": "oci://registry.k8s.io/dra-driver-nvidia/charts/dra-driver-nvidia-gpu",
    }
    assert waits_for(graph, made.name) >= {
        "Namespace:gpu-operator",
        "ResourceQuota:gpu-operator/gpuyard-critical-pods",
    }


@pytest.mark.parametrize(
    ("cloud", "told"), [("none", RELEASE), ("simulated", "ClusterPolicy:cluster-policy")]
)
def test_what_says_which_driver_comes_has_its_hooks_beside_the_provider_s(
    pulumi_mocks, monkeypatch, cloud, told
):
    seen = {}
    register, chart = Component._register, Component._register_chart

    def noted(self, objects, late=None, first=None, stays=(), after=()):
        objects = list(objects)
        seen.update({f"{o['kind']}:{o['metadata']['name']}": first for o in objects})
        return register(self, objects, late, None, stays, after)

    def released(self, plan, release, after, name="", first=None, late=None):
        seen[f"Release:{release.namespace}/{release.name}"] = first
        return chart(self, plan, release, after, name, None, late)

    monkeypatch.setattr(Component, "_register", noted)
    monkeypatch.setattr(Component, "_register_chart", released)
    monkeypatch.setattr(Component, "_kubectl", object())
    bound = pulumi.ResourceHookBinding(before_update=["hold"])
    monkeypatch.setattr(operator_component, "rollout_hooks", lambda *_: bound)
    pulumi_mocks.run(lambda: component("GpuOperator", platform(cloud=cloud)))
    assert seen[told] is bound
    assert [each for each in seen.values() if each is not None] == [bound]


@pytest.mark.parametrize("cloud", ["none", "simulated"])
def test_beside_a_provider_of_ours_each_hook_is_made_once(pulumi_mocks, monkeypatch, cloud):
    """The engine refuses the second; the monitor of these tests does, too."""
    real, bound = operator_component.rollout_hooks, []

    def noted(*what):
        bound.append(real(*what))
        return bound[-1]

    monkeypatch.setattr(operator_component, "rollout_hooks", noted)

    def program():
        given = pulumi.ResourceOptions(providers=[ClusterProvider("lab", "lab")])
        component("GpuOperator", platform(cloud=cloud), given)

    pulumi_mocks.run(program)
    assert len(bound) == 1


def test_where_objects_become_files_the_chart_is_one(pulumi_mocks):
    graph = pulumi_mocks.run(lambda: component("GpuOperator", platform(apply="render")))
    assert graph.of_type(RELEASE_TYPE) == []
    name = "lab:ConfigMap:gpu-operator/gpuyard-gpu-operator-release"
    assert graph.one(name=name).inputs["data"]["version"] == "v26.7.1"


def test_beside_anothers_operator_two_config_maps_are_all(pulumi_mocks):
    graph = pulumi_mocks.run(lambda: component("GpuOperator", platform(gpu_operator=THERE)))
    assert {one.name for one in graph if one.custom} == {
        "lab:ConfigMap:nvidia/gpuyard-mig-parted-lab",
        "lab:ConfigMap:nvidia/gpuyard-device-plugin-lab",
    }


class Looks:
    """Whoever looks at a cluster: it answers with these policies, or fails."""

    def __init__(self, found):
        self.found = found

    async def get(self, *what):
        assert what[0] == "clusterpolicies.nvidia.com"
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


def policy(**spec):
    labels = {"app.kubernetes.io/managed-by": "Helm"}
    return {"metadata": {"name": "cluster-policy", "labels": labels}, "spec": spec}


def said(found):
    return asyncio.run(operator_component.other_operator_message(Looks(found), PLAN))


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (None, []),
        ({"items": [policy(**required_values(PLAN))]}, []),
        ({}, ["has no ClusterPolicy", "install one into nvidia"]),
        (
            {"items": [policy(driver={"enabled": True})]},
            [
                "devicePlugin.config.name is empty, required gpuyard-device-plugin-lab",
                "It belongs to Helm",
                "add these values to the chart in nvidia",
                "      name: gpuyard-mig-parted-lab",
            ],
        ),
    ],
    ids=["nobody looked", "agrees", "none there", "differs"],
)
def test_what_is_said_of_anothers_operator(found, words):
    text = said(found)
    assert bool(text) is bool(words)
    assert [word for word in words if word not in text] == []


@pytest.mark.parametrize(("found", "warned"), [({}, True), (None, False), (OSError("gone"), False)])
def test_a_look_warns_and_never_fails(pulumi_mocks, monkeypatch, found, warned):
    heard = []
    monkeypatch.setattr(operator_component.pulumi.log, "warn", heard.append)

    async def look():
        return await operator_component.warn_other_operator(Looks(found), PLAN).future()

    assert bool(asyncio.run(look())) is warned
    assert bool(heard) is warned


def test_nobody_looks_at_an_operator_of_ours():
    assert (
        operator_component.warn_other_operator(Looks(AssertionError()), plan_of(platform())) is None
    )
