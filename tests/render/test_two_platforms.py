"""Two platforms in one cluster: each object is one platform's, but for the GPU Operator's namespace."""

import copy
from functools import lru_cache

import pytest
import yaml

import sizes
from gpuyard.plan import plan
from gpuyard.render.platform import platform_objects
from gpuyard.spec.read import read_stack_file
from gpuyard_core.catalogue.gke.nodes import DRIVER_INSTALLER
from gpuyard_core.catalogue.kubernetes.autoscalers import PRIORITY_CONFIGMAP
from gpuyard_core.catalogue.software.charts import EFA_PLUGIN
from gpuyard_core.names import (
    CLUSTER_POLICY,
    COUNTERS_CONFIGMAP,
    GPU_OPERATOR_NAMESPACE,
    KUEUE_CONFIGMAP,
    KUEUE_NAMESPACE,
    MIG_CONFIGMAP,
    OPERATOR_QUOTA,
    PLUGIN_CONFIGMAP,
)
from kit.every import every
from kit.stacks import findings, only, plan_of, platform, pool, spec_of, team


def objects(name):
    """All there is: queues, a priority, idle reclaim, a cohort, a topology."""
    raw = platform(
        [pool(f"{name}-train", topology=True)],
        [team(f"{name}-team", guarantee={f"{name}-train": 8}, idle={}, cohort="labs")],
        name=name,
        priorities={f"{name}-high": 100},
        queueing={"cohorts": [{"name": "labs"}], "install": False},
        observability={
            "prometheus": "existing",
            "prometheus_address": "http://prometheus:9090",
            "namespace": f"{name}-monitoring",
        },
    )
    found, said = plan(spec_of(raw))
    assert found is not None, said
    return {
        (one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"])
        for one in platform_objects(found)
    }


def test_platforms_of_two_names_have_nothing_in_common_but_the_operators():
    east, west = objects("east"), objects("west")
    assert {kind for kind, _, _ in east} >= {"CronJob", "Cohort", "ResourceFlavor", "Topology"}
    assert {
        (kind, namespace, name)
        for kind, namespace, name in east & west
        if GPU_OPERATOR_NAMESPACE not in {namespace, name}
    } == set()


STACKS = [
    sizes.ROOT / "stacks" / "Pulumi.local.yaml",
    *sorted((sizes.ROOT / "tests" / "golden_stacks").glob("*.yaml")),
]
GUIDE = sizes.ROOT / "docs" / "guides" / "existing-kueue.md"
ONE_A_CLUSTER = {
    ("Namespace", GPU_OPERATOR_NAMESPACE),
    ("ConfigMap", MIG_CONFIGMAP),
    ("ConfigMap", PLUGIN_CONFIGMAP),
    ("ConfigMap", COUNTERS_CONFIGMAP),
    ("ResourceQuota", OPERATOR_QUOTA),
    ("ServiceMonitor", "gpuyard-dcgm-exporter"),
    ("ServiceMonitor", "gpuyard-kueue"),
    ("PrometheusRule", "gpuyard"),
    ("ClusterPolicy", CLUSTER_POLICY),
    ("Namespace", KUEUE_NAMESPACE),
    ("ConfigMap", KUEUE_CONFIGMAP),
    ("ConfigMap", PRIORITY_CONFIGMAP),
    ("DaemonSet", EFA_PLUGIN.name),
    ("DaemonSet", DRIVER_INSTALLER),
    ("DaemonSet", f"{DRIVER_INSTALLER}-latest"),
}
"""What neither the platform's name nor anything else in a stack file gives another name."""


@lru_cache
def named(path, name):
    """The plan of a stack under another name, and nothing else of it changed."""
    data = copy.deepcopy(yaml.safe_load(path.read_bytes()))
    data["config"]["gpuyard:platform"]["name"] = name
    found, said = plan(read_stack_file(yaml.safe_dump(data).encode(), name).spec)
    assert found is not None, said
    return found


def identities(found):
    return {
        (obj["kind"], obj["metadata"].get("namespace"), obj["metadata"]["name"])
        for obj in platform_objects(found)
    }


def written_in_jobs(found, kind, namespace, name):
    """Whether the name is one that people write in jobs, or of a pool: the two files must differ there."""
    teams = {space.name for team in found.teams for space in team.namespaces}
    pools = {each for pool in found.pools for each in (pool.stable_name, pool.flavor)}
    return (
        namespace in teams
        or (kind == "Namespace" and name in teams)
        or (kind == "ResourceFlavor" and name in pools)
        or (kind == "ClusterTrainingRuntime" and name.partition("-")[2] in pools)
        or (kind == "ComputeClass" and name.removeprefix("pool-") in pools)
        or (kind == "Node" and name.rpartition("-")[0] in pools)
        or (kind == "WorkloadPriorityClass" and name in found.spec.priorities)
    )


OF_GKE = {"Network", "GKENetworkParamSet"}
"""Of a cluster with several networks: the platform that makes the cluster makes them."""


def in_common(path):
    east, west = named(path, "east"), named(path, "west")
    return {
        (kind, name)
        for kind, namespace, name in identities(east) & identities(west)
        if kind not in OF_GKE and not written_in_jobs(east, kind, namespace, name)
    }


@pytest.mark.repeats("tests/render/test_golden.py")
@every("path", STACKS, ids=lambda path: path.name)
def test_a_stack_twice_shares_names_that_people_write_and_what_a_cluster_has_once(path):
    assert in_common(path) <= ONE_A_CLUSTER


def test_what_a_cluster_has_once_is_in_the_guide():
    assert {each for path in STACKS for each in in_common(path)} == ONE_A_CLUSTER
    section = GUIDE.read_text(encoding="utf-8").partition("## Several platforms in one cluster")[2]
    rows = section.partition("\n## ")[0]
    assert [kind for kind in OF_GKE if f"`{kind}`" not in rows] == []
    assert [name for kind, name in sorted(ONE_A_CLUSTER) if f"{kind} `{name}`" not in rows] == []


def test_a_name_that_begins_like_another_may_end_like_it():
    """The guide says so: nothing is shared in silence, the second `up` stops at the queue."""
    short = plan_of(platform(teams=[team("b-c", guarantee={"train": 8})], name="a"))
    long = plan_of(platform(teams=[team("c", guarantee={"train": 8})], name="a-b"))
    both = {(kind, name) for kind, space, name in identities(short) & identities(long) if not space}
    assert both - ONE_A_CLUSTER == {("ClusterQueue", "a-b-c"), ("ResourceFlavor", "train")}


@pytest.mark.parametrize(("name", "taken"), [("gpuyard-lab", True), ("gpuyard-east", False)])
def test_the_platforms_own_namespace_is_no_teams(name, taken):
    raw = platform(teams=[team(name, guarantee={"train": 8})])
    if taken:
        assert only(raw).id == "team.reserved"
    else:
        assert findings(raw) == []
        assert plan_of(raw).teams[0].default_namespace.name == name
