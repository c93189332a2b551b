"""Manifests of `gpuyard job new` on real controllers: each kind is accepted, queued as one gang and starts whole."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from gpuyard.render.workloads.runtimes import runtime_objects
from gpuyard_advisor.job_manifests import ManifestKind, manifest_text
from gpuyard_core.names import CLASS_LABEL
from gpuyard_simulate import cluster
from gpuyard_simulate.api import connect
from gpuyard_simulate.definitions import read_manifests
from kit.cases.manifests import request, with_every_kind
from kit.cluster import lab as reality
from kit.cluster.lab import Value, condition
from kit.cluster.queues import soon
from kit.cluster.workloads import TRAINING, WorkloadLab, volume, workload_lab
from kit.stacks import Raw, platform, pool, shape, shared_pool, team
from testbed import controllers

pytestmark = [pytest.mark.cluster]

NAME = "fresh"
TEAM = f"{NAME}-t"
GANG, SHARE = f"{NAME}-gang", f"{NAME}-share"
KINDS = {
    ManifestKind.JOB: GANG,
    ManifestKind.JOBSET: GANG,
    ManifestKind.TRAINJOB: GANG,
    ManifestKind.RAYJOB: GANG,
    ManifestKind.LEADERWORKERSET: GANG,
    ManifestKind.NOTEBOOK: SHARE,
    ManifestKind.SERVICE: SHARE,
}
"""Those with a controller here, and the shape of each."""
OPERATORS = {"training-operator": ManifestKind.PYTORCHJOB, "mpi-operator": ManifestKind.MPIJOB}
"""Operators that do not run here: their kinds are the real ones, and Kueue is."""


def stack() -> Raw:
    pools = [pool(f"{NAME}-p", nodes=2), shared_pool(f"{NAME}-s")]
    guarantee = {f"{NAME}-p": 16, f"{NAME}-s/shared": 4}
    shapes = [
        shape(GANG, nodes=2, gpus_per_node=8),
        shape(SHARE, per_pod={"shares": 1}),
    ]
    raw = platform(
        pools,
        [team(TEAM, guarantee=guarantee, priority="high")],
        name=NAME,
        cloud="simulated",
        shapes=shapes,
        priorities={"high": 100},
    )
    return with_every_kind(raw)


@pytest.fixture(scope="module")
def lab(
    started: cluster.Outcome, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkloadLab]:
    folder = tmp_path_factory.mktemp("controllers")
    controllers.install_kinds(
        connect(Path(started.status.kubeconfig)),
        [kind for name in OPERATORS for kind in read_manifests(controllers.SHARE / name / "crds")],
    )
    with workload_lab(started, stack(), folder, *TRAINING) as found:
        for each in runtime_objects(found.plan):
            reality.apply(found.api, each)
        yield found


@pytest.mark.parametrize("kind", KINDS)
def test_the_manifest_of_each_kind_starts_whole(lab: WorkloadLab, kind: ManifestKind):
    one = request(lab.plan, kind, TEAM, KINDS[kind], name=f"new-{kind}")
    text = manifest_text(lab.plan, one)
    with home_volume(lab, kind), submitted(lab, text):
        soon(lambda: running(lab, one.shape.nodes), f"{kind} to run")
        (workload,) = workloads(lab)
        assert condition(workload, "Admitted")["status"] == "True"
        assert workload["spec"]["priorityClassRef"]["name"] == "high"
        assert sum(each["count"] for each in workload["spec"]["podSets"]) == one.shape.nodes


@pytest.mark.parametrize("kind", OPERATORS.values())
def test_the_manifest_of_a_kind_without_operator_is_admitted_whole(
    lab: WorkloadLab, kind: ManifestKind
):
    one = request(lab.plan, kind, TEAM, GANG, name=f"new-{kind}")
    with submitted(lab, manifest_text(lab.plan, one)) as (value,):
        soon(lambda: admitted(lab), f"{kind} to be admitted")
        (workload,) = workloads(lab)
        assert sorted(each["count"] for each in workload["spec"]["podSets"]) == [1, 1]
        now = lab.api.call("GET", reality.path_of(value))
        assert now["spec"]["runPolicy"]["suspend"] is False


def admitted(lab: WorkloadLab) -> bool:
    return [condition(each, "Admitted").get("status") for each in workloads(lab)] == ["True"]


@contextmanager
def submitted(lab: WorkloadLab, text: str) -> Iterator[list[Value]]:
    """Create the objects of a manifest; at the end delete them, and wait until their pods are gone."""
    objects = [*yaml.safe_load_all(text)]
    try:
        for value in objects:
            reality.create(lab.api, reality.path_of(value).rpartition("/")[0], value)
        yield objects
    finally:
        for value in reversed(objects):
            reality.delete(lab.api, reality.path_of(value), "Foreground")
        soon(lambda: not (pods_of(lab) or workloads(lab)), "its pods and its workload to be gone")


@contextmanager
def home_volume(lab: WorkloadLab, kind: ManifestKind) -> Iterator[None]:
    """A volume for the home of a notebook: nothing provisions one here. The claim stays until the end."""
    if kind is not ManifestKind.NOTEBOOK:
        yield
        return
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": f"home-new-{kind}-0", "namespace": lab.namespace("t")},
    }
    with volume(lab.api, f"{NAME}-home", 20):
        yield
        assert lab.api.get(reality.path_of(claim)), "deleted with its notebook"
        reality.delete(lab.api, reality.path_of(claim))


def pods_of(lab: WorkloadLab) -> list[Value]:
    """The pods of the only workload."""
    label = CLASS_LABEL.replace("/", "%2F")
    return lab.listed(f"/api/v1/namespaces/{lab.namespace('t')}/pods?labelSelector={label}")


def running(lab: WorkloadLab, count: int) -> list[Value]:
    found = pods_of(lab)
    run = [pod for pod in found if pod["status"].get("phase") == "Running"]
    return run if len(run) == len(found) == count else []


def workloads(lab: WorkloadLab) -> list[Value]:
    return lab.listed(f"{reality.KUEUE}/namespaces/{lab.namespace('t')}/workloads")
