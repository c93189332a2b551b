"""Objects for Volcano on a real API server with Volcano's own definitions; none of its controllers runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpuyard.render.admission.objects import admission_objects
from gpuyard.render.admission.team_parameters import parameters_of
from gpuyard.render.volcano.queues import volcano_queue_objects
from gpuyard_core.names import PLATFORM_LABEL, TEAM_LABEL, VOLCANO_QUEUE
from gpuyard_simulate import cluster
from gpuyard_simulate.api import Api, ApiError, connect
from gpuyard_simulate.definitions import read_manifests
from kit.cluster import lab as reality
from kit.cluster.lab import path_of
from kit.cluster.twins import patience, takes_pods
from kit.levels import upstream
from kit.stacks import plan_of, platform, pool, team

pytestmark = [pytest.mark.cluster]

Value = dict[str, Any]
SPACE = "volcanic"
PLAN = plan_of(
    platform(
        [pool(nodes=4)],
        [
            team(SPACE, guarantee={"train": 16}, borrow={"train": 8}),
            team("speech", guarantee={"train": 8}, lend={"train": 4}, cohort="lang"),
        ],
        queueing={"engine": "volcano", "cohorts": [{"name": "lang"}]},
        kubernetes="1.36",
        admission={"guaranteed": False},
    )
)
QUEUE = f"{PLAN.name}-{SPACE}"
GPUS = {"name": "a", "image": "nvcr.io/a:1", "resources": {"limits": {"nvidia.com/gpu": 1}}}
TOLERATION = {
    "key": "nvidia.com/gpu",
    "operator": "Equal",
    "value": "present",
    "effect": "NoSchedule",
}


@pytest.fixture(scope="module")
def volcano(started: cluster.Outcome) -> Iterator[Api]:
    """A namespace of a team with the platform's policies, and Volcano's definitions."""
    api = connect(Path(started.status.kubeconfig))
    definitions = read_manifests(upstream("crds", "volcano"))
    for value in definitions:
        api.apply(value)
    parameters = parameters_of(PLAN, PLAN.team(SPACE))
    labels = {PLATFORM_LABEL: PLAN.name, TEAM_LABEL: SPACE}
    metadata = {"name": SPACE, "labels": labels, "annotations": parameters.annotations()}
    api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    takes_pods(api, SPACE)
    policies = admission_objects(PLAN)
    for value in policies:
        query = "?fieldManager=test&force=true"
        api.call("PATCH", path_of(value) + query, value, "application/apply-patch+yaml")
    patience(lambda: asked(api, pod())["spec"]["schedulerName"] == "volcano")
    patience(lambda: refusal(api, pod(schedulerName="other")))
    for kind in ("PodGroup", "Job"):
        patience(lambda kind=kind: refusal(api, of_volcano(kind, "other")))
    yield api
    for value in reversed(policies):
        reality.delete(api, path_of(value))
    for value in definitions:
        name = value["metadata"]["name"]
        reality.delete(api, f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")


def pod(annotations: Value | None = None, container: Value = GPUS, **spec: Any) -> Value:
    metadata = {"name": "x", "annotations": annotations or {}}
    kind = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    return {**kind, "spec": {"containers": [container], **spec}}


def of_volcano(kind: str, queue: str) -> Value:
    template = {"spec": {"containers": [GPUS], "restartPolicy": "Never"}}
    spec: dict[str, Value] = {
        "PodGroup": {"minMember": 2},
        "Job": {"minAvailable": 2, "tasks": [{"name": "w", "replicas": 2, "template": template}]},
    }
    group = {"PodGroup": "scheduling.volcano.sh/v1beta1", "Job": "batch.volcano.sh/v1alpha1"}[kind]
    value = {"apiVersion": group, "kind": kind, "metadata": {"name": "x"}}
    return {**value, "spec": {**spec[kind], "queue": queue}}


def asked(api: Api, value: Value, query: str = "") -> Value:
    version = value["apiVersion"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    space = "" if value["kind"] == "Queue" else f"/namespaces/{SPACE}"
    path = f"{root}{space}/{value['kind'].lower()}s?dryRun=All{query}"
    return api.call("POST", path, value)


def refusal(api: Api, value: Value) -> str:
    """The violation of the platform's policies, or ""."""
    try:
        asked(api, value)
    except ApiError as problem:
        text = str(problem)
        if "denied request: " not in text:
            return ""
        return text.partition("denied request: ")[2]
    return ""


def test_volcano_s_own_definition_accepts_every_field_of_the_queues(volcano: Api):
    queues = volcano_queue_objects(PLAN)
    assert [queue["metadata"]["name"] for queue in queues] == [
        "lab",
        "lab.lang",
        QUEUE,
        "lab-speech",
    ]
    for queue in queues:
        stored = asked(volcano, queue, "&fieldValidation=Strict")
        assert {key: stored["spec"][key] for key in queue["spec"]} == queue["spec"]


def test_a_pod_with_gpus_gets_the_scheduler_the_queue_and_the_tolerations(volcano: Api):
    for annotations, tolerations in (({}, []), ({"a": "b"}, [{"key": "x", "operator": "Exists"}])):
        stored = asked(volcano, pod(annotations, tolerations=tolerations))
        assert stored["spec"]["schedulerName"] == "volcano"
        assert stored["metadata"]["annotations"] == {**annotations, VOLCANO_QUEUE: QUEUE}
        added = stored["spec"]["tolerations"]
        assert [t for t in added if t["key"] in {"x", "nvidia.com/gpu"}] == [
            *tolerations,
            TOLERATION,
        ]


def test_a_pod_without_gpus_is_not_changed(volcano: Api):
    stored = asked(volcano, pod(container={"name": "a", "image": "nvcr.io/a:1"}))
    assert stored["spec"]["schedulerName"] == "default-scheduler"
    assert VOLCANO_QUEUE not in stored["metadata"].get("annotations", {})


def test_another_scheduler_or_queue_is_rejected(volcano: Api):
    other = refusal(volcano, pod({VOLCANO_QUEUE: "lab-speech"}))
    assert other == (
        "GPU-ADM-01: this Pod names queue 'lab-speech'; name the queue of the team: lab-volcanic"
    )
    assert refusal(volcano, pod(schedulerName="other")) == (
        "GPU-ADM-01: this pod requests GPUs but Volcano does not schedule it; "
        "write schedulerName: volcano"
    )
    for kind in ("PodGroup", "Job"):
        assert f"this {kind} names queue 'lab-speech'" in refusal(
            volcano, of_volcano(kind, "lab-speech")
        )
        assert refusal(volcano, of_volcano(kind, QUEUE)) == ""


def test_the_other_requirements_hold_and_no_queue_of_kueue_is_required(volcano: Api):
    assert "GPU-ADM-02" in refusal(volcano, pod(hostNetwork=True))
    job = {"template": {"spec": {"containers": [GPUS], "restartPolicy": "Never"}}}
    kind = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}}
    assert refusal(volcano, {**kind, "spec": job}) == ""
