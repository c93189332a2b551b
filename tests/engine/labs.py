"""A platform beside a Kueue of somebody else: its program, and the definitions that it needs.

Kueue's definitions are there, its controller is not: an object changes only when somebody writes it.
"""

import json

import pytest
from testbed.plugins.kubernetes.cluster import APPLY
from testbed.plugins.kubernetes.failures import ProviderError

from kit import chart as kueue_chart
from kit.stacks import platform, pool, team

KUEUE = "kueue.x-k8s.io/v1beta2"
RAW = platform(
    [pool(), pool("more", nodes=2)],
    [
        team(guarantee={"train": 8}, groups=["seers"], protect=False),
        team("speech", borrow={"train": 8}, protect=False),
    ],
    priorities={"high": 100},
    queueing={"install": False},
)
PROTECTED = [{k: v for k, v in each.items() if k != "protect"} for each in RAW["teams"]]
"""The same teams as people write them: their namespaces stay when they go."""
PROGRAM = """
from gpuyard.resources import ClusterProvider, Platform
lab = ClusterProvider("lab", "lab", settings["kubeconfig"])
raw = json.loads(Path("platform.json").read_text())
Platform("lab", {"platform": raw}, pulumi.ResourceOptions(providers=[lab]))
"""
LABEL = "gpuyard.dev/platform"


@pytest.fixture
def kueue(api, only_kueue, until):
    """A Kueue of somebody else, as far as definitions go; they stay for the next test."""
    there = untouched(api)
    for crd in kueue_chart.definitions():
        if crd["metadata"]["name"] not in there:
            api.cluster.patch(crd, crd, APPLY, {"fieldManager": "somebody", "force": "true"})
    api.cluster.forget()
    until(lambda: serves(api))
    yield
    for namespace in ours(api):
        api.cluster.delete(namespace, namespace["metadata"]["name"], "Background")
    until(lambda: not ours(api))
    for kind in ("LocalQueue", "ClusterQueue", "Cohort", "ResourceFlavor", "WorkloadPriorityClass"):
        for obj in api.cluster.list(KUEUE, kind, None):
            api.cluster.delete(obj, obj["metadata"]["name"], "Background")


def ours(api):
    """Namespaces of teams: protected, they outlive their stack."""
    return [
        one
        for one in api.cluster.list("v1", "Namespace", None)
        if one["metadata"].get("labels", {}).get(LABEL)
    ]


def untouched(api):
    """Names of the definitions that are as an earlier test left them, and stay."""
    found = api.cluster.list("apiextensions.k8s.io/v1", "CustomResourceDefinition", None)
    return {
        crd["metadata"]["name"]
        for crd in found
        if "deletionTimestamp" not in crd["metadata"] and writers(crd) == {("somebody", "Apply")}
    }


def writers(obj):
    """Who has written anything but the status, and how."""
    fields = obj["metadata"]["managedFields"]
    return {(each["manager"], each["operation"]) for each in fields if "subresource" not in each}


def serves(api):
    """A definition that has just come, or come again, is answered with 404 and 429 for a while."""
    try:
        for crd in kueue_chart.definitions():
            spec = crd["spec"]
            for version in (one["name"] for one in spec["versions"] if one["served"]):
                api.cluster.list(f"{spec['group']}/{version}", spec["names"]["kind"], None)
    except ProviderError:
        return False
    return True


@pytest.fixture
def lab(stack):
    """The platform's program; call it with a changed platform to write that."""

    def write(program=PROGRAM, **more):
        (stack.folder / "platform.json").write_text(json.dumps({**RAW, **more}))
        stack.program(program)

    write()
    return write
