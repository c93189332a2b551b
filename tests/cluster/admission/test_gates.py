"""Pods that wait stay at the gate of Kueue, whoever is said to hold them and whatever is done to a set."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpuyard.render.admission.cel import read_policy
from gpuyard_core.admission.queued import BY_GROUPS, GROUPS_NAME, PARENT, ROLE, TIME
from gpuyard_core.admission.requirement import ViolationTemplate, new_violation
from gpuyard_core.names import POD_GROUP_LABEL, QUEUE_GATE, QUEUE_LABEL
from gpuyard_simulate import cluster
from gpuyard_simulate.api import Api, connect
from kit.cluster import lab as reality
from kit.cluster.attacks import three_teams
from kit.cluster.lab import condition
from kit.cluster.tenants import acting, cleared, tenants
from kit.cluster.twins import written
from kit.generated.hostile import DURATION, GROUP_COUNT, MERGE

pytestmark = [pytest.mark.cluster, pytest.mark.always]

Value = dict[str, Any]
SETS = "/apis/apps/v1/namespaces/atk-a/statefulsets"
PODS = "/api/v1/namespaces/{}/pods"
JOBS = "batch/v1/namespaces/atk-a/jobs"
REPLICAS = "apps/v1/namespaces/atk-a/replicasets"
OUTSIDE = "gates-outside"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUPS = "leaderworkersets.leaderworkerset.x-k8s.io"
WATCHED = 15
"""Seconds that pods are watched: Kueue looks at them within two."""


def said_by(policy: str, name: str, **values: str) -> ViolationTemplate:
    """A message that only a policy has."""
    return ViolationTemplate(*(t.format(**values) for t in read_policy(policy)["messages"][name]))


def groups() -> Value:
    """The definition of LeaderWorkerSets, of which there is none; it takes everything."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}
    names = {"kind": "LeaderWorkerSet", "plural": "leaderworkersets"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": GROUPS},
        "spec": {
            "group": "leaderworkerset.x-k8s.io",
            "scope": "Namespaced",
            "names": {**names, "singular": "leaderworkerset", "listKind": "LeaderWorkerSetList"},
            "versions": [{**version, "schema": {"openAPIV3Schema": anything}}],
        },
    }


@pytest.fixture(scope="module")
def lab(started: cluster.Outcome) -> Iterator[reality.Lab]:
    """The platform, a Kueue that knows LeaderWorkerSets, and a namespace that is held to nothing."""
    name = started.status.name
    api = connect(Path(cluster.status(name).kubeconfig))
    api.apply(groups())
    reality.wait(lambda: api.get("/apis/leaderworkerset.x-k8s.io/v1"), "the kind")
    cluster.up(name)
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OUTSIDE}}
    try:
        with tenants(name, three_teams()) as found:
            reality.apply(found.api, space)
            account = f"/api/v1/namespaces/{OUTSIDE}/serviceaccounts/default"
            reality.wait(lambda: found.api.get(account), "the account that pods need")
            yield found
    finally:
        for path in (f"/api/v1/namespaces/{OUTSIDE}", f"{DEFINITIONS}/{GROUPS}"):
            reality.delete(api, path)
        reality.wait(lambda: api.get(f"{DEFINITIONS}/{GROUPS}") is None, "no such kind")
        cluster.up(name)


def container() -> Value:
    resources = {"limits": {"nvidia.com/gpu": 4}}
    return {"name": "a", "image": "example.invalid/a:1", "resources": resources}


def pods(api: Api, space: str) -> list[Value]:
    return list(api.call("GET", PODS.format(space))["items"])


def gated(pod: Value) -> bool:
    return QUEUE_GATE in [gate["name"] for gate in pod["spec"].get("schedulingGates", [])]


def test_kueue_takes_its_gate_out_of_pods_of_a_group_that_is_not_there(lab: reality.Lab):
    """So nobody of a team says that such a group holds a pod (tests/admission/test_running.py)."""
    metadata = {
        "name": "ghost",
        "labels": {GROUPS_NAME: "nobody"},
        "annotations": {PARENT: BY_GROUPS},
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    pod["spec"] = {"restartPolicy": "Never", "containers": [container()]}
    lab.api.call("POST", PODS.format(OUTSIDE), pod)
    reality.wait(lambda: not gated(pods(lab.api, OUTSIDE)[0]), "a pod without its gate")


ORIGIN = "kueue.x-k8s.io/multikueue-origin"
"""A label: for a StatefulSet with it Kueue creates no workload."""


def waiting(**more: str) -> Value:
    """Larger than what the team may run: its pods are made, and wait."""
    labels = {"app": "waits"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container()]}}
    body = {
        "serviceName": "x",
        "replicas": 2,
        "selector": {"matchLabels": labels},
        "updateStrategy": {"type": "OnDelete"},
        "template": template,
    }
    metadata = {"name": "waits", "labels": {"kueue.x-k8s.io/queue-name": "default", **more}}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": body}


@pytest.mark.parametrize("more", [{}, {ORIGIN: "x"}], ids=["with a workload", "without one"])
def test_a_set_that_waits_starts_no_pod_when_it_is_changed(lab: reality.Lab, more: dict[str, str]):
    """Kueue takes its gate out of pods of the version before, so that they may be put out one by one."""
    team = acting(lab.api, "makers")
    team.call("POST", SETS, waiting(**more))
    try:
        reality.wait(
            lambda: [p for p in pods(lab.api, "atk-a") if "pod-group-name" in str(p)], "a pod"
        )
        change = {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 5}}}}
        team.call("PATCH", f"{SETS}/waits", change, MERGE)
        until = time.monotonic() + WATCHED
        while time.monotonic() < until:
            assert all(map(gated, pods(lab.api, "atk-a")))
            time.sleep(0.5)
        found = team.call("GET", f"{SETS}/waits")["status"]
        assert found["currentRevision"] != found["updateRevision"]
    finally:
        team.call("DELETE", f"{SETS}/waits", {"propagationPolicy": "Background"})
        reality.wait(lambda: not pods(lab.api, "atk-a"), "no pod")


def of_group(name: str, gpus: int, **annotations: str) -> Value:
    """One of two pods of a group."""
    limits = {"limits": {"nvidia.com/gpu": gpus}}
    metadata = {
        "name": name,
        "labels": {POD_GROUP_LABEL: "pair"},
        "annotations": {GROUP_COUNT: "2", **annotations},
    }
    spec = {"restartPolicy": "Never", "containers": [{**container(), "resources": limits}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


FAST = {"kueue.x-k8s.io/pod-group-fast-admission": "true"}


@pytest.mark.parametrize("fast", [{}, FAST], ids=["both there", "counted by the first"])
def test_no_pod_starts_that_asks_for_more_than_it_was_counted_with(
    lab: reality.Lab, fast: dict[str, str]
):
    """Kueue takes pods of one role for alike, and a pod says its role itself: 4 GPUs ran on a count of 2."""
    team, path = acting(lab.api, "makers"), PODS.format("atk-a")
    forged = {ROLE: "aaaaaaaa", **fast}
    try:
        for name, gpus in (("first", 1), ("second", 3)):
            team.call("POST", path, of_group(name, gpus, **forged))
        found = reality.wait(lambda: placed(lab.api), "the one that was counted")
        until = time.monotonic() + WATCHED
        while time.monotonic() < until:
            assert len(found) == 1
            assert placed(lab.api) == found
            time.sleep(0.5)
    finally:
        emptied(lab.api)


def test_pods_of_one_group_may_ask_for_different_amounts(lab: reality.Lab):
    team, path = acting(lab.api, "makers"), PODS.format("atk-a")
    try:
        for name, gpus in (("leader", 1), ("worker", 4)):
            team.call("POST", path, of_group(name, gpus))
        reality.wait(lambda: placed(lab.api) == {"leader", "worker"}, "both")
    finally:
        emptied(lab.api)


def pair(lab: reality.Lab, *, succeeds: str = "") -> Api:
    """A group of two that runs, as a member; the pod of this name succeeds after a second."""
    team = acting(lab.api, "makers")
    for name in ("first", "second"):
        duration = {DURATION: "1s"} if name == succeeds else {}
        team.call("POST", PODS.format("atk-a"), of_group(name, 1, **duration))
    reality.wait(lambda: placed(lab.api) == {"first", "second"}, "both")
    return team


def answer_to(team: Api, *, total: str = "2", **more: Any) -> str:
    """What the policy says of a further pod of the group, for good; "" where it is taken."""
    pod = of_group("third", 1, **{GROUP_COUNT: total, **more.pop("annotations", {})})
    pod["metadata"]["labels"] |= more.pop("labels", {})
    pod["spec"] |= more
    return written(team, "POST", PODS.format("atk-a"), pod)


def test_a_further_pod_of_a_group_is_as_its_workload_counts_them(lab: reality.Lab):
    """Another total ended the workload of pods that ran, another time deleted it: 24 GPUs ran, 0 counted."""
    try:
        team = pair(lab)
        other = (
            "GPU-ADM-01: the workload of pod group pair counts 2 pods, but this pod sets "
            "kueue.x-k8s.io/pod-group-total-count: 1; set 2, or use another pod group name"
        )
        reality.wait(lambda: answer_to(team, total="1") == other, "a policy that has read it")
        role = said_by("scale_up", "other_role", group="pair")
        assert (
            answer_to(team, annotations={ROLE: "zzz"}) == f"GPU-ADM-01: {role.problem}; {role.fix}"
        )
        timed = new_violation("queued.TIMED", (), group="pair", time=TIME)
        assert answer_to(team, labels={TIME: "60"}) == f"GPU-ADM-01: {timed.problem}; {timed.fix}"
        assert answer_to(team) == ""  # one too many, which Kueue deletes
        reality.wait(lambda: len(pods(lab.api, "atk-a")) == 2, "two pods")
    finally:
        emptied(lab.api)


def test_a_group_whose_pods_run_is_not_finished_by_the_total_of_one_of_them(lab: reality.Lab):
    """Where a pod comes in before the API server knows the workload, Kueue is refused its conclusion."""
    path = f"{reality.KUEUE}/namespaces/atk-a/workloads/pair"
    condition = {
        "type": "Finished",
        "status": "True",
        "reason": "Succeeded",
        "message": "Pods succeeded: 1/1.",
        "lastTransitionTime": "2026-11-25T00:00:00Z",
    }
    try:
        pair(lab, succeeds="first")
        existing = lab.api.call("GET", path)["status"]["conditions"]
        body = {"status": {"conditions": [*existing, condition]}}
        said = said_by("kueue_admission", "unfinished", group="pair", counted="2")
        answer = written(lab.api, "PATCH", f"{path}/status", body, MERGE)
        assert answer == f"GPU-ADM-01: {said.problem}; {said.fix}"
    finally:
        emptied(lab.api)


def test_a_group_of_which_all_pods_succeeded_is_finished(lab: reality.Lab):
    team, path = acting(lab.api, "makers"), f"{reality.KUEUE}/namespaces/atk-a/workloads/pair"
    try:
        for name in ("first", "second"):
            team.call("POST", PODS.format("atk-a"), of_group(name, 1, **{DURATION: "1s"}))
        reality.wait(
            lambda: condition(lab.api.get(path) or {}, "Finished").get("status") == "True",
            "its end",
        )
    finally:
        emptied(lab.api)


def test_a_member_removes_a_group_by_deleting_its_workload(lab: reality.Lab):
    """Deleted pods of a group keep Kueue's finalizer while it waits for others in their place."""
    try:
        team = pair(lab)
        for name in ("first", "second"):
            team.call("DELETE", f"{PODS.format('atk-a')}/{name}?gracePeriodSeconds=1")
        team.call("DELETE", f"{reality.KUEUE}/namespaces/atk-a/workloads/pair")
        reality.wait(lambda: not pods(lab.api, "atk-a"), "no pod")
        reality.wait(lambda: not workloads(team), "no workload")
    finally:
        emptied(lab.api)


def test_a_job_whose_workload_a_member_deletes_is_counted_again(lab: reality.Lab):
    team = acting(lab.api, "makers")
    spec = {"restartPolicy": "Never", "containers": [container()]}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "again"}}
    try:
        team.call("POST", f"/apis/{JOBS}", {**job, "spec": {"template": {"spec": spec}}})
        reality.wait(lambda: placed(lab.api), "a pod that runs")
        (first,) = workloads(team)
        one = f"{reality.KUEUE}/namespaces/atk-a/workloads/{first['metadata']['name']}"
        team.call("DELETE", one)
        uid = first["metadata"]["uid"]
        reality.wait(
            lambda: [w for w in workloads(team) if w["metadata"]["uid"] != uid], "another workload"
        )
        reality.wait(lambda: placed(lab.api), "a pod that runs again")
    finally:
        reality.delete(lab.api, f"/apis/{JOBS}/again", "Foreground")
        reality.wait(lambda: not pods(lab.api, "atk-a"), "no pod")


def workloads(api: Api) -> list[Value]:
    return list(api.call("GET", f"{reality.KUEUE}/namespaces/atk-a/workloads")["items"])


def emptied(api: Api) -> None:
    """Pods of a group stay for those that would come in their place."""

    def is_empty() -> bool:
        cleared(api, "atk-a")
        return not pods(api, "atk-a")

    reality.wait(is_empty, "no pod")


def placed(api: Api) -> set[str]:
    return {p["metadata"]["name"] for p in pods(api, "atk-a") if p["spec"].get("nodeName")}


def test_pods_that_kueue_passes_over_do_not_come_in(lab: reality.Lab):
    """Kueue holds no pod of what a queued Job has made, and counts one pod of that Job: so do AppWrappers."""
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "whole", "labels": {QUEUE_LABEL: "default"}},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container()]}}},
    }
    jobs, sets = (f"/apis/{kind}" for kind in (JOBS, REPLICAS))
    whole = acting(lab.api, "makers").call("POST", jobs, job)
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "whole", "controller": True}
    part = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": "part",
            "ownerReferences": [{**owner, "uid": whole["metadata"]["uid"]}],
        },
        "spec": {
            "selector": {"matchLabels": {"app": "part"}},
            "template": {
                "metadata": {"labels": {"app": "part", QUEUE_LABEL: "default"}},
                "spec": {"containers": [container()]},
            },
        },
    }
    try:
        lab.api.call("POST", sets, part)
        said = reality.wait(lambda: _failure(lab.api, f"{sets}/part"), "a refusal")
        assert said_by("kueue_admission", "unheld").problem in said
        assert "part-" not in str([each["metadata"]["name"] for each in pods(lab.api, "atk-a")])
    finally:
        for path in (f"{sets}/part", f"{jobs}/whole"):
            reality.delete(lab.api, path)
        reality.wait(lambda: not pods(lab.api, "atk-a"), "no pod")


def _failure(api: Api, path: str) -> str:
    return str(condition(api.get(path) or {}, "ReplicaFailure").get("message", ""))
