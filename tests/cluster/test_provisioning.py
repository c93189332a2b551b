"""Asking first on a real Kueue: what the autoscaler grants starts, what it denies gives its quota back."""

from collections.abc import Iterator
from typing import Any

import pytest

from gpuyard_core.names import GPU
from gpuyard_simulate import cluster
from gpuyard_simulate.api import Api
from kit.cluster.lab import condition
from kit.cluster.queues import QueueLab, kueue_as_rendered, soon
from kit.stacks import Raw, platform, pool, team

pytestmark = [pytest.mark.cluster]

REQUESTS = "/apis/autoscaling.x-k8s.io/v1/namespaces/{}/provisioningrequests"
CONSUMES = "autoscaling.x-k8s.io/consume-provisioning-request"


def asked(name: str, word: str = "check-capacity", **changes: Any) -> Raw:
    """Two nodes of eight GPUs that a fake autoscaler is asked about."""
    return platform(
        [pool(name, nodes=2, provisioning=word, **changes)],
        [team(f"{name}-t", guarantee={name: 16})],
        name=name,
        cloud="simulated",
    )


@pytest.fixture(scope="module")
def kueue(started: cluster.Outcome) -> Iterator[Api]:
    """The cluster with Kueue set up as these platforms set it up."""
    with kueue_as_rendered(started.status.name, asked("any")) as api:
        yield api


def check(lab: QueueLab, name: str) -> dict[str, Any]:
    """The state of a job's admission check, as Kueue keeps it."""
    found = ((lab.workload("t", name) or {}).get("status") or {}).get("admissionChecks") or [{}]
    return dict(found[0])


def given_up(lab: QueueLab, name: str) -> dict[str, Any] | None:
    """The workload of a job once Kueue has evicted it for good; None before."""
    found = lab.workload("t", name)
    if found is None or found["spec"].get("active") is not False:
        return None
    return found if condition(found, "Evicted").get("status") == "True" else None


def outsider(lab: QueueLab, name: str) -> str:
    """A pod that no queue knows of takes half a node of the pool; its path."""
    limits = {GPU: "4"}
    path = "/api/v1/namespaces/default/pods"
    spec = {
        "containers": [{"name": "c", "image": "x", "resources": {"limits": limits}}],
        "tolerations": [{"operator": "Exists"}],
        "nodeName": lab.node(0),
    }
    metadata = {"name": name, "namespace": "default"}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    lab.api.call("POST", path, body)
    return f"{path}/{name}"


def test_a_job_starts_when_the_autoscaler_has_found_room(kueue: Api):
    with QueueLab(kueue, asked("yes")) as lab:
        lab.submit("t", "gang", pods=2)
        soon(lambda: lab.running("t", "gang") == 2, "two running pods")
        assert (check(lab, "gang")["name"], check(lab, "gang")["state"]) == (
            "yes-check-capacity",
            "Ready",
        )
        (request,) = lab.listed(REQUESTS.format(lab.namespace("t")))
        assert request["spec"]["parameters"] == {"noRetry": "true"}
        assert [s["count"] for s in request["spec"]["podSets"]] == [2]
        notes = [p["metadata"]["annotations"].get(CONSUMES) for p in lab.pods("t", "gang")]
        assert set(notes) == {request["metadata"]["name"]}


@pytest.mark.parametrize("word", ["check-capacity", "atomic"])
def test_a_job_that_is_denied_to_the_end_is_given_up_and_holds_nothing(kueue: Api, word: str):
    name = f"no-{word[:5]}"
    with QueueLab(kueue, asked(name, word)) as lab:
        pod = outsider(lab, name)
        lab.submit("t", "gang", pods=2)
        seen = soon(lambda: given_up(lab, "gang"), "the gang to be given up")
        assert "1 of 2 pods do not fit" in f"{condition(seen, 'Evicted')} {check(lab, 'gang')}"
        # only now: between two tries Kueue may give its quota to a job that waits, and it is not asked again
        lab.submit("t", "small", gpus=4)
        soon(lambda: lab.running("t", "small") == 1, "the small job to run")
        assert lab.used() == {"t": 4}
        assert lab.pods("t", "gang") == []
        lab.api.call("DELETE", pod)


def test_a_job_that_is_denied_once_starts_when_room_has_come(kueue: Api):
    with QueueLab(kueue, asked("later")) as lab:
        pod = outsider(lab, "later")
        lab.submit("t", "gang", pods=2)
        soon(lambda: "1 of 2 pods do not fit" in str(check(lab, "gang").get("message")), "a denial")
        lab.api.call("DELETE", pod, {"gracePeriodSeconds": 0})
        soon(lambda: lab.running("t", "gang") == 2, "two running pods")


def test_with_a_topology_nodes_are_chosen_after_the_answer(kueue: Api):
    with QueueLab(kueue, asked("near", zones=["a", "b"], topology=True)) as lab:
        note = {"kueue.x-k8s.io/podset-required-topology": "topology.kubernetes.io/zone"}
        lab.submit("t", "one", gpus=8, annotations=note)
        soon(lambda: lab.running("t", "one") == 1, "a running pod")
        found = lab.workload("t", "one")
        assert found is not None
        (assigned,) = found["status"]["admission"]["podSetAssignments"]
        assert assigned["delayedTopologyRequest"] == "Ready"
        assert assigned["topologyAssignment"]["levels"] == ["kubernetes.io/hostname"]
